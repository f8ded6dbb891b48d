// Wherry: progress, speed and remaining time of a download.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherrySystem

/// Computes progress from byte counts, and limits it to ten reports per second.
package struct ProgressMeter: Sendable {
    private static let window: Int64 = 5_000_000_000
    private static let interval: Int64 = 100_000_000

    private var progress = Progress()
    /// The total of received bytes over time; in ascending order, and all but the first within the
    /// window.
    private var samples: [(at: Instant, received: Int64)] = []
    private var reportedAt: Instant?
    /// The values of the last report, and whether newer values are still unreported.
    private var told: (completed: Int64, total: Int64?, wire: Int64) = (0, nil, 0)
    private var owes = false

    package init() {}

    /// Starts a pause, whose time does not count for the speed.
    package mutating func pause() {
        samples.removeAll()
    }

    /// Updates the byte counts.
    ///
    /// - Parameters:
    ///   - completed: The received bytes of the file. They decrease only with a higher
    ///     `generation`.
    ///   - present: The bytes of the file that this run did not receive. Only the first call uses
    ///     them, as ``/WherryHTTP/Progress/resumedAt``.
    ///   - received: The number of bytes that arrived since the last call, including the bodies of
    ///     redirects and errors.
    ///   - isForced: Whether to report even within 0.1 s of the last report. Used for the first and
    ///     the last report, and for a new generation.
    /// - Returns: The progress to report; `nil` if it is too early or nothing has changed. If it is
    ///   too early, ``owedAt`` says when the report is due.
    package mutating func update(
        completed: Int64, present: Int64, total: Int64?, generation: UInt32, received: Int64,
        now: Instant, isForced: Bool = false
    ) -> Progress? {
        let isFirst = reportedAt == nil
        let isNewGeneration = Int(generation) != progress.generation
        if isFirst { progress.resumedAt = present }
        if isNewGeneration, !isFirst { progress.resumedAt = 0 }
        progress.completed = completed
        progress.total = total
        progress.generation = Int(generation)
        progress.wire = progress.wire.addingSaturating(max(0, received))
        // A delayed report may come during a pause, whose time must not count.
        if received > 0 || isFirst || (isForced && samples.isEmpty) {
            note(now)
        }
        // After the last byte of the file, framing bytes may still arrive. They are not progress.
        owes = told != (completed, total, completed == total ? told.wire : progress.wire)
        let isDue = owedAt.map { $0 <= now } ?? false
        guard isForced || isFirst || isNewGeneration || isDue else { return nil }
        reportedAt = now
        told = (completed, total, progress.wire)
        owes = false
        return snapshot(now: now)
    }

    /// Whether any report was made.
    package var hasReported: Bool { reportedAt != nil }

    /// When the next report is due; `nil` if the last one has all values.
    package var owedAt: Instant? { owes ? reportedAt?.advanced(by: Self.interval) : nil }

    /// Returns whether the last report had these values.
    package func hasTold(_ completed: Int64, of total: Int64?, generation: UInt32) -> Bool {
        hasReported && told.completed == completed && told.total == total
            && progress.generation == Int(generation)
    }

    /// Returns the current progress.
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
        // One sample per tenth of a second is enough, and bounds the number of samples.
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
