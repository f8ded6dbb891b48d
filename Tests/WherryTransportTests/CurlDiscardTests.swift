// Wherry: the libcurl transport and unwanted bodies: pages of redirects
// SPDX-License-Identifier: Apache-2.0

import TestServer
import Testing
import WherrySystem

@testable import WherryTransport

@Suite struct CurlDiscardTests {
    private let scope: TestServer.Scope

    init() throws { scope = try TestServer.shared.scope() }

    private func serve(_ steps: String) throws -> String {
        try scope.script("raw", #"[{"raw": [\#(steps)]}]"#)
        return scope.url("/s/raw")
    }

    private func ask(
        _ url: String, on transport: CurlTransport, decoding: ContentDecoding = .gzip
    ) throws -> Call {
        try Call("GET", url, receiver: RecordingReceiver(.discard)) { $0.decoding = decoding }
            .start(on: transport)
    }

    @Test func `an endless page is read a little, and then dropped`() throws {
        let url = try serve(
            #"["send", "HTTP/1.1 302 Found\r\nLocation: /empty\r\n\r\n"], ["bytes", 50000000], ["keep"]"#
        )
        try withTransport { transport in
            let call = try ask(url, on: transport)
            #expect(try call.result().error == nil)
            #expect(try call.result().head?.status == 302)
            #expect(call.exchange.receivedOnWire < 200_000)
            // Its connection is closed, and the next request uses a clean one.
            let next = try Call("GET", scope.url("/bytes/10")).start(on: transport).result()
            #expect(next.body.array == TestPattern.bytes(count: 10))
            #expect(!next.metrics.isReused)
        }
    }

    @Test(arguments: [
        #"["send", "Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello"], ["fin"]"#,
        #"["send", "Content-Encoding: br\r\nContent-Length: 5\r\n\r\nhello"], ["fin"]"#,
        #"["send", "Content-Encoding: what\r\nContent-Length: 5\r\n\r\nhello"], ["fin"]"#,
        #"["send", "Content-Length: 500\r\n\r\nhello"], ["fin"]"#,
        #"["send", "Content-Length: 500\r\n\r\nhello"], ["rst"]"#,
        #"["send", "Transfer-Encoding: chunked\r\n\r\nno chunk"], ["fin"]"#,
    ])
    func `a damaged or cut page is not an error`(rest: String) throws {
        try withTransport { transport in
            for decoding in [ContentDecoding.gzip, .all, .identity] {
                let url = try serve(
                    #"["send", "HTTP/1.1 302 Found\r\nLocation: /empty\r\n"], \#(rest)"#)
                let result = try ask(url, on: transport, decoding: decoding).result()
                #expect(result.error == nil)
                #expect(result.head?["location"] == "/empty")
            }
        }
    }

    @Test func `a stalled page is not awaited, and a short one keeps its connection`()
        throws
    {
        let clock = ManualClock()
        let url = try serve(
            #"["send", "HTTP/1.1 302 Found\r\nLocation: /empty\r\nContent-Length: 9\r\n\r\nx"], ["keep"]"#
        )
        try withTransport(clock: clock) { transport in
            let call = try ask(url, on: transport)
            #expect(call.receiver.wait { $0.heads.count == 1 })
            #expect(!call.receiver.isFinished)
            clock.advance(by: Exchange.discardTime)
            #expect(try call.result().error == nil)

            _ = try ask(scope.url("/redirect/1"), on: transport).result()
            let kept = try ask(scope.url("/redirect/1"), on: transport).result()
            #expect(kept.metrics.isReused && kept.error == nil)
        }
    }

    @Test func `a total timeout applies to a page too`() throws {
        let clock = ManualClock()
        let url = try serve(
            #"["send", "HTTP/1.1 302 Found\r\nLocation: /empty\r\nContent-Length: 9\r\n\r\nx"], ["keep"]"#
        )
        try withTransport(clock: clock) { transport in
            let call = try Call("GET", url, receiver: RecordingReceiver(.discard)) {
                $0.deadline = clock.now().advanced(by: .milliseconds(500))
            }.start(on: transport)
            #expect(call.receiver.wait { $0.heads.count == 1 })
            clock.advance(by: .milliseconds(500))
            #expect(try call.result().error?.kind == .totalTimeout)
        }
    }
}
