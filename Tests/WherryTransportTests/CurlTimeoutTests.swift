// Wherry: the timeouts of the libcurl transport, with a clock moved by the test
// SPDX-License-Identifier: Apache-2.0

import TestServer
import Testing
import WherrySystem

@testable import WherryTransport

@Suite struct CurlTimeoutTests {
    private let clock = ManualClock()

    /// Moves the clock and returns when the loop has done everything due.
    private func advance(_ transport: CurlTransport, milliseconds: Int64) throws {
        clock.advance(by: .milliseconds(milliseconds))
        try settle(transport)
    }

    /// Returns when the loop has done all current work.
    private func settle(_ transport: CurlTransport) throws {
        let done = Monitor(false)
        transport.schedule(at: clock.now()) { done.update { $0 = true } }
        try #require(done.wait(timeout: .milliseconds(600_000)) { $0 ? true : nil } == true)
    }

    @Test(arguments: [
        TransportError.Kind.idleTimeout, .firstByteTimeout, .totalTimeout,
    ])
    func `silence before the response times out on time`(kind: TransportError.Kind) throws {
        let scope = try TestServer.shared.scope()
        try withTransport(clock: clock) { transport in
            let call = try Call("GET", scope.url("/silent")) { request in
                switch kind {
                case .idleTimeout: request.timeouts.idle = .milliseconds(20_000)
                case .firstByteTimeout: request.timeouts.firstByte = .milliseconds(20_000)
                default: request.deadline = clock.now().advanced(by: .milliseconds(20_000))
                }
            }.start(on: transport)
            _ = try scope.waitBlocking("requests=1")
            try settle(transport)

            try advance(transport, milliseconds: 19_999)
            #expect(!call.receiver.isFinished)
            try advance(transport, milliseconds: 1)
            #expect(try call.result().error?.kind == kind)
            #expect(try call.result().error?.message.contains("20 s") == (kind != .totalTimeout))
        }
    }

    // The default of 30 s for the first byte is longer than that of 20 s for silence.
    @Test(arguments: [(idle: 20, firstByte: 30), (30, 20), (20, 20), (0, 30)])
    func `of two timeouts for the response the shorter one applies`(
        limits: (idle: Int64, firstByte: Int64)
    ) throws {
        let scope = try TestServer.shared.scope()
        try withTransport(clock: clock) { transport in
            let call = try Call("GET", scope.url("/silent")) { request in
                request.timeouts.idle = .milliseconds(limits.idle * 1_000)
                request.timeouts.firstByte = .milliseconds(limits.firstByte * 1_000)
            }.start(on: transport)
            _ = try scope.waitBlocking("requests=1")
            try settle(transport)
            let isIdle = limits.idle > 0 && limits.idle <= limits.firstByte
            let limit = isIdle ? limits.idle : limits.firstByte

            try advance(transport, milliseconds: limit * 1_000 - 1)
            #expect(!call.receiver.isFinished)
            try advance(transport, milliseconds: 1)
            let error = try #require(try call.result().error)
            #expect(error.kind == (isIdle ? .idleTimeout : .firstByteTimeout))
            #expect(error.message.contains("\(limit) s"))
            #expect(error.message.contains("idle timeout") == isIdle)
        }
    }

    @Test func `with the low-speed rule for the body, the first byte has its own timeout`()
        throws
    {
        let scope = try TestServer.shared.scope()
        try withTransport(clock: clock) { transport in
            let call = try Call("GET", scope.url("/silent")) { request in
                request.timeouts.idle = .milliseconds(20_000)
                request.timeouts.firstByte = .milliseconds(30_000)
                request.timeouts.stallWindow = .milliseconds(10_000)
                request.timeouts.stallBytesPerSecond = 1_000
            }.start(on: transport)
            _ = try scope.waitBlocking("requests=1")
            try settle(transport)
            try advance(transport, milliseconds: 29_999)
            #expect(!call.receiver.isFinished)
            try advance(transport, milliseconds: 1)
            #expect(try call.result().error?.kind == .firstByteTimeout)
        }
    }

    @Test func `data restarts the idle timeout`() throws {
        let scope = try TestServer.shared.scope()
        try withTransport(clock: clock) { transport in
            let receiver = RecordingReceiver(.deliver(offset: 0, eager: true))
            let call = try Call(
                "GET", scope.url("/bytes/300?hold=100&gate=g&stall=200&seconds=600"),
                receiver: receiver
            ) {
                $0.timeouts.idle = .milliseconds(20_000)
                $0.timeouts.firstByte = .milliseconds(1_000)
            }.start(on: transport)
            #expect(receiver.wait { $0.pieceBytes == 100 })

            try advance(transport, milliseconds: 15_000)
            try scope.open(gate: "g")
            #expect(receiver.wait { $0.pieceBytes == 200 })
            try advance(transport, milliseconds: 19_999)
            #expect(!receiver.isFinished)
            try advance(transport, milliseconds: 1)
            #expect(try call.result().error?.kind == .idleTimeout)
        }
    }

    @Test func `the total timeout includes the wait for a connection`() throws {
        let scope = try TestServer.shared.scope()
        var configuration = TransportConfiguration()
        configuration.maxPerHost = 1
        try withTransport(configuration, clock: clock) { transport in
            let first = try Call("GET", scope.url("/bytes/1?gate=g")).start(on: transport)
            let second = try Call("GET", scope.url("/bytes/2")) {
                $0.deadline = clock.now().advanced(by: .milliseconds(5_000))
            }.start(on: transport)
            _ = try scope.waitBlocking("requests=1")
            try advance(transport, milliseconds: 4_999)
            #expect(!second.receiver.isFinished)
            try advance(transport, milliseconds: 1)
            #expect(try second.result().error?.kind == .totalTimeout)
            #expect(second.receiver.heard.withLock { $0.starts } == 0)

            try scope.open(gate: "g")
            #expect(try first.result().error == nil)
            #expect(try scope.requests().count == 1)
        }
    }

    @Test func `a stream held by its receiver is not silent, a later silence is`() throws {
        let scope = try TestServer.shared.scope()
        try withTransport(clock: clock) { transport in
            let size = 10_000_000
            let receiver = RecordingReceiver(
                .deliver(offset: 0, eager: false), consumesAtOnce: false)
            let call = try Call(
                "GET", scope.url("/bytes/\(size)?stall=9961472&seconds=600"), receiver: receiver
            ) {
                $0.timeouts.idle = .milliseconds(20_000)
                $0.timeouts.stallWindow = .milliseconds(10_000)
                $0.timeouts.stallBytesPerSecond = 1_000
            }.start(on: transport)
            #expect(receiver.wait { $0.pieces.count == Exchange.window })
            try waitUntilHeld(call.exchange, transport)
            try advance(transport, milliseconds: 1_000_000)
            #expect(!receiver.isFinished)

            // 38 complete chunks arrive before the server falls silent.
            var consumed = 0
            while consumed < 38 {
                #expect(receiver.wait { $0.pieces.count > consumed })
                call.exchange.consumed()
                consumed += 1
            }
            try settle(transport)
            #expect(!receiver.isFinished)
            try advance(transport, milliseconds: 9_999)
            #expect(!receiver.isFinished)
            try advance(transport, milliseconds: 20_000)
            let kind = try call.result().error?.kind
            #expect(kind == .stalled || kind == .idleTimeout)
        }
    }

    /// Waits until the loop has stopped reading until a chunk is consumed.
    private func waitUntilHeld(_ exchange: Exchange, _ transport: CurlTransport) throws {
        let limit = ContinuousClock.now + .seconds(600)
        while ContinuousClock.now < limit {
            let held = Monitor<Bool?>(nil)
            transport.schedule(at: clock.now()) {
                let holds = exchange.state.holdsReceiving
                held.update { $0 = holds }
            }
            if held.wait(timeout: .milliseconds(600_000), until: { $0 }) == true { return }
        }
        Issue.record("the stream was never held")
    }

    @Test func `too few bytes in a window are a stall, enough are not`() throws {
        let scope = try TestServer.shared.scope()
        try withTransport(clock: clock) { transport in
            let receiver = RecordingReceiver(.deliver(offset: 0, eager: true))
            let call = try Call(
                "GET", scope.url("/bytes/1000000?hold=10000&gate=g&stall=19999&seconds=600"),
                receiver: receiver
            ) {
                $0.timeouts.stallWindow = .milliseconds(10_000)
                $0.timeouts.stallBytesPerSecond = 1_000
            }.start(on: transport)
            #expect(receiver.wait { $0.pieceBytes == 10_000 })
            try advance(transport, milliseconds: 10_000)
            #expect(!receiver.isFinished)

            try scope.open(gate: "g")
            #expect(receiver.wait { $0.pieceBytes == 19_999 })
            try advance(transport, milliseconds: 9_999)
            #expect(!receiver.isFinished)
            try advance(transport, milliseconds: 1)
            #expect(try call.result().error?.kind == .stalled)
        }
    }

    @Test func `timeouts stop in a pause and restart after it`() throws {
        let scope = try TestServer.shared.scope()
        try withTransport(clock: clock) { transport in
            let call = try Call("GET", scope.url("/silent")) {
                $0.timeouts.idle = .milliseconds(20_000)
                $0.timeouts.firstByte = .milliseconds(20_000)
            }.start(on: transport)
            _ = try scope.waitBlocking("requests=1")
            try advance(transport, milliseconds: 15_000)
            transport.setPaused(call.exchange, true)
            try settle(transport)
            try advance(transport, milliseconds: 100_000)
            #expect(call.receiver.heard.withLock { $0.results.first?.error?.message } == nil)
            transport.setPaused(call.exchange, false)
            try settle(transport)
            try advance(transport, milliseconds: 19_999)
            #expect(!call.receiver.isFinished)
            try advance(transport, milliseconds: 1)
            #expect(call.receiver.isFinished)
        }
    }

    @Test func `a total timeout includes pauses`() throws {
        let scope = try TestServer.shared.scope()
        try withTransport(clock: clock) { transport in
            let call = try Call("GET", scope.url("/silent")) {
                $0.deadline = clock.now().advanced(by: .milliseconds(1_000))
            }.start(on: transport)
            transport.setPaused(call.exchange, true)
            try settle(transport)
            try advance(transport, milliseconds: 1_000)
            let error = try call.result().error
            #expect(error?.kind == .totalTimeout, "\(String(describing: error))")
        }
    }

    @Test func `a slow writer is not a silent server`() throws {
        let scope = try TestServer.shared.scope()
        try withTransport(clock: clock) { transport in
            let body = StreamedBody()
            let asked = Monitor(0)
            body.onRoom { _, _ in asked.update { $0 += 1 } }
            let call = try Call(
                "PUT", scope.url("/sink"), headers: [("Expect", nil)], body: .source(body)
            ) {
                $0.timeouts.idle = .milliseconds(20_000)
                $0.timeouts.firstByte = .milliseconds(20_000)
            }.start(on: transport)
            _ = asked.wait { $0 > 0 ? true : nil }
            _ = try scope.waitBlocking("requests=1")
            try settle(transport)
            try advance(transport, milliseconds: 1_000_000)
            #expect(!call.receiver.isFinished)
            body.finish()
            #expect(try call.result().error == nil)
        }
    }

    @Test func `scheduled bodies run at their time, and overdue ones soon`() throws {
        try withTransport(clock: clock) { transport in
            let ran = Monitor<[Int]>([])
            let start = clock.now()
            for index in [3, 1, 2] {
                transport.schedule(at: start.advanced(by: .milliseconds(Int64(index) * 1_000))) {
                    ran.update { $0.append(index) }
                }
            }
            try settle(transport)
            #expect(ran.withLock { $0 } == [])
            try advance(transport, milliseconds: 1_000)
            #expect(ran.withLock { $0 } == [1])
            try advance(transport, milliseconds: 10_000)
            #expect(Set(ran.withLock { $0 }) == [1, 2, 3])
            transport.schedule(at: start) { ran.update { $0.append(4) } }
            #expect(
                ran.wait(timeout: .milliseconds(600_000)) { $0.contains(4) ? true : nil } == true)
        }
    }
}
