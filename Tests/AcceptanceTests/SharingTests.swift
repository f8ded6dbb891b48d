// Wherry: acceptance tests of equal requests that share a response
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry
import WherrySystem

@Suite struct SharingTests {
    private let scope: TestServer.Scope
    private let client: Client

    init() throws {
        scope = try TestServer.shared.scope()
        client = try makeClient(scope)
    }

    private func request(
        _ url: String = "text/a?gate=g", _ change: (inout Request) -> Void = { _ in }
    ) -> Request {
        var request = Request(url)
        request.coalesces = true
        change(&request)
        return request
    }

    @Test("R33 twenty callers share one request and get twenty responses")
    func twenty() async throws {
        let handles = try (0..<20).map { index in
            try client.start(request { $0.tag = "\(index)" })
        }
        #expect(client.count() == 20)
        let ids = Set(handles.map { $0.transfer.id })
        #expect(ids.count == 20)
        try await scope.wait("requests=1")

        try scope.open(gate: "g")

        let text = try await handles[0].value.text
        for (index, handle) in handles.enumerated() {
            #expect(try await handle.value.text == text)
            let tag = handle.transfer.tag
            #expect(tag == "\(index)")
            #expect(handle.state == .done)
        }
        #expect(try scope.requests().count == 1)
        let counters = client.counters()
        #expect(counters.started == 20 && counters.succeeded == 20 && counters.requests == 1)
        // A finished request is not shared any more.
        _ = try await client.send(request())
        #expect(try scope.requests().count == 2)
    }

    @Test("R33 a request without sharing is sent, whatever the others do")
    func optIn() async throws {
        let handles = try [
            request(), request(), Request("text/a?gate=g"), Request("text/a?gate=g"),
        ]
        .map { try client.start($0) }
        try await scope.wait("requests=3")
        try scope.open(gate: "g")
        for handle in handles { #expect(try await handle.value.status == 200) }
        #expect(try scope.requests().count == 3)
    }

    @Test("R33 cancelling one caller leaves the others, and the last cancel ends the request")
    func cancelling() async throws {
        let handles = try (0..<3).map { _ in try client.start(request()) }
        try await scope.wait("requests=1")
        // The first caller sent it.
        handles[0].cancel()
        let first = await failure { () throws(WherryError) in try await handles[0].value }
        #expect(first?.reason == "cancelled")
        #expect(handles[1].state == .running && client.count() == 2)
        try scope.open(gate: "g")
        #expect(try await handles[1].value.status == 200)
        #expect(try await handles[2].value.status == 200)

        let others = try (0..<3).map { _ in try client.start(request("silent")) }
        try await scope.wait("requests=2")
        for handle in others { handle.cancel() }
        for handle in others {
            let error = await failure { () throws(WherryError) in try await handle.value }
            #expect(error?.reason == "cancelled")
        }
        #expect(client.wait() && client.count() == 0)
        // The connection of the sent request is closed, and a new request is sent.
        try await scope.wait("ended=2")
        let late = try client.start(request("silent"))
        try await scope.wait("requests=3")
        late.cancel()
    }

    @Test("R33 different requests are sent separately: URL, method, header, body, user, setting")
    func differing() async throws {
        let changes: [(inout Request) -> Void] = [
            { _ in }, { $0.query = [Request.Pair("a", "1")] }, { $0.method = "DELETE" },
            { $0.headers["X-User"] = "1" }, { $0.headers["X-User"] = "2" },
            { $0.body = .json(Bytes("1")) }, { $0.body = .json(Bytes("2")) },
            { $0.body = .bytes(Bytes("1"), contentType: "text/plain") },
            { $0.bearerToken = "t" }, { $0.credentials = .digest("u", "p") },
            { $0.maxBodyBytes = 1000 }, { $0.acceptedStatus = [404] }, { $0.priority = 1 },
            { $0.cacheDuration = .seconds(1) },
        ]
        let folder = try TemporaryFolder()
        let client = try makeClient(scope) {
            $0.maxPerHost = 100
            $0.maxConnections = 100
            $0.storageDirectory = folder.file("storage")
        }
        let url = "faulty-echo?gate=g"
        let handles = try (changes + changes).map { try client.start(request(url, $0)) }
        try await scope.wait("requests=\(changes.count)")
        try scope.open(gate: "g")
        for handle in handles { _ = try? await handle.value }
        #expect(try scope.requests().count == changes.count)
        // The client's current headers and cookies count too.
        let one = try client.start(request("text/a?gate=h"))
        try client.setHeader("X-Client", "1")
        let two = try client.start(request("text/a?gate=h"))
        try client.cookies.set("c=1", for: scope.url("/"))
        let three = try client.start(request("text/a?gate=h"))
        try await scope.wait("requests=\(changes.count + 3)")
        try scope.open(gate: "h")
        for handle in [one, two, three] { #expect(try await handle.value.status == 200) }
    }

    @Test("R33 requests with hooks, streams, parts, and files are not shared")
    func alone() async throws {
        let folder = try TemporaryFolder()
        try "content".write(toFile: folder.file("f"), atomically: true, encoding: .utf8)
        let changes: [(inout Request) -> Void] = [
            { $0.body = .file(path: folder.file("f"), contentType: nil) },
            { $0.body = .multipart([.field("a", "1")]) },
        ]
        let hooks = Hooks.redirecting { $1 }
        var handles: [TransferHandle<Response>] = []
        for _ in 0..<2 {
            for change in changes {
                handles.append(
                    try client.start(
                        request("faulty-echo?gate=g") {
                            $0.method = "POST"
                            change(&$0)
                        }))
            }
            handles.append(
                try client.start(request("faulty-echo?gate=g"), hooks: hooks))
        }
        try await scope.wait("requests=6")
        try scope.open(gate: "g")
        for handle in handles { #expect(try await handle.value.status == 200) }
    }

    @Test("R33 all callers get a failure, and also an error status")
    func failing() async throws {
        let handles = try (0..<5).map { _ in try client.start(request("status/503?gate=g")) }
        try await scope.wait("requests=1")
        try scope.open(gate: "g")
        for handle in handles {
            let error = await failure { () throws(WherryError) in try await handle.value }
            #expect(error?.httpStatus == 503 && error?.response?.status == 503)
        }
        #expect(try scope.requests().count == 1)
        #expect(client.counters().failed == 5)
    }

    @Test("R33 a caller that shares a request sees it continue after a wait")
    func goingOn() async throws {
        try scope.script("again", #"[{"status": 503}, {"status": 200, "gate": "g"}]"#)
        let handles = try (0..<2).map { _ in
            try client.start(request("s/again") { $0.maxRetries = 1 })
        }
        try await scope.wait("requests=2")
        for handle in handles { #expect(handle.state == .running) }
        try scope.open(gate: "g")
        for handle in handles { #expect(try await handle.value.status == 200) }
    }

    @Test("R33 each caller has its own timeout, and the request pauses when all have paused")
    func timesAndPauses() async throws {
        let clock = ManualClock()
        let client = try makeClient(scope) { $0.clock = clock }
        let patient = try client.start(request { $0.totalTimeout = .seconds(100) })
        clock.advance(by: .milliseconds(50_000))
        // It is read later, and so is its end.
        let hasty = try client.start(request { $0.totalTimeout = .seconds(10) })
        let late = try client.start(request { $0.totalTimeout = .seconds(100) })
        try await scope.wait("requests=1")
        await client.settle(clock)
        clock.advance(by: .milliseconds(11_000))
        let error = await failure { () throws(WherryError) in try await hasty.value }
        #expect(error?.reason == "total_timeout")
        await client.settle(clock)
        clock.advance(by: .milliseconds(40_000))
        let first = await failure { () throws(WherryError) in try await patient.value }
        #expect(first?.reason == "total_timeout")

        let other = try client.start(request())
        late.pause()
        #expect(late.state == .paused && other.state == .running)
        other.pause()
        try scope.open(gate: "g")
        other.resume()
        #expect(try await other.value.status == 200)
        #expect(try await late.value.status == 200)
        #expect(try scope.requests().count == 1)
    }

    @Test("R33 blocking calls and groups share too")
    func blocking() async throws {
        let client = client
        let sent = request()
        let answers = Guarded<[Int]>([])
        let threads = try (0..<4).map { _ in
            try NativeThread(name: "caller") {
                let status = (try? client.perform(sent).status) ?? 0
                answers.withLock { $0.append(status) }
            }
        }
        try await scope.wait("requests=1")
        var group = RequestGroup()
        for _ in 0..<3 { group.add(sent) }
        let handle = try client.start(group)
        while client.count() < 8 { await Task.yield() }
        try scope.open(gate: "g")
        for thread in threads { thread.join() }
        #expect(answers.withLock { $0 } == [200, 200, 200, 200])
        #expect(try await handle.value.responses.count == 3)
        #expect(try scope.requests().count == 1)
    }

    @Test("R33 callers may join, leave, and end at the same time, many times")
    func race() async throws {
        let stub = StubServer()
        try stub.respond("http://h/*", json: [:])
        let client = try Client { $0.stubServer = stub }
        let requests = (0..<3).map { request("http://h/\($0)") }
        await withTaskGroup(of: Void.self) { group in
            for worker in 0..<8 {
                group.addTask {
                    for round in 0..<loops(2000) {
                        guard let handle = try? client.start(requests[round % 3]) else {
                            Issue.record("not started")
                            return
                        }
                        if (worker + round) % 3 == 0 { handle.cancel() }
                        let reason = await failure { () throws(WherryError) in
                            try await handle.value
                        }?.reason
                        #expect(reason == nil || reason == "cancelled")
                    }
                }
            }
        }
        #expect(client.wait() && client.count() == 0)
        let counters = client.counters()
        #expect(counters.started == counters.succeeded + counters.cancelled)
    }
}
