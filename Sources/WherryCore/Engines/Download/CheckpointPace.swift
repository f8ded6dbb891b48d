// Wherry: when a download's journal is written
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// Decides when the next checkpoint is due (DR20).
///
/// A checkpoint follows within a second of the first byte that the journal does not have, or after
/// a number of bytes. Responses and ranges never restart that second.
struct CheckpointPace: Sendable {
    /// The time after which unrecorded bytes are due, in nanoseconds. No number of bytes is: a disk may
    /// be too slow for it.
    static let delay: Int64 = 1_000_000_000

    /// When the first byte arrived that the journal does not have.
    private var unrecordedSince: Instant?
    private var unrecorded: Int64 = 0
    /// The number of checkpoints that were requested and are not durable yet.
    private(set) var pending = 0
    private var begunAt: Instant?
    /// How long the last checkpoint took.
    private var cost: Int64 = 0

    /// When a checkpoint is due at the latest; `nil` if there is nothing to record.
    var dueAt: Instant? { unrecordedSince?.advanced(by: Self.delay) }

    /// Bytes arrived that a later run can use.
    mutating func note(_ count: Int64, at now: Instant) {
        unrecordedSince = unrecordedSince ?? now
        unrecorded &+= count
    }

    /// The bytes so far are not wanted any more: a new generation begins.
    mutating func forget() {
        unrecordedSince = nil
        unrecorded = 0
    }

    /// A checkpoint was requested: it covers every byte so far.
    mutating func begin(at now: Instant?) {
        pending += 1
        begunAt = now
        forget()
    }

    /// A checkpoint is durable.
    mutating func end(after duration: Int64) {
        pending = max(0, pending - 1)
        cost = duration
    }

    /// Whether a checkpoint is due.
    ///
    /// - Parameter limit: the number of bytes after which one is due before its time. On a slow disk
    ///   it takes more bytes, so that checkpoints use at most a fifth of the time.
    func isDue(at now: Instant, after limit: Int64) -> Bool {
        guard pending == 0, let dueAt else { return false }
        if now >= dueAt { return true }
        let rest = begunAt.map { now.since($0) } ?? .max
        return unrecorded >= limit && rest / 5 >= cost
    }
}
