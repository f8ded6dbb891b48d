// Wherry: flow control, pauses, cancels, and connections of the libcurl transport
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import WherrySystem

@testable import WherryTransport

/// Returns chunks from a separate thread, and records the maximum outstanding.
private final class SlowReceiver: ExchangeReceiver {
    struct State {
        var outstanding = 0
        var peak = 0
        var bytes: [UInt8] = []
        var sizes: [Int] = []
        var pending = 0
        var result: ExchangeResult?
    }
    let state = Monitor(State())
    private let eager: Bool
    private let offset: Int64

    init(eager: Bool, offset: Int64 = 0) {
        self.eager = eager
        self.offset = offset
    }

    func exchangeDidStart(_ exchange: Exchange) {}
    func exchange(_ exchange: Exchange, didReceive head: ResponseHead) -> BodyDisposition {
        .deliver(offset: offset, eager: eager)
    }
    func exchange(_ exchange: Exchange, didReceive piece: Bytes) {
        state.update { state in
            state.outstanding += 1
            state.pending += 1
            state.peak = max(state.peak, state.outstanding)
            state.bytes += piece.array
            state.sizes.append(piece.count)
        }
    }
    func exchangeDidProgress(_ exchange: Exchange) {}
    func exchange(_ exchange: Exchange, didFinish result: ExchangeResult) {
        state.update { $0.result = result }
    }

    /// Consumes chunk after chunk until the end.
    func consumeAll(_ exchange: Exchange) throws -> ExchangeResult {
        while true {
            let step = state.wait(timeout: .milliseconds(600_000)) { state -> ExchangeResult?? in
                if state.pending > 0 {
                    state.pending -= 1
                    state.outstanding -= 1
                    return .some(nil)
                }
                return state.result.map { .some($0) }
            }
            guard let step else { throw RecordingReceiver.NeverEnded() }
            if let result = step { return result }
            exchange.consumed()
        }
    }
}

@Suite struct CurlFlowTests {
    @Test(arguments: [false, true], ["", "?chunked=1&chunk=5000", "?gzip=1"])
    func `a slow receiver stalls the stream and loses nothing`(eager: Bool, query: String) throws {
        let scope = try TestServer.shared.scope()
        let size = 6_000_000
        try withTransport { transport in
            let receiver = SlowReceiver(eager: eager)
            let exchange = Exchange(
                ExchangeRequest(
                    method: "GET", url: try HTTPURL(scope.url("/bytes/\(size)\(query)"))),
                receiver: receiver)
            transport.start(exchange, wake: .now)
            let result = try receiver.consumeAll(exchange)

            #expect(result.error == nil)
            let state = receiver.state.withLock { $0 }
            #expect(state.bytes == TestPattern.bytes(count: size))
            // One read from the socket may exceed the window by one chunk.
            #expect(state.peak <= Exchange.window + 1)
            #expect(state.sizes.allSatisfy { $0 <= Exchange.pieceSize })
            if !eager {
                #expect(state.sizes.dropLast().allSatisfy { $0 == Exchange.pieceSize })
            }
        }
    }

    @Test(arguments: [Int64(0), 1, 262_143, 262_144, 1_000_000])
    func `later chunks start at multiples of their size in the file`(offset: Int64) throws {
        let scope = try TestServer.shared.scope()
        try withTransport { transport in
            let receiver = SlowReceiver(eager: false, offset: offset)
            let exchange = Exchange(
                ExchangeRequest(method: "GET", url: try HTTPURL(scope.url("/bytes/1000000"))),
                receiver: receiver)
            transport.start(exchange, wake: .now)
            _ = try receiver.consumeAll(exchange)

            var position = offset
            for size in receiver.state.withLock({ $0.sizes }).dropLast() {
                position += Int64(size)
                #expect(position % Int64(Exchange.pieceSize) == 0)
            }
            #expect(receiver.state.withLock { $0.bytes.count } == 1_000_000)
        }
    }

    @Test func `an eager chunk does not wait for more`() throws {
        let scope = try TestServer.shared.scope()
        try withTransport { transport in
            let receiver = RecordingReceiver(.deliver(offset: 0, eager: true))
            let call = try Call("GET", scope.url("/bytes/500?hold=7&gate=g"), receiver: receiver)
                .start(on: transport)
            #expect(receiver.wait { $0.pieceBytes == 7 })
            try scope.open(gate: "g")
            #expect(try call.result().error == nil)
            #expect(receiver.delivered == TestPattern.bytes(count: 500))
        }
    }

    @Test func `progress is reported at most ten times a second, in both directions`() throws {
        let scope = try TestServer.shared.scope()
        let clock = ManualClock()
        try withTransport(clock: clock) { transport in
            let down = try Call("GET", scope.url("/bytes/5000000")) { $0.wantsProgress = true }
                .start(on: transport)
            #expect(try down.result().error == nil)
            // The clock stands still.
            down.receiver.heard.withLock { heard in
                #expect(heard.progress.count == 1)
                #expect(heard.progress[0].received > 0)
            }
            let bytes = Bytes(repeatElement(UInt8(0), count: 5_000_000))
            let up = try Call(
                "PUT", scope.url("/sink"), headers: [("Expect", nil)], body: .bytes(bytes)
            ) {
                $0.wantsProgress = true
            }.start(on: transport)
            #expect(try up.result().error == nil)
            up.receiver.heard.withLock { heard in
                #expect(heard.progress.count == 1)
                #expect(heard.progress[0].sent > 0)
            }
            #expect(up.exchange.sent == 5_000_000)
        }
    }

    // MARK: Pauses

    @Test func `a pause stops the stream, and the following bytes are complete`() throws {
        let scope = try TestServer.shared.scope()
        let size = 3_000_000
        try withTransport { transport in
            for pauses in 1...3 {
                let receiver = RecordingReceiver(.deliver(offset: 0, eager: true))
                let call = try Call("GET", scope.url("/bytes/\(size)"), receiver: receiver)
                for _ in 0..<pauses {
                    transport.setPaused(call.exchange, true)
                    if pauses == 1 { call.start(on: transport) }
                }
                if pauses > 1 { call.start(on: transport) }
                let paused = Monitor<Bool?>(nil)
                transport.schedule(at: transport.clock.now()) {
                    let isPaused = call.exchange.state.isPaused
                    paused.update { $0 = isPaused }
                }
                #expect(paused.wait(timeout: .milliseconds(600_000), until: { $0 }) == true)
                #expect(!receiver.isFinished)
                transport.setPaused(call.exchange, false)
                #expect(try call.result().error == nil)
                #expect(receiver.delivered == TestPattern.bytes(count: size))
            }
        }
    }

    @Test func `repeated pauses do not change the body`() throws {
        let scope = try TestServer.shared.scope()
        let size = 4_000_000
        try withTransport { transport in
            let receiver = RecordingReceiver(.deliver(offset: 0, eager: true))
            let call = try Call("GET", scope.url("/bytes/\(size)"), receiver: receiver)
                .start(on: transport)
            var seen = 0
            while !receiver.isFinished {
                transport.setPaused(call.exchange, true)
                transport.setPaused(call.exchange, false)
                let before = seen
                #expect(receiver.wait { $0.pieces.count > before || !$0.results.isEmpty })
                seen = receiver.heard.withLock { $0.pieces.count }
            }
            #expect(try call.result().error == nil)
            #expect(receiver.delivered == TestPattern.bytes(count: size))
        }
    }

    @Test func `a pause in an upload stops it, and the rest follows`() throws {
        let scope = try TestServer.shared.scope()
        // More than the buffers of both kernels hold.
        let bytes = [UInt8](repeating: 7, count: 64_000_000)
        try withTransport { transport in
            let call = try Call(
                "PUT", scope.url("/sink?stall=1&gate=g"), headers: [("Expect", nil)],
                body: .bytes(Bytes(bytes))
            ).start(on: transport)
            _ = try scope.waitBlocking("requests=1")
            transport.setPaused(call.exchange, true)
            try scope.open(gate: "g")
            let running = Monitor<Bool?>(nil)
            transport.schedule(at: transport.clock.now()) {
                let isActive = call.exchange.state.phase == .active
                running.update { $0 = isActive }
            }
            #expect(running.wait(timeout: .milliseconds(600_000), until: { $0 }) == true)
            #expect(call.exchange.sent < 64_000_000)
            transport.setPaused(call.exchange, false)
            let result = try call.result()
            #expect(result.error == nil)
            #expect(result.body.text.contains("\"bytes\": 64000000"))
        }
    }

    @Test func `a request paused in the queue lets others pass`() throws {
        let scope = try TestServer.shared.scope()
        var configuration = TransportConfiguration()
        configuration.maxPerHost = 1
        try withTransport(configuration) { transport in
            let first = try Call("GET", scope.url("/bytes/1?gate=g"))
            let second = try Call("GET", scope.url("/bytes/2"))
            let third = try Call("GET", scope.url("/bytes/3"))
            first.start(on: transport)
            transport.setPaused(second.exchange, true)
            second.start(on: transport)
            third.start(on: transport)
            _ = try scope.waitBlocking("requests=1")
            try scope.open(gate: "g")
            #expect(try third.result().error == nil)
            #expect(!second.receiver.isFinished)
            // Later ones do not wait for it either.
            let fourth = try Call("GET", scope.url("/bytes/4")).start(on: transport)
            #expect(try fourth.result().error == nil)
            transport.setPaused(second.exchange, false)
            #expect(try second.result().error == nil)
        }
    }

    // MARK: Cancels

    @Test func `a cancel works in every phase, and once`() throws {
        let scope = try TestServer.shared.scope()
        var configuration = TransportConfiguration()
        configuration.maxPerHost = 2
        try withTransport(configuration) { transport in
            let early = try Call("GET", scope.url("/bytes/1"))
            early.start(on: transport)
            transport.cancel(early.exchange)
            let waiting = try Call("GET", scope.url("/bytes/1?gate=a")).start(on: transport)
            _ = try scope.waitBlocking("active=1")
            let bytes = Bytes(repeatElement(UInt8(0), count: 20_000_000))
            let uploading = try Call(
                "PUT", scope.url("/sink?stall=1&gate=a"), headers: [("Expect", nil)],
                body: .bytes(bytes)
            ).start(on: transport)
            _ = try scope.waitBlocking("active=2")
            let queued = try Call("GET", scope.url("/bytes/2")).start(on: transport)
            for call in [queued, waiting, uploading] {
                transport.cancel(call.exchange)
                #expect(try call.result().error?.kind == .cancelled)
                transport.cancel(call.exchange)
            }
            #expect(queued.receiver.heard.withLock { $0.starts } == 0)
            #expect(uploading.exchange.sent < 20_000_000)
            try scope.open(gate: "a")
            _ = try scope.waitBlocking("active_most=0")

            let receiving = try Call(
                "GET", scope.url("/bytes/1000?hold=500&gate=b"),
                receiver: RecordingReceiver(.deliver(offset: 0, eager: true))
            ).start(on: transport)
            #expect(receiving.receiver.wait { $0.pieceBytes == 500 })
            transport.cancel(receiving.exchange)
            #expect(try receiving.result().error?.kind == .cancelled)
            #expect(try receiving.result().head?.status == 200)

            let kind = try early.result().error?.kind
            #expect(kind == .cancelled || kind == nil)
            // Everything is unchanged for later requests.
            let after = try Call("GET", scope.url("/bytes/10")).start(on: transport).result()
            #expect(after.error == nil)
            for call in [early, queued, waiting, uploading, receiving] {
                #expect(call.receiver.heard.withLock { $0.results.count } == 1)
            }
        }
    }

    /// Cancels its exchange from inside the named call.
    private final class Canceller: ExchangeReceiver {
        let transport: CurlTransport
        let moment: String
        let heard = Monitor<[String]>([])

        init(_ transport: CurlTransport, at moment: String) {
            self.transport = transport
            self.moment = moment
        }
        private func note(_ name: String, _ exchange: Exchange) {
            heard.update { $0.append(name) }
            if name == moment { transport.cancel(exchange) }
        }
        func exchangeDidStart(_ exchange: Exchange) { note("start", exchange) }
        func exchange(_ exchange: Exchange, didReceive head: ResponseHead) -> BodyDisposition {
            note("head", exchange)
            return .deliver(offset: 0, eager: true)
        }
        func exchange(_ exchange: Exchange, didReceive piece: Bytes) { note("piece", exchange) }
        func exchangeDidProgress(_ exchange: Exchange) {}
        func exchange(_ exchange: Exchange, didFinish result: ExchangeResult) {
            note(result.error?.kind.rawValue ?? "success", exchange)
        }
    }

    @Test(arguments: ["start", "head", "piece", "success"])
    func `a receiver may cancel from inside its own call`(moment: String) throws {
        let scope = try TestServer.shared.scope()
        try withTransport { transport in
            let receiver = Canceller(transport, at: moment)
            // With more than the window, since no chunk is consumed: it ends by the cancel only.
            let size = moment == "success" ? 10 : 10_000_000
            let exchange = Exchange(
                ExchangeRequest(method: "GET", url: try HTTPURL(scope.url("/bytes/\(size)"))),
                receiver: receiver)
            transport.start(exchange, wake: .now)
            let last = moment == "success" ? "success" : "cancelled"
            #expect(
                receiver.heard.wait(timeout: .milliseconds(600_000)) {
                    $0.last == last ? true : nil
                } == true)
            let after = try Call("GET", scope.url("/bytes/10")).start(on: transport).result()
            #expect(after.error == nil)
            #expect(receiver.heard.withLock { $0.filter { $0 == last }.count } == 1)
        }
    }

    // MARK: Connections

    @Test func `a connection is kept and reused`() throws {
        let scope = try TestServer.shared.scope()
        try withTransport { transport in
            for index in 0..<5 {
                let result = try Call("GET", scope.url("/bytes/100")).start(on: transport).result()
                #expect(result.metrics.isReused == (index > 0))
            }
            #expect(try scope.stats().connections == 1)
            let own = try Call("GET", scope.url("/bytes/100")) { $0.ownConnection = true }
                .start(on: transport).result()
            #expect(own.metrics.isReused == false)
            let last = try Call("GET", scope.url("/bytes/100")).start(on: transport).result()
            #expect(last.metrics.isReused)
            #expect(try scope.stats().connections == 2)
        }
    }

    @Test func `there are no more connections than allowed, and requests start in order`() throws {
        let scope = try TestServer.shared.scope()
        var configuration = TransportConfiguration()
        configuration.maxPerHost = 3
        try withTransport(configuration) { transport in
            let calls = try (1...12).map { try Call("GET", scope.url("/bytes/\($0)?gate=g")) }
            for call in calls { call.start(on: transport) }
            _ = try scope.waitBlocking("requests=3")
            #expect(calls.map { $0.receiver.heard.withLock { $0.starts } }.reduce(0, +) == 3)
            try scope.open(gate: "g")
            for call in calls { #expect(try call.result().error == nil) }
            #expect(try calls[11].result().metrics.queued > 0)
            let stats = try scope.stats()
            #expect(stats.peakConnections <= 3)
            #expect(stats.peakRequests <= 3)
            let sizes = try scope.requests().map { Int($0.path.split(separator: "/")[1]) ?? 0 }
            #expect(Set(sizes.prefix(3)) == [1, 2, 3])
            #expect(Set(sizes) == Set(1...12))
        }
    }

    @Test func `the limit for all hosts applies across them, and can be raised`() throws {
        let scope = try TestServer.shared.scope()
        var configuration = TransportConfiguration()
        configuration.maxPerHost = 2
        configuration.maxConnections = 2
        try withTransport(configuration) { transport in
            let calls = try (0..<4).map { index in
                try Call(
                    "GET",
                    scope.url("/bytes/1?gate=g", host: index % 2 == 0 ? "127.0.0.1" : "localhost"))
            }
            for call in calls { call.start(on: transport) }
            _ = try scope.waitBlocking("requests=2")
            #expect(calls.map { $0.receiver.heard.withLock { $0.starts } } == [1, 1, 0, 0])
            transport.setConnectionLimits(perHost: 2, total: 4)
            // Limits are read with the next message.
            transport.schedule(at: transport.clock.now()) {}
            _ = try scope.waitBlocking("requests=4")
            try scope.open(gate: "g")
            for call in calls { #expect(try call.result().error == nil) }
        }
    }

    @Test func `names are looked up in parallel, and their sockets do no harm`() throws {
        let scope = try TestServer.shared.scope()
        try withTransport { transport in
            // New connections to a name: each lookup has its own sockets, whose numbers the
            // connections then reuse.
            for _ in 0..<20 {
                let calls = try (0..<6).map { _ in
                    try Call("GET", scope.url("/bytes/100", host: "localhost")) {
                        $0.ownConnection = true
                    }.start(on: transport)
                }
                for call in calls { #expect(try call.result().error == nil) }
            }
        }
    }
}
