// Wherry: how many requests may start in a span of time.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// Limits of how many requests start in a span of time, all together and to each host; 0 is none.
package struct RequestRate: Hashable, Sendable {
    package var total: Int64 = 0
    package var perHost: Int64 = 0
    /// How many may start at once after a quiet time; 0: as many as in a span.
    package var burst: Int64 = 0
    /// In nanoseconds.
    package var span: Int64 = 1_000_000_000

    package init() {}

    var isLimited: Bool { total > 0 || perHost > 0 }
}

/// A bucket of tokens, one for each request, into which they drop at even distances. No clock of its
/// own: a full bucket is a moment that has passed.
struct TokenBucket: Hashable, Sendable {
    /// The time that brings a token; 0 is no limit.
    private let cost: Int64
    /// The time that brings all tokens but one.
    private let slack: Int64
    /// When all that was taken is there again.
    private var fullAt = Instant(nanoseconds: .min)

    /// Full.
    init(_ count: Int64, _ rate: RequestRate) {
        guard count > 0 else {
            (cost, slack) = (0, 0)
            return
        }
        // Rounded up, so that there are never more.
        cost = (max(1, rate.span) - 1) / count + 1
        let burst = rate.burst > 0 ? rate.burst : count
        let (product, overflow) = cost.multipliedReportingOverflow(by: burst - 1)
        slack = overflow ? .max / 2 : product
    }

    /// When there will be a token; `nil` if there is one now.
    func opening(after now: Instant) -> Instant? {
        guard cost > 0 else { return nil }
        let opening = fullAt.advanced(by: -slack)
        return opening > now ? opening : nil
    }

    /// Takes a token, also one that is not there yet: those that come later wait longer then.
    mutating func take(at now: Instant) {
        guard cost > 0 else { return }
        fullAt = max(fullAt, now).advanced(by: cost)
    }

    func isFull(at now: Instant) -> Bool { cost == 0 || fullAt <= now }
}
