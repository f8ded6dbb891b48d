// Wherry: rate limits.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// Limits on the number of requests started in a span of time, in total and per host; 0 for no
/// limit.
package struct RequestRate: Hashable, Sendable {
    package var total: Int64 = 0
    package var perHost: Int64 = 0
    /// The number of requests that may start at once after an idle time; 0: as many as in a span.
    package var burst: Int64 = 0
    /// The span in nanoseconds.
    package var span: Int64 = 1_000_000_000

    package init() {}

    var isLimited: Bool { total > 0 || perHost > 0 }
}

/// A token bucket with one token per request, refilled at a constant rate. It stores only the time
/// when it will be full, so it needs no timer.
struct TokenBucket: Hashable, Sendable {
    /// The time to refill one token; 0 for no limit.
    private let cost: Int64
    /// The time to refill all tokens but one.
    private let slack: Int64
    /// The time when the bucket will be full.
    private var fullAt = Instant(nanoseconds: .min)

    /// Creates a full bucket.
    init(_ count: Int64, _ rate: RequestRate) {
        guard count > 0 else {
            (cost, slack) = (0, 0)
            return
        }
        // Rounded up, so that the limit is never exceeded.
        cost = (max(1, rate.span) - 1) / count + 1
        let burst = rate.burst > 0 ? rate.burst : count
        let (product, overflow) = cost.multipliedReportingOverflow(by: burst - 1)
        slack = overflow ? .max / 2 : product
    }

    /// Returns when a token will be available; `nil` if one is available now.
    func opening(after now: Instant) -> Instant? {
        guard cost > 0 else { return nil }
        let opening = fullAt.advanced(by: -slack)
        return opening > now ? opening : nil
    }

    /// Takes a token, even one that is not available yet: later requests then wait longer.
    mutating func take(at now: Instant) {
        guard cost > 0 else { return }
        fullAt = max(fullAt, now).advanced(by: cost)
    }

    func isFull(at now: Instant) -> Bool { cost == 0 || fullAt <= now }
}
