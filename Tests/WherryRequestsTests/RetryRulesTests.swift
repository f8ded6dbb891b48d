// Wherry: tests of the retry rules
// SPDX-License-Identifier: Apache-2.0

import Testing
import WherryHTTP
import WherrySystem

@testable import WherryRequests

@Suite struct RetryRulesTests {
    private let start = Instant(nanoseconds: 1_000_000_000_000)

    private func rules(_ change: (inout RetryRules) -> Void = { _ in }) -> RetryRules {
        var rules = RetryRules()
        rules.limit = 3
        change(&rules)
        return rules
    }

    private func refusal(_ status: Int, retryAfter milliseconds: Int64 = -1) -> WherryError {
        WherryError(.httpStatus, "status \(status)").with {
            $0.httpStatus = status
            $0.retryAfterMilliseconds = milliseconds
        }
    }

    private func delay(
        _ rules: RetryRules, _ error: WherryError, method: String = "GET", retries: Int = 0,
        seed: UInt64 = 1
    ) -> Int64? {
        var random = SplitMix(state: seed)
        return rules.delay(
            after: error, method: method, retries: retries, now: start, &random)
    }

    @Test("R29 idempotent methods are retried, the others if allowed")
    func methods() {
        for method in ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"] {
            #expect(delay(rules(), refusal(503), method: method) != nil)
        }
        for method in ["POST", "PATCH", "PURGE", "get"] {
            #expect(delay(rules(), refusal(503), method: method) == nil)
            #expect(delay(rules { $0.mayRepeatUnsafe = true }, refusal(503), method: method) != nil)
        }
    }

    @Test("R29 only transient failures are retried")
    func failures() {
        for status in 400...599 {
            let mayPass = [408, 429, 500, 502, 503, 504].contains(status)
            #expect((delay(rules(), refusal(status)) != nil) == mayPass, "\(status)")
            #expect(RetryRules.mayPass(status) == mayPass)
        }
        for reason in ErrorReason.allCases where reason != .httpStatus {
            let error = WherryError(reason, "")
            #expect((delay(rules(), error) != nil) == error.isRetryable, "\(reason)")
        }
        #expect(delay(rules(), WherryError(.untrusted, "")) == nil)
        #expect(delay(rules(), WherryError(.totalTimeout, "")) == nil)
    }

    @Test("R29 the waits are random up to a bound that doubles from half a second to 30")
    func waits() throws {
        var longest: [Int64] = []
        for retries in 0..<9 {
            let patient = rules { $0.limit = 10 }
            let waits = (1...2000).compactMap {
                delay(patient, refusal(500), retries: retries, seed: $0)
            }
            #expect(waits.count == 2000 && waits.allSatisfy { $0 >= 0 })
            let bound = Backoff.bound(after: retries)
            let most = try #require(waits.max())
            #expect(most < bound && most > bound / 10 * 9)
            #expect(try #require(waits.min()) < bound / 10)
            longest.append(bound / 1_000_000)
        }
        #expect(longest == [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000])
        #expect(
            Backoff.bound(after: .max) == 30_000_000_000 && Backoff.bound(after: -1) == 500_000_000)
    }

    @Test("R29 Retry-After is the minimum wait, unless it is too long")
    func asked() throws {
        let wait = try #require(delay(rules(), refusal(503, retryAfter: 7000)))
        #expect(wait == 7_000_000_000)
        #expect(delay(rules(), refusal(503, retryAfter: 60_000)) == 60_000_000_000)
        #expect(delay(rules(), refusal(503, retryAfter: 60_001)) == nil)
        #expect(delay(rules(), refusal(503, retryAfter: .max)) == nil)
        #expect(delay(rules { $0.longestAsked = 0 }, refusal(503, retryAfter: 1)) == nil)
        #expect(delay(rules { $0.longestAsked = 0 }, refusal(503)) != nil)
    }

    @Test("R29 there are no more retries than requested, and none past the deadline")
    func limits() {
        #expect(delay(rules(), refusal(503), retries: 2) != nil)
        #expect(delay(rules(), refusal(503), retries: 3) == nil)
        #expect(delay(rules { $0.limit = 0 }, refusal(503)) == nil)
        let late = rules { $0.deadline = start.advanced(by: 7_000_000_000) }
        #expect(delay(late, refusal(503, retryAfter: 6999)) != nil)
        #expect(delay(late, refusal(503, retryAfter: 7000)) == nil)
    }

    @Test("R29 a client's budget is a hundred, plus one for every five successes")
    func budget() {
        var budget = RetryBudget()
        budget.earn()
        var spent = 0
        while budget.spend() { spent += 1 }
        #expect(spent == 100)
        var allowed: [Bool] = []
        for _ in 0..<5 {
            budget.earn()
            allowed.append(budget.spend())
        }
        #expect(allowed == [false, false, false, false, true])
    }
}
