// Wherry: tests of readers that drive the network loop.
// SPDX-License-Identifier: Apache-2.0

import Testing
import TestServer
import WherryImaging
import WherrySystem
@testable import WherryCore
@testable import WherryHTTP
@testable import WherryRequests

@Suite("Readers of the completion queue that drive the loop", .timeLimit(.minutes(2)))
struct EventQueueDrivingTests {
    private let scope: TestServer.Scope
    private let client: Client
    private let queue = EventQueue()

    init() throws {
        scope = try TestServer.shared.scope()
        client = try Client { $0.proxy = "" }
    }

    private func send(_ path: String) throws {
        _ = try client.send(Request(scope.url(path), method: "GET"), observer: queue)
    }

    @Test("one after the other, and many at once")
    func requests() throws {
        for _ in 0..<50 {
            try send("/bytes/10")
            let outcome = try #require(queue.next(timeout: nil)?.outcome)
            #expect(outcome.response?.body.count == 10)
        }
        for _ in 0..<64 { try send("/bytes/10") }
        var ended = 0
        while ended < 64 {
            let events = try queue.read(16, timeout: nil)
            #expect(events.allSatisfy { $0.outcome?.error == nil })
            ended += events.count
        }
        #expect(client.count() == 0)
    }

    @Test("requests of a thread that does not read are still performed")
    func absent() throws {
        try send("/bytes/10")
        _ = try queue.next(timeout: nil)
        try send("/bytes/10")
        #expect(client.wait(timeout: .seconds(60)))
        #expect(queue.count == 1)
    }

    @Test("a wait that another thread ends, and one whose queue is closed")
    func wake() throws {
        try send("/bytes/10?gate=g")
        let reader = try NativeThread(name: "waker") { [queue, scope] in
            _ = try? scope.waitBlocking("requests=1")
            try? queue.wake(userData: 99)
        }
        #expect(try queue.next(timeout: nil)?.userData == 99)
        reader.join()
        let closer = try NativeThread(name: "closer") { [queue] in queue.close() }
        #expect(throws: WherryError.self) {
            while try queue.next(timeout: nil) != nil {}
        }
        closer.join()
    }

    @Test("several readers share the events")
    func readers() throws {
        let ended = Monitor(0)
        for _ in 0..<8 { try send("/bytes/10") }
        let threads = try (0..<3).map { _ in
            try NativeThread(name: "reader") { [queue] in
                while let event = try? queue.next(timeout: nil) {
                    if event.outcome != nil { ended.update { $0 += 1 } }
                    guard event.userData == 0, (try? self.send("/bytes/10")) != nil else { return }
                }
            }
        }
        _ = ended.wait { $0 >= 100 ? true : nil }
        queue.close()
        for thread in threads { thread.join() }
    }

    @Test("a wait times out")
    func timeout() throws {
        try send("/bytes/10?gate=g")
        #expect(try queue.next(timeout: .milliseconds(10)) == nil)
        try scope.open(gate: "g")
        #expect(try queue.next(timeout: nil)?.outcome?.error == nil)
    }

    @Test("an invalid image ends a blocking call, although a worker detects it")
    func brokenPicture() throws {
        var request = Request(scope.url("/bytes/10"), method: "POST")
        request.body = .multipart([
            Request.Part(
                name: "p", content: .image(.bytes(Bytes("no picture")), Compression()))
        ])
        #expect(throws: WherryError.self) { try client.perform(request) }
    }
}

extension QueueEvent {
    fileprivate var outcome: TransferOutcome? {
        guard case .done(let outcome) = event else { return nil }
        return outcome
    }
}
