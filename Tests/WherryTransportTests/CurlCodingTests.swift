// Wherry: the libcurl transport and content encodings, valid and invalid
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import WherrySystem

@testable import WherryTransport

@Suite struct CurlCodingTests {
    private let scope: TestServer.Scope

    init() throws { scope = try TestServer.shared.scope() }

    /// A server that sends these headers and this body, and closes the connection.
    private func serve(_ head: String, _ body: [UInt8]) throws -> String {
        let bytes = Data(Array("HTTP/1.1 200 OK\r\n\(head)\r\n".utf8) + body).base64EncodedString()
        try scope.script("raw", #"[{"raw": [["send_base64", "\#(bytes)"], ["fin"]]}]"#)
        return scope.url("/s/raw")
    }

    /// The server's bytes for a path, as they are on the wire.
    private func coded(_ path: String, _ transport: CurlTransport) throws -> [UInt8] {
        try Call("GET", scope.url(path)) { $0.decoding = .identity }.start(on: transport).result()
            .body.array
    }

    @Test(arguments: [
        "Content-Encoding: gzip, gzip\r\n", "Content-Encoding: gzip\r\nContent-Encoding: gzip\r\n",
        "Content-Encoding: gzip\r\nContent-Encoding: deflate\r\n", "Content-Encoding: compress\r\n",
        "Content-Encoding: br\r\n", "Content-Encoding: br\r\nContent-Encoding: identity\r\n",
        "Content-Encoding: gzip;q=1\r\n",
    ])
    func `an unknown encoding is an error, unless decoding is disabled`(
        fields: String
    ) throws {
        try withTransport { transport in
            let url = try serve("Content-Length: 3\r\n" + fields, Array("abc".utf8))
            let refused = try Call("GET", url).start(on: transport).result()
            #expect(refused.error?.kind == .badEncoding)
            #expect(refused.head?.status == 200)
            _ = try serve("Content-Length: 3\r\n" + fields, Array("abc".utf8))
            let kept = try Call("GET", url) { $0.decoding = .identity }.start(on: transport)
                .result()
            #expect(kept.error == nil && kept.body.text == "abc")
            // An empty body needs no decoding.
            _ = try serve("Content-Length: 0\r\n" + fields, [])
            #expect(try Call("GET", url).start(on: transport).result().error == nil)
        }
    }

    @Test(arguments: [
        "Content-Encoding: GZip\r\n", "Content-Encoding: identity, gzip\r\n",
        "Content-Encoding: x-gzip ,\r\nContent-Encoding: identity\r\n",
    ])
    func `an encoding is decoded in any notation`(fields: String) throws {
        try withTransport { transport in
            let body = try coded("/gzip", transport)
            for decoding in [ContentDecoding.gzip, .all] {
                let url = try serve("Content-Length: \(body.count)\r\n" + fields, body)
                let result = try Call("GET", url) { $0.decoding = decoding }.start(on: transport)
                    .result()
                #expect(result.error == nil)
                #expect(result.body.text.hasPrefix("{\"coding\""))
            }
        }
    }

    @Test func `accepting br and zstd does not weaken the checks of gzip`() throws {
        try withTransport { transport in
            let body = try coded("/gzip", transport)
            let url = try serve("Content-Encoding: gzip\r\n", Array(body.dropLast(3)))
            let cut = try Call("GET", url) { $0.decoding = .all }.start(on: transport).result()
            #expect(cut.error?.kind == .badEncoding)

            let bomb = try Call("GET", scope.url("/gzip?zeros=50000000")) { $0.decoding = .all }
                .start(on: transport)
            #expect(try bomb.result().error?.message.contains("1,000 times") == true)
            #expect(bomb.exchange.receivedOnWire < 50_000)
        }
    }

    @Test(arguments: ["/br", "/zstd"])
    func `a body that libcurl decodes counts by its size on the wire`(path: String) throws {
        try withTransport { transport in
            let size = try coded(path, transport).count
            let call = try Call("GET", scope.url(path)) { $0.decoding = .all }.start(on: transport)
            let result = try call.result()
            #expect(result.error == nil)
            #expect(call.exchange.receivedOnWire == Int64(size))
            #expect(call.exchange.received == Int64(result.body.count))
            #expect(result.body.text.hasPrefix("{\"coding\""))
            // Nothing of it stays with the handle.
            let next = try Call("GET", scope.url("/gzip")) { $0.decoding = .all }.start(
                on: transport)
            #expect(try next.result().body.text.hasPrefix("{\"coding\""))
        }
    }

    // libcurl treats the decoded part of a cut stream as complete, wherever the connection ends.
    @Test(arguments: ["br", "zstd"])
    func `a body that libcurl decodes is an error at every cut`(coding: String) throws {
        try withTransport { transport in
            let whole = try coded("/\(coding)", transport)
            #expect(whole.count > 50)
            func ask(_ head: String, _ body: [UInt8]) throws -> ExchangeResult {
                let url = try serve("Content-Encoding: \(coding)\r\n" + head, body)
                return try Call("GET", url) { $0.decoding = .all }.start(on: transport).result()
            }
            for count in 1..<whole.count {
                let cut = Array(whole[..<count])
                let closed = try ask("", cut)
                #expect(closed.error?.kind == .badEncoding, "\(count)")
                guard count % 10 == 0 else { continue }
                let announced = try ask("Content-Length: \(whole.count)\r\n", cut)
                #expect(announced.error?.kind == .truncated, "\(count)")
                let size = Array("\(String(count, radix: 16))\r\n".utf8)
                let chunked = try ask("Transfer-Encoding: chunked\r\n", size + cut + [13, 10])
                #expect(chunked.error?.kind == .truncated, "\(count)")
            }
            // Whether this one is complete is unknown, too.
            let end = try ask("", whole)
            #expect(end.error?.kind == .badEncoding)
            #expect(end.error?.message.contains("gzip") == true)
            #expect(try ask("", []).error == nil)
            #expect(try ask("Content-Length: \(whole.count)\r\n", whole).error == nil)
        }
    }

    @Test(arguments: [false, true])
    func `a small input with a large output waits for its receiver`(eager: Bool) throws {
        try withTransport { transport in
            // Each zero costs a thousandth of a byte; the texts between keep it below the bomb
            // limit.
            let zeros = try coded("/gzip?zeros=900000", transport)
            let text = try coded("/gzip", transport)
            let whole = [[UInt8]](repeating: zeros + text, count: 10).flatMap { $0 }
            #expect(whole.count < 16_384)
            let url = try serve(
                "Content-Encoding: gzip\r\nContent-Length: \(whole.count)\r\n", whole)
            for pauses in [false, true] {
                _ = try serve(
                    "Content-Encoding: gzip\r\nContent-Length: \(whole.count)\r\n", whole)
                let receiver = RecordingReceiver(
                    .deliver(offset: 0, eager: eager), consumesAtOnce: false)
                let call = try Call("GET", url, receiver: receiver).start(on: transport)
                #expect(receiver.wait { $0.pieces.count >= Exchange.window })
                let peak = try consumeAll(call, transport, pauses: pauses)
                #expect(try call.result().error == nil)
                #expect(peak <= Exchange.window + 1)
                let received = receiver.heard.withLock { $0.pieceBytes }
                #expect(received > 9_000_000 && received == call.exchange.received)
                #expect(receiver.heard.withLock { $0.order.last } == "finish")
            }
        }
    }

    /// Returns chunk after chunk; reports the maximum outstanding.
    private func consumeAll(_ call: Call, _ transport: CurlTransport, pauses: Bool) throws -> Int {
        var consumed = 0
        var peak = 0
        while true {
            // Everything that can arrive without a consumed chunk has arrived.
            let turned = Monitor(false)
            transport.schedule(at: transport.clock.now()) { turned.update { $0 = true } }
            _ = turned.wait { $0 ? true : nil }
            let count = call.receiver.heard.withLock { $0.pieces.count }
            peak = max(peak, count - consumed)
            if count == consumed && call.receiver.isFinished { return peak }
            let pausesNow = pauses && consumed == 5
            if pausesNow { transport.setPaused(call.exchange, true) }
            if count > consumed {
                call.exchange.consumed()
                consumed += 1
            }
            if pausesNow { transport.setPaused(call.exchange, false) }
            let seen = consumed
            guard call.receiver.wait({ $0.pieces.count > seen || !$0.results.isEmpty }) else {
                throw RecordingReceiver.NeverEnded()
            }
        }
    }

    @Test(arguments: [204, 304])
    func `a response without a body may declare any length`(status: Int) throws {
        try withTransport { transport in
            for fields in ["Content-Length: 999999999999", "Content-Encoding: gzip"] {
                let head = Data("HTTP/1.1 \(status) X\r\n\(fields)\r\n\r\n".utf8)
                    .base64EncodedString()
                try scope.script("raw", #"[{"raw": [["send_base64", "\#(head)"], ["fin"]]}]"#)
                let call = try Call(
                    "GET", scope.url("/s/raw"), receiver: RecordingReceiver(.collect(limit: 100))
                ).start(on: transport)
                #expect(try call.result().error == nil)
                #expect(call.exchange.expectedOnWire == -1)
            }
        }
    }
}
