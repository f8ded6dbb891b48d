// Wherry: bandwidth limits shared by exchanges.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// Compares bytes with the time that they may take. Needs no clock.
package struct SpeedBudget: Hashable, Sendable {
    /// Bytes per second; 0 for no limit.
    private(set) var rate: Int64
    /// The time when all bytes so far have used up their time.
    private var paidAt: Instant?

    /// The maximum unused time, in nanoseconds, so that no burst follows a pause.
    private static let burst: Int64 = 100_000_000
    /// Shorter delays are skipped, in nanoseconds.
    private static let slack: Int64 = 10_000_000

    package init(rate: Int64) { self.rate = max(0, rate) }

    /// Counts received bytes.
    package mutating func take(_ count: Int, now: Instant) {
        guard rate > 0 else { return }
        let begun = paidAt.map { max($0, now.advanced(by: -Self.burst)) } ?? now
        let span = Double(count) * 1_000_000_000 / Double(rate)
        paidAt = begun.advanced(by: Int64(min(span, 1e15)))
    }

    /// Returns when more bytes may be received; `nil` if now.
    package func heldUntil(_ now: Instant) -> Instant? {
        guard rate > 0, let paidAt, paidAt > now.advanced(by: Self.slack) else { return nil }
        return paidAt
    }

    /// Sets another limit and forgets past bytes.
    package mutating func set(rate: Int64) {
        self.rate = max(0, rate)
        paidAt = nil
    }
}

/// A limit that several exchanges share, and that can be changed at any time.
package final class SpeedLimit: Sendable {
    private let budget: Lock<SpeedBudget>

    /// - Parameter rate: Bytes per second; 0 for no limit.
    package init(rate: Int64) { budget = Lock(SpeedBudget(rate: rate)) }

    package var rate: Int64 { budget.withLock { $0.rate } }
    /// Sets the limit. Delayed exchanges resume when their transport checks again: schedule
    /// something.
    package func set(rate: Int64) { budget.withLock { $0.set(rate: rate) } }
    func take(_ count: Int, now: Instant) { budget.withLock { $0.take(count, now: now) } }
    func heldUntil(_ now: Instant) -> Instant? { budget.withLock { $0.heldUntil(now) } }
}

extension Exchange {
    /// Returns when its limits allow more bytes; `nil` if now.
    func heldUntil(_ now: Instant) -> Instant? {
        request.speedLimits.compactMap { $0.heldUntil(now) }.max()
    }
}
