// Wherry: tests of one token refresh for many requests
// SPDX-License-Identifier: Apache-2.0

import Testing
import WherryCore
import WherryRequests
import WherrySystem

@Suite final class TokenRefreshTests: Sendable {
    private let refresh = TokenRefresh()
    private let outcomes = Lock<[String]>([])
    private let start = Instant(nanoseconds: 0)

    private func meet(_ id: UInt64, used: String?, current: String?, at second: Int64 = 0)
        -> TokenVerdict?
    {
        refresh.met401(
            id, used: used, now: start.advanced(by: second * 1_000_000_000), current: { current }
        ) { [self] outcome in
            outcomes.withLock { $0.append("\(id) \(outcome)") }
        }
    }

    private var told: [String] { outcomes.withLock { $0 } }

    @Test("R32 the first request refreshes, the others wait and get the same token")
    func one() {
        #expect(meet(1, used: "a", current: "a") == .refresh)
        #expect(meet(2, used: "a", current: "a") == nil)
        #expect(meet(3, used: "a", current: "a") == nil)
        refresh.settle { "b" }
        #expect(told == [#"2 replay("b")"#, #"3 replay("b")"#])
        #expect(meet(4, used: "a", current: "b") == .replay("b"))
        #expect(meet(5, used: "b", current: "b") == .refresh)
    }

    @Test("R32 without an initial token a refresh happens too")
    func none() {
        #expect(meet(1, used: nil, current: nil) == .refresh)
        refresh.settle { "b" }
        #expect(meet(2, used: nil, current: "b") == .replay("b"))
    }

    @Test("R32 without a new token all of them fail")
    func failed() {
        #expect(meet(1, used: "a", current: "a") == .refresh)
        #expect(meet(2, used: "a", current: "a") == nil)
        refresh.settle { nil }
        #expect(told == ["2 giveUp"])
    }

    @Test("R32 there are at most five refreshes in half a minute")
    func window() {
        for second in 0..<5 {
            #expect(meet(1, used: "a", current: "a", at: Int64(second)) == .refresh)
            refresh.settle { nil }
        }
        #expect(meet(1, used: "a", current: "a", at: 29) == .giveUp)
        #expect(meet(1, used: "a", current: "a", at: 30) == .refresh)
        refresh.settle { nil }
        #expect(meet(1, used: "a", current: "a", at: 30) == .giveUp)
    }

    @Test("R32 a cancelled request passes the refresh on, or leaves the others waiting")
    func cancelled() {
        #expect(meet(1, used: "a", current: "a") == .refresh)
        #expect(meet(2, used: "a", current: "a") == nil)
        #expect(meet(3, used: "a", current: "a") == nil)
        #expect(meet(4, used: "a", current: "a") == nil)
        refresh.leave(3)
        refresh.handOver()
        #expect(told == ["2 refresh"])
        refresh.settle { "b" }
        #expect(told == ["2 refresh", #"4 replay("b")"#])
        refresh.handOver()
        #expect(meet(5, used: "b", current: "b") == .refresh)
        refresh.handOver()
        #expect(meet(6, used: "b", current: "b") == .refresh)
    }
}
