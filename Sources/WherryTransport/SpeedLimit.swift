// Wherry: bandwidth limits shared by exchanges.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// A token bucket for received bytes. Needs no timer: it stores only the time when the bytes
/// received so far are paid for.
package struct SpeedBudget: Hashable, Sendable {
    /// Bytes per second; 0 for no limit.
    private(set) var rate: Int64
    /// The time at which the bytes received so far would have arrived at the allowed rate.
    private var paidAt: Instant?

    /// The maximum unused time that is credited, in nanoseconds. Limits the burst after a pause.
    private static let burst: Int64 = 100_000_000
    /// Delays shorter than this are skipped, in nanoseconds.
    private static let slack: Int64 = 10_000_000

    package init(rate: Int64) { self.rate = max(0, rate) }

    /// Counts received bytes.
    package mutating func take(_ count: Int, now: Instant) {
        guard rate > 0 else { return }
        let begun = paidAt.map { max($0, now.advanced(by: -Self.burst)) } ?? now
        let span = Double(count) * 1_000_000_000 / Double(rate)
        paidAt = begun.advanced(by: Int64(min(span, 1e15)))
    }

    /// Returns when more bytes may be received; `nil` if they may be received now.
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
    /// Sets the limit. Delayed exchanges resume when their transport checks again, so the caller
    /// must schedule a call on it.
    package func set(rate: Int64) { budget.withLock { $0.set(rate: rate) } }
    func take(_ count: Int, now: Instant) { budget.withLock { $0.take(count, now: now) } }
    func heldUntil(_ now: Instant) -> Instant? { budget.withLock { $0.heldUntil(now) } }
}

extension Exchange {
    /// Returns when the exchange's limits allow more bytes; `nil` if they allow them now.
    func heldUntil(_ now: Instant) -> Instant? {
        request.speedLimits.compactMap { $0.heldUntil(now) }.max()
    }
}
