// Wherry: the rules for retries of requests.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherrySystem
import WherryTransport

/// Decides when a failed request is retried (R29). Pure.
package struct RetryRules: Sendable {
    /// The maximum number of retries; 0 for none.
    package var limit = 0
    /// Whether to retry requests whose methods are not idempotent.
    package var mayRepeatUnsafe = false
    /// The longest `Retry-After` delay to accept, in nanoseconds.
    package var longestAsked: Int64 = 60_000_000_000
    /// The time at which no attempt may start any more.
    package var deadline = Instant.never

    package init() {}

    package init(_ options: OptionTable, deadline: Instant) {
        // Downloads have separate rules.
        limit = max(0, Int(options[.maxRetries]))
        mayRepeatUnsafe = options[.retryUnsafeMethods] == 1
        longestAsked = .milliseconds(options[.maxRetryAfter])
        self.deadline = deadline
    }

    /// Returns whether a status code indicates a transient failure.
    package static func mayPass(_ status: Int) -> Bool {
        switch status {
        case 408, 429, 500, 502, 503, 504: true
        default: false
        }
    }

    /// Returns the delay before the next attempt, in nanoseconds; `nil` to give up.
    ///
    /// - Parameter retries: The number of attempts before the one that failed.
    package func delay(
        after error: WherryError, method: String, retries: Int, now: Instant,
        _ random: inout SplitMix
    ) -> Int64? {
        guard retries < limit, error.isRetryable,
            mayRepeatUnsafe || ExchangeRequest.isIdempotent(method)
        else { return nil }
        return delay(after: error, retries: retries, now: now, &random)
    }

    /// Returns the default delay of a retry that the program has already decided on; `nil` if it
    /// would be too long.
    package func delay(
        after error: WherryError, retries: Int, now: Instant, _ random: inout SplitMix
    ) -> Int64? {
        let asked = Int64.milliseconds(error.fields.retryAfterMilliseconds)
        let delay = Backoff.delay(
            after: retries, asked: asked, longest: longestAsked, &random)
        guard let delay, now.advanced(by: delay) < deadline else { return nil }
        return delay
    }
}

/// The number of retries that a client may still make, to avoid overloading servers that fail: at
/// first 100, then one for every five successful requests.
package struct RetryBudget: Sendable {
    /// The budget in fifths of a retry.
    private var fifths = Self.most
    private static let most = 500

    package init() {}

    /// Spends one retry. Returns `false` if none is left.
    package mutating func spend() -> Bool {
        guard fifths >= 5 else { return false }
        fifths -= 5
        return true
    }

    /// Records a successful request.
    package mutating func earn() { fifths = min(Self.most, fifths + 1) }
}
