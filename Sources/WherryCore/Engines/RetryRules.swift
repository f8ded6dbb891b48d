// Wherry: whether and when a request is sent again after a failure
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// When a request goes out again by itself (R29). Pure.
package struct RetryRules: Sendable {
    /// Attempts after the first one; 0 for none.
    package var limit = 0
    /// Whether requests go again whose methods mean something else the second time.
    package var mayRepeatUnsafe = false
    /// The longest wait that a server may ask for, in nanoseconds.
    package var longestAsked: Int64 = 60_000_000_000
    /// No attempt begins at this instant or later.
    package var deadline = Instant.never

    package init() {}

    package init(_ options: OptionTable, deadline: Instant) {
        // Downloads have rules of their own.
        limit = max(0, Int(options[.maxRetries]))
        mayRepeatUnsafe = options[.retryUnsafeMethods] == 1
        longestAsked = .milliseconds(options[.maxRetryAfter])
        self.deadline = deadline
    }

    /// Statuses that may be others the next time.
    package static func mayPass(_ status: Int) -> Bool {
        switch status {
        case 408, 429, 500, 502, 503, 504: true
        default: false
        }
    }

    /// How long to wait before the next attempt, in nanoseconds; `nil` if there is to be none.
    ///
    /// - Parameter retries: how many attempts went before the one that failed.
    package func delay(
        after error: WherryError, method: String, retries: Int, now: Instant,
        _ random: inout SplitMix
    ) -> Int64? {
        guard retries < limit, error.isRetryable, mayRepeatUnsafe || ExchangeRequest.isIdempotent(method)
        else { return nil }
        return delay(after: error, retries: retries, now: now, &random)
    }

    /// The usual wait, where somebody else has decided that there is another attempt.
    package func delay(
        after error: WherryError, retries: Int, now: Instant, _ random: inout SplitMix
    ) -> Int64? {
        let asked = Int64.milliseconds(error.fields.retryAfterMilliseconds)
        // It would come too early, or keep the caller waiting for longer than he said.
        guard asked <= longestAsked else { return nil }
        let delay = max(asked, Backoff.delay(after: retries, &random))
        return now.advanced(by: delay) < deadline ? delay : nil
    }
}

/// How many attempts again a client may still make, so that servers which fail are not asked
/// several times as much by everybody: a hundred, and then one for every five that succeed.
package struct RetryBudget: Sendable {
    /// In fifths of an attempt.
    private var fifths = Self.most
    private static let most = 500

    package init() {}

    /// Takes one attempt out; `false` if there is none left.
    package mutating func spend() -> Bool {
        guard fifths >= 5 else { return false }
        fifths -= 5
        return true
    }

    /// A request has succeeded.
    package mutating func earn() { fifths = min(Self.most, fifths + 1) }
}
