// Wherry: schedule of a download's checkpoints.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// Decides when the next checkpoint is due (DR20).
///
/// A checkpoint is due one second after the first byte that is not in the journal, or after a
/// number of bytes. New responses and ranges never restart that second.
package struct CheckpointPace: Sendable {
    /// The time after which unrecorded bytes are due, in nanoseconds. A byte count alone does not
    /// make them due, because the disk may be too slow for it.
    package static let delay: Int64 = 1_000_000_000

    /// When the first byte arrived that is not in the journal.
    private var unrecordedSince: Instant?
    private var unrecorded: Int64 = 0
    /// The number of checkpoints that were requested but are not durable yet.
    private(set) var pending = 0
    private var begunAt: Instant?
    /// How long the last checkpoint took, in nanoseconds.
    private var cost: Int64 = 0

    /// The latest time for the next checkpoint; `nil` if there is nothing to record.
    var dueAt: Instant? { unrecordedSince?.advanced(by: Self.delay) }

    /// Records the arrival of bytes that a later run can use.
    mutating func note(_ count: Int64, at now: Instant) {
        unrecordedSince = unrecordedSince ?? now
        unrecorded &+= count
    }

    /// Discards the unrecorded bytes because a new generation begins.
    mutating func forget() {
        unrecordedSince = nil
        unrecorded = 0
    }

    /// Records that a checkpoint was requested. The checkpoint covers every byte so far.
    mutating func begin(at now: Instant?) {
        pending += 1
        begunAt = now
        forget()
    }

    /// Records that a checkpoint is durable.
    mutating func end(after duration: Int64) {
        pending = max(0, pending - 1)
        cost = duration
    }

    /// Returns whether a checkpoint is due.
    ///
    /// - Parameter limit: The number of unrecorded bytes that makes a checkpoint due early. On a
    ///   slow disk the checkpoint waits longer, so that checkpoints use at most a fifth of the
    ///   time.
    func isDue(at now: Instant, after limit: Int64) -> Bool {
        guard pending == 0, let dueAt else { return false }
        if now >= dueAt { return true }
        let rest = begunAt.map { now.since($0) } ?? .max
        return unrecorded >= limit && rest / 5 >= cost
    }
}
