// Wherry: how far a download is, how fast, and how long it will take
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// Turns amounts into progress, and lets at most ten reports a second through.
package struct ProgressMeter: Sendable {
    private static let window: Int64 = 5_000_000_000
    private static let interval: Int64 = 100_000_000

    private var progress = Progress()
    /// When so many bytes in all had come; ascending, not older than the window but for the first.
    private var samples: [(at: Instant, received: Int64)] = []
    private var reportedAt: Instant?
    /// What the last report told, and whether it does not tell all that was taken in since.
    private var told: (completed: Int64, total: Int64?, wire: Int64) = (0, nil, 0)
    private var owes = false

    package init() {}

    /// Nothing comes for a while by intent: the time does not count for the speed.
    package mutating func pause() {
        samples.removeAll()
    }

    /// Takes the present amounts.
    ///
    /// - Parameters:
    ///   - completed: bytes of the file there; `generation` went up if it fell.
    ///   - received: how many bytes came since the last call.
    ///   - isForced: also if the last report is less than 0.1 s ago: for the first, the last, and
    ///     a new generation.
    /// - Returns: the progress to report, or `nil` if it is too early or nothing is new; what came
    ///   too early is owed (``owedAt``).
    package mutating func update(
        completed: Int64, total: Int64?, generation: UInt32, received: Int64, now: Instant,
        isForced: Bool = false
    ) -> Progress? {
        let isFirst = reportedAt == nil
        let isNewGeneration = Int(generation) != progress.generation
        if isFirst { progress.resumedAt = max(0, completed &- received) }
        if isNewGeneration, !isFirst { progress.resumedAt = 0 }
        progress.completed = completed
        progress.total = total
        progress.generation = Int(generation)
        progress.wire = progress.wire.addingSaturating(max(0, received))
        // What is owed may be told in a pause, whose time must not count.
        if received > 0 || isFirst || (isForced && samples.isEmpty) {
            note(now)
        }
        // After the last byte of the file, bytes of the framing may still arrive: not progress.
        owes = told != (completed, total, completed == total ? told.wire : progress.wire)
        let isDue = owedAt.map { $0 <= now } ?? false
        guard isForced || isFirst || isNewGeneration || isDue else { return nil }
        reportedAt = now
        told = (completed, total, progress.wire)
        owes = false
        return snapshot(now: now)
    }

    /// Whether anything was reported yet.
    package var hasReported: Bool { reportedAt != nil }

    /// When the amounts taken since the last report may be told; `nil` if it told all.
    package var owedAt: Instant? { owes ? reportedAt?.advanced(by: Self.interval) : nil }

    /// Whether the last report had these amounts.
    package func hasTold(_ completed: Int64, of total: Int64?, generation: UInt32) -> Bool {
        hasReported && told.completed == completed && told.total == total
            && progress.generation == Int(generation)
    }

    /// The present figures.
    package func snapshot(now: Instant) -> Progress {
        var result = progress
        result.bytesPerSecond = speed(now: now)
        if let total = result.total, let speed = result.bytesPerSecond, speed > 0 {
            let seconds = Double(max(0, total - result.completed)) / Double(speed)
            result.remaining = .nanoseconds(Int64(min(seconds * 1e9, 9e18)))
        }
        return result
    }

    private mutating func note(_ now: Instant) {
        // A sample for each tenth of a second is fine enough, and bounds their number.
        if samples.count > 1, let last = samples.last,
            now.since(samples[samples.count - 2].at) < Self.interval
        {
            samples[samples.count - 1] = (max(last.at, now), progress.wire)
        } else {
            samples.append((now, progress.wire))
        }
        while samples.count > 2, now.since(samples[1].at) >= Self.window { samples.removeFirst() }
    }

    private func speed(now: Instant) -> Int64? {
        guard let first = samples.first(where: { now.since($0.at) <= Self.window }) ?? samples.last
        else { return nil }
        let span = now.since(first.at)
        guard span > 0 else { return nil }
        let bytes = progress.wire - first.received
        return Int64(min(Double(bytes) / (Double(span) / 1e9), 9e18))
    }
}
