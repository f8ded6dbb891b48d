// Wherry: bodies that wait for a decision
// SPDX-License-Identifier: Apache-2.0

import TestServer
import Testing
import WherrySystem

@testable import WherryTransport

@Suite struct WaitingBodyTests {
    /// Runs the body until the headers have arrived and a round trip longer, and returns the
    /// reports so far.
    private func withWaiting(
        _ query: String, method: String = "GET",
        _ body: (Call, TestServer.Scope) throws -> Void
    ) throws {
        let scope = try TestServer.shared.scope()
        try withTransport { transport in
            let receiver = RecordingReceiver(.wait)
            let call = try Call(method, scope.url(query), receiver: receiver)
                .start(on: transport)
            #expect(receiver.wait { !$0.heads.isEmpty })
            for _ in 0..<3 {
                _ = try Call("GET", scope.url("/empty")).start(on: transport).result()
            }
            #expect(receiver.heard.withLock { $0.order } == ["start", "head"])
            try body(call, scope)
        }
    }

    @Test(arguments: ["", "?chunked=1&chunk=5000", "?gzip=1", "?hold=0&gate=go"])
    func `a body is buffered whenever that is decided`(query: String) throws {
        try withWaiting("/bytes/600000\(query)") { call, scope in
            call.exchange.decide(.collect(limit: 1 << 20))
            // Only the first decision counts.
            call.exchange.decide(.discard)
            if query.contains("gate") { try scope.open(gate: "go") }
            let result = try call.result()
            #expect(result.error == nil && result.isComplete)
            #expect(result.body.array == TestPattern.bytes(seed: 1, count: 600_000))
        }
    }

    @Test func `a body is delivered once that is decided`() throws {
        try withWaiting("/bytes/3000000") { call, _ in
            call.exchange.decide(.deliver(offset: 0, eager: false))
            let error = try call.result().error
            #expect(error == nil)
            #expect(call.receiver.delivered == TestPattern.bytes(seed: 1, count: 3_000_000))
        }
    }

    @Test(arguments: [("/status/204", "GET"), ("/bytes/1000", "HEAD"), ("/bytes/0", "GET")])
    func `a response without a body waits for the decision`(url: String, method: String) throws {
        try withWaiting(url, method: method) { call, _ in
            call.exchange.decide(.collect(limit: 10))
            let result = try call.result()
            #expect(result.error == nil && result.body.isEmpty)
        }
    }

    @Test func `limits, aborts, and cancels apply to it`() throws {
        try withWaiting("/bytes/1000") { call, _ in
            call.exchange.decide(.collect(limit: 999))
            let error = try call.result().error
            #expect(error?.kind == .tooLarge)
        }
        try withWaiting("/bytes/1000") { call, _ in
            call.exchange.decide(.abort(TransportError(.badProtocol, "no")))
            let error = try call.result().error
            #expect(error?.kind == .badProtocol)
        }
    }

    @Test func `while it waits only the total timeout applies`() throws {
        let clock = ManualClock()
        let scope = try TestServer.shared.scope()
        try withTransport(clock: clock) { transport in
            let receiver = RecordingReceiver(.wait)
            let call = try Call("GET", scope.url("/bytes/1000"), receiver: receiver) {
                $0.timeouts.idle = .milliseconds(1_000)
                $0.deadline = clock.now().advanced(by: .milliseconds(60_000))
            }.start(on: transport)
            #expect(receiver.wait { !$0.heads.isEmpty })
            clock.advance(by: .milliseconds(50_000))
            _ = try Call("GET", scope.url("/empty")).start(on: transport).result()
            #expect(!receiver.isFinished)
            clock.advance(by: .milliseconds(20_000))
            #expect(try call.result().error?.kind == .totalTimeout)
        }
    }

    @Test func `a pause and a cancel work on a waiting body`() throws {
        let scope = try TestServer.shared.scope()
        try withTransport { transport in
            for cancels in [false, true] {
                let receiver = RecordingReceiver(.wait)
                let call = try Call("GET", scope.url("/bytes/600000"), receiver: receiver)
                    .start(on: transport)
                #expect(receiver.wait { !$0.heads.isEmpty })
                transport.setPaused(call.exchange, true)
                call.exchange.decide(.collect(limit: 1 << 20))
                _ = try Call("GET", scope.url("/empty")).start(on: transport).result()
                #expect(!receiver.isFinished)
                if cancels {
                    transport.cancel(call.exchange)
                    #expect(try call.result().error?.kind == .cancelled)
                } else {
                    transport.setPaused(call.exchange, false)
                    #expect(try call.result().body.count == 600_000)
                }
            }
        }
    }

    @Test func `a stub supports waiting bodies too`() throws {
        let stub = StubTransport()
        defer { stub.close() }
        stub.advance(milliseconds: 0)
        stub.addResponse(url: "*", body: Bytes("whole"))
        for disposition in [BodyDisposition.collect(limit: 5), .collect(limit: 4)] {
            let receiver = RecordingReceiver(.wait)
            let call = try Call("GET", "http://h.invalid/", receiver: receiver) {
                $0.timeouts.idle = .milliseconds(1_000)
            }.start(on: stub)
            #expect(receiver.wait { !$0.heads.isEmpty })
            stub.advance(milliseconds: 50_000)
            #expect(!receiver.isFinished)
            call.exchange.decide(disposition)
            let result = try call.result()
            if case .collect(limit: 5) = disposition {
                #expect(result.body.text == "whole" && result.error == nil)
            } else {
                #expect(result.error?.kind == .tooLarge)
            }
        }
    }
}
