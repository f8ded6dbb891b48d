// Wherry: acceptance tests of retries
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry
import WherrySystem

/// With a stub, whose clock the tests move.
@Suite struct RetryTests {
    private let stub = StubServer()
    private let client: Client

    init() throws {
        let stub = stub
        stub.advance(by: .zero)
        client = try Client {
            $0.stubServer = stub
            $0.maxRetries = 3
            $0.baseURL = "http://h/"
        }
    }

    /// Waits until the transfer is idle, and advances the clock.
    private func pass(
        _ time: Duration, _ handle: TransferHandle<Response>, _ states: inout StateSequence.Iterator
    ) async {
        while let element = await states.next() {
            if element.state == .waiting { return stub.advance(by: time) }
        }
        Issue.record("the transfer has ended: \(handle.state)")
    }

    @Test("R29 two 503s, then a success: three requests, with waits within bounds")
    func passes() async throws {
        stub.respond("*", times: 2, status: 503)
        stub.respond("*", body: Bytes("at last"))
        let handle = try client.start(Request("a"))
        var states = handle.states.makeAsyncIterator()
        await pass(.milliseconds(500), handle, &states)
        await pass(.seconds(1), handle, &states)
        let response = try await handle.value
        #expect(response.text == "at last" && response.metrics.retries == 2)
        #expect(stub.requests.count == 3)
    }

    @Test("R29 retries are off by default, and exclude POST unless enabled")
    func off() async throws {
        stub.respond("*", status: 503)
        let stub = stub
        let plain = try Client { $0.stubServer = stub }
        let first = await failure { () throws(WherryError) in try await plain.get("http://h/") }
        #expect(first?.httpStatus == 503 && stub.requests.count == 1)
        let post = await failure { () throws(WherryError) in try await client.post("a") }
        #expect(post?.httpStatus == 503 && stub.requests.count == 2)
        var request = Request("a", method: "POST")
        request.body = .bytes(Bytes("twice"), contentType: nil)
        request.retriesUnsafeMethods = true
        request.maxRetries = 1
        let handle = try client.start(request)
        var states = handle.states.makeAsyncIterator()
        await pass(.milliseconds(500), handle, &states)
        let second = await failure { () throws(WherryError) in try await handle.value }
        #expect(second?.httpStatus == 503)
        #expect(stub.requests.suffix(2).map(\.body.text) == ["twice", "twice"])
    }

    /// A server that responds, and drops the next request on that connection after reading it.
    private func dropping(_ scope: TestServer.Scope, times: Int) throws -> String {
        let pair = #"{"json": {}}, {"raw": [["read_body"], ["fin"]]}"#
        try scope.script(
            "kept", "[\(Array(repeating: pair, count: times).joined(separator: ", "))]")
        return scope.url("/s/kept")
    }

    // libcurl automatically resends any request when a kept connection drops.
    @Test(
        "R29 a POST is not retried after a kept connection drops: the server may have processed it",
        arguments: ["POST", "PATCH", "LOCK"], [0, 100_000, nil] as [Int?])
    func droppedPost(_ method: String, _ size: Int?) async throws {
        let scope = try TestServer.shared.scope()
        let url = try dropping(scope, times: 2)
        let client = try makeClient(scope)
        _ = try await client.get(url)
        var request = Request(url, method: method)
        if let size {
            request.body = .bytes(Bytes([UInt8](repeating: 7, count: size)), contentType: nil)
        }
        let error = await failure { [request] () throws(WherryError) in
            try await client.send(request)
        }
        #expect(error?.reason == "connection_reset")
        #expect(error?.message.contains("\(method) is not retried automatically") == true)
        #expect(try scope.requests().count == 2)
        request.retriesUnsafeMethods = true
        #expect(try await client.send(request).status == 200)
        let asked = try scope.requests().map(\.method)
        #expect(asked == ["GET", method, method])
    }

    // libcurl counted such drops for a handle, and refused every sixth.
    @Test("R29 however often kept connections drop, a GET is retried on a new one")
    func droppedGets() async throws {
        let scope = try TestServer.shared.scope()
        let url = try dropping(scope, times: 9)
        let client = try makeClient(scope)
        for _ in 0..<9 { #expect(try await client.get(url).status == 200) }
        #expect(try scope.requests().count == 17)
        #expect(client.counters().requests == 17)
    }

    @Test("R29 dropped connections are retried, and the last failure is the result")
    func broken() async throws {
        try stub.fail("*", reason: "connection_reset")
        let handle = try client.start(Request("a"))
        var states = handle.states.makeAsyncIterator()
        for seconds in [1, 2, 3] { await pass(.seconds(seconds), handle, &states) }
        let error = await failure { () throws(WherryError) in try await handle.value }
        #expect(error?.reason == "connection_reset")
        #expect(stub.requests.count == 4)
    }

    @Test("R29 a retry waits for Retry-After, up to a limit")
    func asked() async throws {
        stub.respond("http://h/a", times: 1, status: 503, headers: ["Retry-After": "40"])
        stub.respond("http://h/a")
        stub.respond("http://h/b", status: 429, headers: ["Retry-After": "61"])
        var request = Request("a")
        request.totalTimeout = .seconds(41)
        let handle = try client.start(request)
        var states = handle.states.makeAsyncIterator()
        await pass(.milliseconds(39_999), handle, &states)
        #expect(stub.requests.count == 1 && handle.state == .waiting)
        stub.advance(by: .milliseconds(1))
        #expect(try await handle.value.metrics.retries == 1)
        request.url = "b"
        let error = await failure { [request] () throws(WherryError) in
            try await client.send(request)
        }
        #expect(error?.httpStatus == 429 && error?.retryAfter == .seconds(61))
        #expect(stub.requests.count == 3)
        // A date is relative to the response's Date, and without one to now.
        let now = Int64(client.transport.clock.wallSeconds())
        let dates: [(Headers, Duration?)] = [
            (
                ["Date": HTTPDate.format(now - 1_000), "Retry-After": HTTPDate.format(now - 970)],
                .seconds(30)
            ),
            (["Retry-After": HTTPDate.format(now + 30)], .seconds(30)),
            (["Retry-After": HTTPDate.format(now - 30)], .zero), (["Retry-After": "soon"], nil),
        ]
        for (index, (headers, expected)) in dates.enumerated() {
            stub.respond("http://h/d\(index)", status: 410, headers: headers)
            let error = await failure { () throws(WherryError) in try await client.get("d\(index)")
            }
            #expect(error?.retryAfter == expected, "\(headers)")
        }
    }

    @Test("R29 a cancel ends the wait at once, and so does closing the client")
    func cancelled() async throws {
        stub.respond("*", status: 500)
        for closes in [false, true] {
            let handle = try client.start(Request("a"))
            var states = handle.states.makeAsyncIterator()
            while let element = await states.next(), element.state != .waiting {}
            if closes { client.close() } else { handle.cancel() }
            let error = await failure { () throws(WherryError) in try await handle.value }
            #expect(error?.code == .cancelled)
        }
        #expect(stub.requests.count == 2)
        stub.advance(by: .seconds(60))
        #expect(stub.requests.count == 2)
    }

    @Test("R29 a client has a budget of a hundred retries while nothing succeeds")
    func budget() async throws {
        stub.respond("*", status: 500)
        try client.setHooks(nil)
        for number in 1...40 {
            let handle = try client.start(Request("a"))
            var states = handle.states.makeAsyncIterator()
            while let element = await states.next(), !element.state.isFinal {
                if element.state == .waiting { stub.advance(by: .seconds(4)) }
            }
            let expected = number <= 33 ? number * 4 : number == 34 ? 134 : 134 + number - 34
            #expect(stub.requests.count == expected)
        }
    }

    @Test("R29 a stream restarts before its first chunk, and never after")
    func streamed() async throws {
        stub.respond("http://h/early", times: 1, status: 503, body: Bytes("no such piece"))
        stub.respond("http://h/early", body: Bytes("piece"))
        try stub.fail("http://h/late", reason: "truncated", afterBytes: 100)
        let hooks = Hooks.retrying { _, _ in .after(.zero) }
        let stream = try await client.stream(Request("early"), hooks: hooks)
        var text = ""
        for try await piece in stream.body { text += piece.text }
        #expect(text == "piece" && stream.head.status == 200)
        let late = try await client.stream(Request("late"), hooks: hooks)
        let error = await failure { () throws(WherryError) in
            for try await _ in late.body {}
        }
        #expect(error?.reason == "truncated")
        #expect(stub.requests.count == 3)
    }

    @Test("R31 a closure decides about a failure: retry at once, later, or never")
    func decided() async throws {
        stub.respond("http://h/a", times: 3, status: 404)
        stub.respond("http://h/a")
        stub.respond("http://h/b", status: 500)
        let seen = Guarded<[String]>([])
        let hooks = Hooks.retrying { error, retries in
            seen.withLock { $0.append("\(error.httpStatus) \(retries)") }
            return retries < 3 ? .after(.zero) : .giveUp
        }
        let found = try await client.send(
            Request("a", method: "POST"), hooks: hooks)
        #expect(found.metrics.retries == 3)
        #expect(seen.withLock { $0 } == ["404 0", "404 1", "404 2"])
        let error = await failure { () throws(WherryError) in
            try await client.send(Request("b"), hooks: hooks)
        }
        #expect(error?.httpStatus == 500 && stub.requests.count == 8)
        let never = await failure { () throws(WherryError) in
            try await client.send(Request("b"), hooks: .retrying { _, _ in .giveUp })
        }
        #expect(never?.httpStatus == 500 && stub.requests.count == 9)
        struct Stop: Error {}
        let refused = await failure { () throws(WherryError) in
            try await client.send(Request("b"), hooks: .retrying { _, _ in throw Stop() })
        }
        #expect(refused?.reason == "refused" && stub.requests.count == 10)
    }

    @Test("R31 a retry calls the request closure like the first attempt")
    func adaptedAgain() async throws {
        stub.respond("*", times: 1, status: 500)
        stub.respond("*")
        var hooks = Hooks.retrying { _, _ in .after(.zero) }
        let count = Guarded(0)
        hooks.adapt = { request in
            var request = request
            request.headers["X-Attempt"] = count.withLock {
                $0 += 1; return "\($0)"
            }
            return request
        }
        _ = try await client.send(Request("a"), hooks: hooks)
        #expect(stub.requests.map { $0.headers["X-Attempt"] } == ["1", "2"])
    }
}

/// With a server that accepts only its newest token.
@Suite struct TokenTests {
    private let scope: TestServer.Scope
    private let client: Client

    init() throws {
        scope = try TestServer.shared.scope()
        client = try makeClient(scope) { $0.bearerToken = "stale" }
    }

    private func newToken() async throws -> String {
        let request = Request("token", method: "POST")
        struct Token: Decodable { let access_token: String }
        return try await client.send(request, hooks: Hooks()).decode(Token.self)
            .access_token
    }

    private func hits(_ path: String) throws -> Int {
        try scope.requests().filter { $0.path.hasSuffix(path) }.count
    }

    @Test("R32 fifty requests get a 401: one token refresh, fifty responses")
    func fifty() async throws {
        let asked = Guarded(0)
        try client.setHooks(
            .refreshingToken { _ in
                asked.withLock { $0 += 1 }
                return try await newToken()
            })
        let client = client
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<50 {
                group.addTask { try await client.get("protected").status }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses == Array(repeating: 200, count: 50))
        #expect(asked.withLock { $0 } == 1)
        #expect(try hits("/token") == 1)
        // Later requests use the token from the start.
        let before = try hits("/protected")
        #expect(try await client.get("protected").status == 200)
        #expect(try hits("/protected") == before + 1)
    }

    @Test("R32 without a new token every 401 is final, without a loop")
    func failed() async throws {
        let asked = Guarded(0)
        try client.setHooks(
            .refreshingToken { _ in
                asked.withLock { $0 += 1 }
                return nil
            })
        let client = client
        let statuses = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<50 {
                group.addTask {
                    let error = await failure { () throws(WherryError) in
                        try await client.get("protected")
                    }
                    return error?.httpStatus ?? 0
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses == Array(repeating: 401, count: 50))
        #expect((1...5).contains(asked.withLock { $0 }))
        #expect(try hits("/protected") == 50)
    }

    @Test("R32 a rejected token is replaced once more, and then the 401 is final")
    func useless() async throws {
        let asked = Guarded(0)
        try client.setHooks(
            .refreshingToken { _ in
                asked.withLock {
                    $0 += 1; return "useless\($0)"
                }
            })
        let error = await failure { () throws(WherryError) in try await client.get("protected") }
        #expect(error?.httpStatus == 401)
        #expect(asked.withLock { $0 } == 2)
        #expect(try hits("/protected") == 3)
    }

    @Test("R32 a request with an Authorization header does not call the closure")
    func own() async throws {
        try client.setHooks(
            .refreshingToken { _ in
                Issue.record("asked")
                return nil
            })
        var request = Request("protected")
        request.bearerToken = "mine"
        let error = await failure { [request] () throws(WherryError) in
            try await client.send(request)
        }
        #expect(error?.httpStatus == 401)
        #expect(try hits("/protected") == 1)
    }

    @Test("R32 after a cancelled refresh the next request refreshes")
    func handedOver() async throws {
        let entered = AsyncStream.makeStream(of: Void.self)
        let first = Guarded(true)
        try client.setHooks(
            .refreshingToken { _ in
                if first.withLock({ first in
                    defer { first = false }; return first
                }) {
                    entered.continuation.yield()
                    for await _ in AsyncStream<Void>.makeStream().stream {}
                }
                return try await newToken()
            })
        let asker = try client.start(Request("protected"))
        for await _ in entered.stream { break }
        let other = try client.start(Request("protected"))
        try await scope.wait("requests=2")
        while other.state != .waiting { await Task.yield() }
        asker.cancel()
        #expect(try await other.value.status == 200)
        let error = await failure { () throws(WherryError) in try await asker.value }
        #expect(error?.code == .cancelled)
    }
}
