// Wherry: the transport without a network
// SPDX-License-Identifier: Apache-2.0

import Testing
import WherrySystem

@testable import WherryTransport

@Suite("R39 a stub transport replaces the network") struct StubTransportTests {
    private func withStub(_ body: (StubTransport) throws -> Void) throws {
        let stub = StubTransport()
        defer { stub.close() }
        try body(stub)
    }

    /// Waits until the stub has done everything possible without moving the clock.
    private func settle(_ stub: StubTransport) { stub.advance(milliseconds: 0) }

    @Test func `a response arrives in the order of the contract`() throws {
        try withStub { stub in
            stub.addResponse(
                url: "http://api.test/items", status: 201, head: "X-A: 1\r\nx-b: 2",
                body: Bytes("hello"))
            let call = try Call("GET", "http://api.test/items").start(on: stub)

            let result = try call.result()
            #expect(result.error == nil)
            #expect(result.head?.status == 201)
            #expect(result.head?.fields.map { $0.name } == ["X-A", "x-b", "Content-Length"])
            #expect(result.head?["X-B"] == "2")
            #expect(result.head?.contentLength == 5)
            #expect(result.body.text == "hello")
            #expect(call.exchange.received == 5)
            #expect(call.exchange.expectedOnWire == 5)
            call.receiver.heard.withLock { #expect($0.order == ["start", "head", "finish"]) }
        }
    }

    @Test func `rules match by method, URL, prefix, age, and count`() throws {
        try withStub { stub in
            stub.addResponse(method: "POST", url: "http://a.test/x", body: Bytes("post"))
            stub.addResponse(url: "http://a.test/x", times: 2, body: Bytes("twice"))
            stub.addResponse(url: "http://a.test/*", body: Bytes("prefix"))
            stub.addResponse(url: "http://B.test", body: Bytes("root"))
            func ask(_ method: String, _ url: String) throws -> String {
                let result = try Call(method, url).start(on: stub).result()
                return result.error?.kind.rawValue ?? result.body.text
            }

            let answers = try [
                ask("GET", "http://a.test/x"), ask("POST", "http://a.test/x"),
                ask("DELETE", "http://a.test/x"), ask("GET", "http://a.test/x"),
                ask("GET", "http://a.test/x?y=1"), ask("GET", "http://a.test/"),
                ask("GET", "http://b.test/"), ask("GET", "http://c.test/"),
            ]

            #expect(
                answers == [
                    "twice", "post", "twice", "prefix", "prefix", "prefix", "root", "connect",
                ])
            #expect(stub.requestCount == 8)
            #expect(stub.requests.map { $0.method }.prefix(3) == ["GET", "POST", "DELETE"])
            #expect(stub.request(at: 8) == nil)
        }
    }

    @Test(arguments: [Int64(0), 7])
    func `a failure arrives at once or after a number of bytes`(after: Int64) throws {
        try withStub { stub in
            stub.addFailure(url: "*", kind: .truncated, afterBytes: after)
            let call = try Call("GET", "http://a.test/").start(on: stub)

            let result = try call.result()
            #expect(result.error?.kind == .truncated)
            #expect(result.head?.status == (after > 0 ? 200 : nil))
            #expect(result.head?.contentLength == (after > 0 ? after + 1 : nil))
            #expect(result.body.text == String(repeating: "x", count: Int(after)))
        }
    }

    @Test func `it records the requests it receives`() throws {
        try withStub { stub in
            stub.addResponse(url: "*")
            _ = try Call(
                "POST", "http://a.test:81/p?q=1",
                headers: [("X-Empty", ""), ("Accept", nil), ("X-A", "b: c")],
                body: .bytes(Bytes("body"))
            ).start(on: stub).result()
            let streamed = StreamedBody()
            let call = try Call("PUT", "http://a.test/s", body: .source(streamed)).start(on: stub)
            _ = try [1, 2, 3].withUnsafeBytes { bytes throws(TransportError) in
                try streamed.write(UnsafeRawBufferPointer(rebasing: bytes.prefix(3)))
            }
            streamed.finish()
            _ = try call.result()

            let first = try #require(stub.request(at: 0))
            #expect(first.method == "POST")
            #expect(first.url == "http://a.test:81/p?q=1")
            let lines = first.fields.map { "\($0.name): \($0.value)" }
            #expect(
                lines.filter { !$0.hasPrefix("Accept-Encoding") && !$0.hasPrefix("User-Agent") }
                    == ["Host: a.test:81", "X-Empty: ", "X-A: b: c", "Content-Length: 4"])
            #expect(first.body.text == "body")
            #expect(first.bodyLength == 4)
            let second = try #require(stub.request(at: 1))
            #expect(second.fields.contains { $0 == ("Transfer-Encoding", "chunked") })
            #expect(!second.fields.contains { $0.name == "Content-Length" })
            #expect(second.bodyLength == 3)
        }
    }

    @Test func `HEAD, 204, and 304 have no body, whatever the rule says`() throws {
        try withStub { stub in
            stub.addResponse(method: "HEAD", url: "*", body: Bytes("abc"))
            stub.addResponse(url: "http://a.test/204", status: 204, body: Bytes("abc"))
            stub.addResponse(url: "http://a.test/304", status: 304, body: Bytes("abc"))
            let head = try Call("HEAD", "http://a.test/").start(on: stub).result()
            #expect(head.head?.contentLength == 3)
            #expect(head.body.isEmpty)
            for status in [204, 304] {
                let result = try Call("GET", "http://a.test/\(status)").start(on: stub).result()
                #expect(result.error == nil)
                #expect(result.head?.status == status)
                #expect(result.head?.contentLength == nil)
                #expect(result.body.isEmpty)
            }
        }
    }

    @Test func `delays follow the clock, and each step sees its exact time`() throws {
        try withStub { stub in
            stub.addResponse(url: "http://a.test/", body: Bytes("late"))
            #expect(stub.setDelay(milliseconds: 1500))
            settle(stub)
            let call = try Call("GET", "http://a.test/").start(on: stub)
            let start = stub.clock.now()
            let seen = Lock<[Int64]>([])
            func note() {
                seen.withLock { $0.append(stub.clock.now().since(start) / 1_000_000) }
            }
            // A timer that starts another one: the second is due within the same advance.
            stub.schedule(at: start.advanced(by: .milliseconds(400))) {
                seen.withLock { $0.append(stub.clock.now().since(start) / 1_000_000) }
                stub.schedule(at: stub.clock.now().advanced(by: .milliseconds(300))) {
                    seen.withLock { $0.append(stub.clock.now().since(start) / 1_000_000) }
                }
            }

            stub.advance(milliseconds: 1499)
            #expect(!call.receiver.isFinished)
            #expect(seen.withLock { $0 } == [400, 700])
            stub.advance(milliseconds: 1)
            #expect(call.receiver.isFinished)
            #expect(try call.result().body.text == "late")
            #expect(try call.result().metrics.total == 1_500_000)
        }
        #expect(!StubTransport().setDelay(milliseconds: 1))
    }

    @Test func `a delay passes in real time while the clock was not moved`() throws {
        try withStub { stub in
            stub.addResponse(url: "*")
            stub.setDelay(milliseconds: 20)
            let result = try Call("GET", "http://a.test/").start(on: stub).result()
            #expect(result.error == nil)
        }
    }

    @Test(arguments: [
        TransportError.Kind.idleTimeout, .firstByteTimeout, .totalTimeout,
    ])
    func `a silent server meets the timeouts exactly`(kind: TransportError.Kind) throws {
        try withStub { stub in
            stub.addResponse(url: "*")
            stub.setDelay(milliseconds: 60_000)
            settle(stub)
            let call = try Call("GET", "http://a.test/") { request in
                switch kind {
                case .idleTimeout: request.timeouts.idle = .milliseconds(20_000)
                case .firstByteTimeout: request.timeouts.firstByte = .milliseconds(20_000)
                default: request.deadline = stub.clock.now().advanced(by: .milliseconds(20_000))
                }
            }.start(on: stub)

            stub.advance(milliseconds: 19_999)
            #expect(!call.receiver.isFinished)
            stub.advance(milliseconds: 1)
            #expect(call.receiver.isFinished)
            #expect(try call.result().error?.kind == kind)
        }
    }

    @Test func `the clock may be moved to its maximum, and still reports times`() throws {
        try withStub { stub in
            stub.addResponse(url: "*")
            stub.setDelay(milliseconds: 60_000)
            let call = try Call("GET", "http://a.test/").start(on: stub)
            settle(stub)
            stub.advance(milliseconds: .max)
            #expect(try call.result().error == nil)
            // A request without a timeout is not late at the maximum time either.
            stub.advance(milliseconds: .max)
            stub.addResponse(url: "http://b.test/")
            let late = try Call("GET", "http://b.test/")
            let held = try Call("GET", "http://a.test/")
            for each in [held, late] { each.start(on: stub) }
            settle(stub)
            #expect(!held.receiver.isFinished)
        }
    }

    @Test func `during a pause nothing moves and silence is not counted`() throws {
        try withStub { stub in
            stub.addResponse(url: "*", body: Bytes("x"))
            stub.setDelay(milliseconds: 5_000)
            settle(stub)
            let call = try Call("GET", "http://a.test/") {
                $0.timeouts.idle = .milliseconds(10_000)
            }.start(on: stub)
            stub.advance(milliseconds: 1_000)
            stub.setPaused(call.exchange, true)
            stub.advance(milliseconds: 100_000)
            #expect(!call.receiver.isFinished)

            stub.setPaused(call.exchange, false)
            settle(stub)
            #expect(try call.result().body.text == "x")
        }
    }

    @Test func `chunks are cut at multiples and held back by the receiver`() throws {
        try withStub { stub in
            let size = 5 * Exchange.pieceSize
            let body = Bytes((0..<size).map { UInt8(truncatingIfNeeded: $0 / 1000) })
            stub.addResponse(url: "*", body: body)
            let receiver = RecordingReceiver(
                .deliver(offset: 1000, eager: false), consumesAtOnce: false)
            let call = try Call("GET", "http://a.test/", receiver: receiver) {
                $0.timeouts.idle = .milliseconds(1_000)
            }.start(on: stub)
            settle(stub)
            let counts = { receiver.heard.withLock { $0.pieces.map { $0.count } } }
            #expect(
                counts() == [Exchange.pieceSize - 1000, Exchange.pieceSize, Exchange.pieceSize])
            // Held by the test: that is not a silent server.
            stub.advance(milliseconds: 10_000)
            #expect(!receiver.isFinished)

            call.exchange.consumed()
            settle(stub)
            #expect(counts().count == 4)
            for _ in 0..<5 {
                call.exchange.consumed()
                settle(stub)
            }
            #expect(try call.result().error == nil)
            #expect(receiver.delivered == body.array)
            #expect(counts().count == 6)
        }
    }

    @Test func `buffered bodies have a limit, discarded ones are dropped, an abort is the error`()
        throws
    {
        try withStub { stub in
            stub.addResponse(url: "*", body: Bytes("12345"))
            func ask(_ disposition: BodyDisposition) throws -> ExchangeResult {
                try Call("GET", "http://a.test/", receiver: RecordingReceiver(disposition))
                    .start(on: stub).result()
            }
            #expect(try ask(.collect(limit: 5)).body.text == "12345")
            #expect(try ask(.collect(limit: 4)).error?.kind == .tooLarge)
            let discarded = try ask(.discard)
            #expect(discarded.error == nil)
            #expect(discarded.body.isEmpty)
            let aborted = try ask(.abort(TransportError(.refused, "no")))
            #expect(aborted.error?.kind == .refused)
            #expect(aborted.head?.status == 200)
        }
    }

    @Test func `a cancel ends running and waiting requests, once`() throws {
        try withStub { stub in
            stub.addResponse(url: "*")
            stub.setDelay(milliseconds: 60_000)
            stub.setConnectionLimits(perHost: 1, total: 1)
            settle(stub)
            let calls = try (0..<3).map { _ in
                try Call("GET", "http://a.test/").start(on: stub)
            }
            settle(stub)
            #expect(calls.map { $0.receiver.heard.withLock { $0.starts } } == [1, 0, 0])
            stub.cancel(calls[1].exchange)
            stub.cancel(calls[0].exchange)
            stub.cancel(calls[0].exchange)
            settle(stub)
            #expect(try calls[0].result().error?.kind == .cancelled)
            #expect(try calls[1].result().error?.kind == .cancelled)
            #expect(calls.map { $0.receiver.heard.withLock { $0.starts } } == [1, 0, 1])
            stub.advance(milliseconds: 60_000)
            #expect(try calls[2].result().error == nil)
            stub.cancel(calls[2].exchange)
            settle(stub)
            #expect(calls.allSatisfy { $0.receiver.heard.withLock { $0.results.count } == 1 })
        }
    }

    @Test func `closing notifies all receivers and ends the thread`() throws {
        let stub = StubTransport()
        stub.addResponse(url: "*")
        stub.setDelay(milliseconds: 60_000)
        let calls = try (0..<10).map { _ in try Call("GET", "http://a.test/").start(on: stub) }
        stub.close()

        #expect(calls.allSatisfy { $0.receiver.isFinished })
        for call in calls { #expect(try call.result().error?.kind == .cancelled) }
        let late = try Call("GET", "http://a.test/").start(on: stub)
        #expect(try late.result().error?.kind == .shutDown)
        stub.close()
        stub.advance(milliseconds: 1)
    }

    @Test func `clients of one stub share rules, records, and clock, and are closed separately`()
        throws
    {
        try withStub { stub in
            stub.addResponse(url: "*", times: 3)
            stub.setDelay(milliseconds: 100)
            let one = StubTransport(sharing: stub)
            let two = StubTransport(sharing: stub)
            defer { two.close() }
            stub.advance(milliseconds: 0)
            let first = try Call("GET", "http://a.test/1").start(on: one)
            let second = try Call("GET", "http://a.test/2").start(on: two)
            stub.advance(milliseconds: 0)
            one.close()
            #expect(try first.result().error?.kind == .cancelled)
            #expect(!second.receiver.isFinished)
            stub.advance(milliseconds: 100)
            #expect(second.receiver.isFinished)
            #expect(stub.requestCount == 2)
            #expect(one.clock === two.clock)
        }
    }

    @Test func `a failing body source fails the exchange`() throws {
        try withStub { stub in
            stub.addResponse(url: "*")
            let body = StreamedBody(length: 10)
            let call = try Call("PUT", "http://a.test/", body: .source(body)).start(on: stub)
            body.finish()
            #expect(try call.result().error?.kind == .truncated)
        }
    }
}
