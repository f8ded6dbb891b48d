// Wherry: the order of requests when connections are few
// SPDX-License-Identifier: Apache-2.0

import Testing
import WherrySystem

@testable import WherryTransport

@Suite struct ConnectionQueueTests {
    private func exchange(
        _ host: String, _ configure: (inout ExchangeRequest) -> Void = { _ in }
    ) throws -> Exchange {
        try Call("GET", "https://\(host)/", configure: configure).exchange
    }

    /// As many as start at once.
    private func admitted(
        _ count: Int, _ host: String, _ queue: inout ConnectionQueue,
        _ configure: (inout ExchangeRequest) -> Void = { _ in }
    ) throws -> [Exchange] {
        try (0..<count).compactMap { _ in
            let exchange = try exchange(host, configure)
            return queue.admit(exchange) ? exchange : nil
        }
    }

    @Test("HTTP/2 streams do not count as connections, from the first response on")
    func streams() throws {
        var queue = ConnectionQueue(perHost: 6, total: 8)
        let first = try admitted(40, "two.test", &queue)
        #expect(first.count == 6)
        let mayStart = queue.note(first[0], isMultiplexed: true)
        #expect(mayStart)
        var running = first
        while let next = queue.next() { running.append(next) }
        #expect(running.count == 40)
        for exchange in running { _ = queue.note(exchange, isMultiplexed: true) }
        // All of them run forever, and others have every connection.
        #expect(try admitted(9, "a.test", &queue).count == 6)
        #expect(try admitted(9, "b.test", &queue).count == 2)
        // One connection carries a hundred, not more.
        #expect(try admitted(100, "two.test", &queue).count == 60)
        queue.leave(running[0])
        #expect(queue.next() != nil)
        #expect(queue.next() == nil)
    }

    @Test("A new priority moves waiting requests behind their new equals, paused ones too")
    func priorities() throws {
        var queue = ConnectionQueue(perHost: 1, total: 8)
        let running = try exchange("a.test")
        let starts = queue.admit(running)
        #expect(starts)
        let waiting = try (0..<5).map { _ in try exchange("a.test") }
        for exchange in waiting {
            let starts = queue.admit(exchange)
            #expect(!starts)
        }
        waiting[4].state.isPaused = true
        queue.pauseChanged(waiting[4])

        queue.setPriority(of: waiting[3], to: 1)
        queue.setPriority(of: waiting[1], to: 1)
        queue.setPriority(of: waiting[4], to: 1)
        queue.setPriority(of: waiting[0], to: -1)
        queue.setPriority(of: waiting[2], to: 0)
        queue.setPriority(of: running, to: -100)
        waiting[4].state.isPaused = false
        queue.pauseChanged(waiting[4])

        var order: [Exchange] = []
        queue.leave(running)
        while let next = queue.next() {
            order.append(next)
            queue.leave(next)
        }
        #expect(order.map { one in waiting.firstIndex { $0 === one } } == [3, 1, 4, 2, 0])
        #expect(queue.isEmpty)
    }

    @Test("A host that falls back to HTTP/1.1 is counted by its connections again")
    func fallsBack() throws {
        var queue = ConnectionQueue(perHost: 2, total: 8)
        let first = try admitted(1, "two.test", &queue)
        _ = queue.note(first[0], isMultiplexed: true)
        let second = try admitted(3, "two.test", &queue)
        #expect(second.count == 3)
        for exchange in second { _ = queue.note(exchange, isMultiplexed: false) }
        #expect(try admitted(1, "two.test", &queue).isEmpty)
        queue.leave(second[0])
        #expect(queue.next() == nil, "two are left, and they are all it may have")
        queue.leave(second[1])
        #expect(queue.next() != nil)
        #expect(queue.isEmpty)
    }

    @Test("A request for HTTP/1.1 uses a connection, whatever the host supports")
    func bound() throws {
        var queue = ConnectionQueue(perHost: 2, total: 8)
        let first = try admitted(1, "two.test", &queue)
        _ = queue.note(first[0], isMultiplexed: true)
        let old = try admitted(9, "two.test", &queue) { $0.httpVersion = 11 }
        #expect(old.count == 2)
        #expect(try admitted(1, "two.test", &queue) { $0.ownConnection = true }.isEmpty)
        _ = queue.note(old[0], isMultiplexed: false)
        let streams = try admitted(50, "two.test", &queue)
        #expect(streams.count == 50, "the others are streams still")
        // One uses the connection that such a request has left.
        streams[0].state.isOnSerial = true
        _ = queue.note(streams[0], isMultiplexed: false)
        #expect(try admitted(9, "two.test", &queue).count == 9, "and say what the host speaks")
    }

    @Test("A paused request yields, and gets its old position when it resumes")
    func paused() throws {
        var queue = ConnectionQueue(perHost: 1, total: 1)
        let running = try admitted(1, "a.test", &queue)
        let line = try (0..<4).map { _ in try exchange("a.test") }
        line[3].state.isPaused = true
        let wait = line.filter { !queue.admit($0) }
        #expect(wait.count == 4)
        line[0].state.isPaused = true
        queue.pauseChanged(line[0])
        queue.leave(running[0])
        #expect(queue.next() === line[1])
        line[0].state.isPaused = false
        queue.pauseChanged(line[0])
        queue.leave(line[1])
        #expect(queue.next() === line[0])
        queue.remove(line[2])
        queue.leave(line[0])
        #expect(queue.next() == nil)
        #expect(!queue.isEmpty)
        #expect(queue.removeAll().map { ObjectIdentifier($0) } == [ObjectIdentifier(line[3])])
        #expect(queue.isEmpty)
    }

    @Test("A higher limit applies at once, and a lower one to waiting requests")
    func limits() throws {
        var queue = ConnectionQueue(perHost: 1, total: 2)
        let running = try admitted(5, "a.test", &queue)
        #expect(running.count == 1)
        #expect(queue.next() == nil)
        queue.setLimits(perHost: 3, total: 2)
        #expect(queue.next() != nil)
        #expect(queue.next() == nil)
        queue.setLimits(perHost: 1, total: 9)
        queue.leave(running[0])
        #expect(queue.next() == nil)
    }

    @Test("Of many visited hosts, the idle ones are forgotten")
    func places() throws {
        var queue = ConnectionQueue(perHost: 6, total: 32)
        for index in 0..<10_000 {
            let exchange = try exchange("h\(index).test")
            let mayStart = queue.admit(exchange)
            #expect(mayStart)
            _ = queue.note(exchange, isMultiplexed: true)
            queue.leave(exchange)
        }
        #expect(queue.placeCount <= 1_100)
    }

    @Test("R28 a higher priority is first, on any host, and equals keep their order")
    func priority() throws {
        var queue = ConnectionQueue(perHost: 9, total: 1)
        let running = try admitted(1, "first.test", &queue)
        let priorities: [Int8] = [0, -100, 5, 0, 100, 5, -100, 0]
        let line = try priorities.enumerated().map { index, priority in
            try exchange("h\(index % 3).test") { $0.priority = priority }
        }
        let early = line.filter { queue.admit($0) }
        #expect(early.isEmpty)
        // A paused request returns among its equals, at its old position.
        line[2].state.isPaused = true
        queue.pauseChanged(line[2])
        line[2].state.isPaused = false
        queue.pauseChanged(line[2])
        var order: [Int] = []
        var last = running[0]
        while true {
            queue.leave(last)
            guard let next = queue.next() else { break }
            order.append(line.firstIndex { $0 === next } ?? -1)
            last = next
        }
        #expect(order == [4, 2, 5, 0, 3, 7, 1, 6])
        #expect(queue.isEmpty)
    }

    @Test(
        "A hundred thousand requests wait, and each starts in order",
        arguments: [(1, 10_000), (1_000, 100_000), (10_000, 10_000)])
    func many(hosts: Int, count: Int) throws {
        var queue = ConnectionQueue(perHost: 1, total: 1)
        let running = try admitted(1, "first.test", &queue)
        let now = Instant(nanoseconds: 0)
        let urls = try (0..<hosts).map { try HTTPURL("http://h\($0).test/") }
        let receiver = RecordingReceiver()
        let all = (0..<count).map { index in
            var request = ExchangeRequest(method: "GET", url: urls[index % hosts])
            request.deadline = now.advanced(by: Int64(count - index))
            return Exchange(request, receiver: receiver)
        }
        let wait = all.filter { !queue.admit($0) }
        #expect(wait.count == count)
        #expect(queue.nextDeadline == now.advanced(by: 1))
        // The last ten move to the front late.
        let late = queue.expired(at: now.advanced(by: 10))
        #expect(
            late.map { ObjectIdentifier($0) }
                == all.suffix(10).reversed().map { ObjectIdentifier($0) })
        // Every third is cancelled, from the front and from the middle.
        for index in stride(from: 0, to: count - 10, by: 3) { queue.remove(all[index]) }
        var last = running[0]
        var wrong = 0
        for index in 0..<count - 10 where index % 3 != 0 {
            queue.leave(last)
            guard let next = queue.next() else {
                Issue.record("nobody at \(index)")
                return
            }
            if next !== all[index] { wrong += 1 }
            last = next
        }
        #expect(wrong == 0)
        #expect(queue.isEmpty)
        #expect(queue.nextDeadline == .never)
    }
}
