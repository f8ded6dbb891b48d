// Wherry: rate limits for starting requests
// SPDX-License-Identifier: Apache-2.0

import Testing
import WherrySystem

@testable import WherryTransport

@Suite struct RequestRateTests {
    private static func at(_ milliseconds: Int64) -> Instant {
        Instant(nanoseconds: 1_000_000_000_000).advanced(by: .milliseconds(milliseconds))
    }

    private static func rate(_ total: Int64, perHost: Int64 = 0, burst: Int64 = 0) -> RequestRate {
        var rate = RequestRate()
        (rate.total, rate.perHost, rate.burst) = (total, perHost, burst)
        return rate
    }

    private func exchange(_ host: String) throws -> Exchange {
        try Call("GET", "https://\(host)/").exchange
    }

    @Test(arguments: [(1, 0), (3, 0), (5, 1), (7, 20), (1_000_000, 0)] as [(Int64, Int64)])
    func `at most the burst plus the tokens of the elapsed time`(count: Int64, burst: Int64) {
        let rate = Self.rate(count, burst: burst)
        var bucket = TokenBucket(count, rate)
        var now = Self.at(0)
        let start = now
        var taken: Int64 = 0
        for _ in 0..<100 {
            while let opening = bucket.opening(after: now) {
                #expect(opening > now)
                now = opening
            }
            bucket.take(at: now)
            taken += 1
            let span = now.since(start)
            let most = (burst > 0 ? burst : count) + span * count / 1_000_000_000
            #expect(taken <= most)
        }
        #expect(taken == 100)
    }

    @Test func `without a limit it is always open`() {
        var bucket = TokenBucket(0, RequestRate())
        for _ in 0..<10 { bucket.take(at: Self.at(0)) }
        #expect(bucket.opening(after: Self.at(0)) == nil)
        #expect(bucket.isFull(at: Self.at(0)))
    }

    @Test func `the largest settings do not overflow`() {
        var rate = Self.rate(1, burst: 10_000)
        rate.span = .milliseconds(86_400_000)
        var bucket = TokenBucket(1, rate)
        for _ in 0..<10_000 {
            #expect(bucket.opening(after: Self.at(0)) == nil)
            bucket.take(at: Self.at(0))
        }
        #expect(bucket.opening(after: Self.at(0))?.since(Self.at(0)) == rate.span)
    }

    @Test func `a host without a token delays no other, and a queue reports its restart`() throws {
        var queue = ConnectionQueue(perHost: 6, total: 32)
        queue.setRate(Self.rate(0, perHost: 2))
        queue.advance(to: Self.at(0))
        func admit(_ host: String) throws -> Bool {
            let exchange = try exchange(host)
            return queue.admit(exchange)
        }
        #expect(try admit("a.test") && admit("a.test"))
        #expect(queue.nextOpening == .never)
        #expect(try !admit("a.test"))
        #expect(queue.next() == nil)
        #expect(queue.nextOpening == Self.at(500))
        // A request that arrives while another waits is queued, and leaves the queue at once.
        #expect(try !admit("b.test"))
        #expect(queue.next()?.request.url.origin.host == "b.test")
        #expect(queue.next() == nil)
        queue.advance(to: Self.at(499))
        #expect(queue.next() == nil)
        queue.advance(to: Self.at(500))
        #expect(queue.next()?.request.url.origin.host == "a.test")
        #expect(queue.isEmpty && queue.nextOpening == .never)
    }

    @Test func `a host is remembered while its bucket fills`() throws {
        var queue = ConnectionQueue(perHost: 1, total: 10_000)
        queue.setRate(Self.rate(0, perHost: 1))
        queue.advance(to: Self.at(0))
        for round in 0..<2 {
            for index in 0..<1_100 {
                let exchange = try exchange("h\(index).test")
                #expect(queue.admit(exchange) == (round == 0))
                if round == 0 { queue.leave(exchange) } else { queue.remove(exchange) }
            }
        }
        #expect(queue.placeCount == 1_100)
        // Once all are full, they are dropped.
        queue.advance(to: Self.at(1_000))
        for index in 0..<3_000 {
            let exchange = try exchange("x\(index).test")
            _ = queue.admit(exchange)
            queue.leave(exchange)
        }
        #expect(queue.placeCount <= 3_000)
    }

    @Test func `removing a limit starts all waiting requests`() throws {
        var queue = ConnectionQueue(perHost: 6, total: 32)
        queue.setRate(Self.rate(1))
        queue.advance(to: Self.at(0))
        for index in 0..<3 {
            let exchange = try exchange("a.test")
            #expect(queue.admit(exchange) == (index == 0))
        }
        #expect(queue.nextOpening == Self.at(1_000))
        queue.setRate(RequestRate())
        #expect(queue.next() != nil && queue.next() != nil && queue.next() == nil)
        #expect(queue.nextOpening == .never)
    }
}
