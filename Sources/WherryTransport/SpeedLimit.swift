// Wherry: how much may come in a second, of several exchanges together.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// Counts bytes against the time that they may take. No clock of its own.
package struct SpeedBudget: Hashable, Sendable {
    /// Bytes per second; 0 is no limit.
    private(set) var rate: Int64
    /// When all that was taken so far has had its time.
    private var paidAt: Instant?

    /// What was not used for so long is lost: else a pause would be followed by a burst.
    private static let burst: Int64 = 100_000_000
    /// Nobody is held for less.
    private static let slack: Int64 = 10_000_000

    package init(rate: Int64) { self.rate = max(0, rate) }

    /// Bytes came.
    package mutating func take(_ count: Int, now: Instant) {
        guard rate > 0 else { return }
        let begun = paidAt.map { max($0, now.advanced(by: -Self.burst)) } ?? now
        let span = Double(count) * 1_000_000_000 / Double(rate)
        paidAt = begun.advanced(by: Int64(min(span, 1e15)))
    }

    /// Until when nothing more may come; `nil` if it may now.
    package func heldUntil(_ now: Instant) -> Instant? {
        guard rate > 0, let paidAt, paidAt > now.advanced(by: Self.slack) else { return nil }
        return paidAt
    }

    /// Another limit counts from now on, and what was taken under the old one is forgotten.
    package mutating func set(rate: Int64) {
        self.rate = max(0, rate)
        paidAt = nil
    }
}

/// A limit that several exchanges share, and that may be changed while they run.
package final class SpeedLimit: Sendable {
    private let budget: Lock<SpeedBudget>

    /// - Parameter rate: bytes per second; 0 is no limit.
    package init(rate: Int64) { budget = Lock(SpeedBudget(rate: rate)) }

    package var rate: Int64 { budget.withLock { $0.rate } }
    /// Those that are held go on as soon as their transport looks again: schedule something.
    package func set(rate: Int64) { budget.withLock { $0.set(rate: rate) } }
    func take(_ count: Int, now: Instant) { budget.withLock { $0.take(count, now: now) } }
    func heldUntil(_ now: Instant) -> Instant? { budget.withLock { $0.heldUntil(now) } }
}

extension Exchange {
    /// Until when its limits hold it; `nil` if they do not.
    func heldUntil(_ now: Instant) -> Instant? {
        request.speedLimits.compactMap { $0.heldUntil(now) }.max()
    }
}
