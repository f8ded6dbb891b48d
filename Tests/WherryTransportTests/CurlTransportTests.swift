// Wherry: the libcurl transport with a real server: methods, bodies, encodings
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import WherrySystem

@testable import WherryTransport

/// A transport that is closed at the end of the test.
func withTransport(
    _ configuration: TransportConfiguration = TransportConfiguration(),
    clock: any WherrySystem.Clock = SystemClock.shared,
    _ body: (CurlTransport) throws -> Void
) throws {
    var configuration = configuration
    configuration.proxies.all = ""
    let transport = try CurlTransport(configuration, clock: clock)
    defer { transport.close() }
    try body(transport)
}

/// The `/echo` response.
struct Echo: Decodable {
    let method: String
    let headers: [[String]]
    let body: String
    let chunked: Bool
    let connection: Int

    init(_ result: ExchangeResult) throws {
        if let error = result.error { throw error }
        self = try JSONDecoder().decode(Echo.self, from: Data(result.body.array))
    }

    var bytes: [UInt8] { Data(base64Encoded: body).map { Array($0) } ?? [] }

    func header(_ name: String) -> String? {
        headers.first { $0[0].lowercased() == name.lowercased() }?[1]
    }
}

@Suite struct CurlTransportTests {
    @Test func `a GET returns status, headers, and body`() throws {
        let scope = try TestServer.shared.scope()
        try withTransport { transport in
            let call = try Call("GET", scope.url("/bytes/1000?seed=7&header=X-Thing:%20one"))
                .start(on: transport)

            let result = try call.result()
            #expect(result.error == nil)
            #expect(result.head?.status == 200)
            #expect(result.head?["x-thing"] == "one")
            #expect(result.head?.contentLength == 1000)
            #expect(result.body.array == TestPattern.bytes(seed: 7, count: 1000))
            #expect(result.metrics.httpVersion == 11)
            #expect(result.metrics.remoteAddress == "127.0.0.1")
            #expect(result.metrics.isReused == false)
            #expect(result.metrics.received > 1000)
            #expect(call.exchange.received == 1000)
            #expect(call.exchange.expectedOnWire == 1000)
            call.receiver.heard.withLock { heard in
                #expect(heard.order == ["start", "head", "finish"])
            }
        }
    }

    @Test func `a HEAD reports the length and has no body`() throws {
        let scope = try TestServer.shared.scope()
        try withTransport { transport in
            let result = try Call("HEAD", scope.url("/bytes/100000000")).start(on: transport)
                .result()

            #expect(result.error == nil)
            #expect(result.head?.contentLength == 100_000_000)
            #expect(result.body.isEmpty)
        }
    }

    @Test func `204 and 304 end with their headers`() throws {
        let scope = try TestServer.shared.scope()
        try withTransport { transport in
            for status in [204, 304, 404, 500] {
                let result = try Call("GET", scope.url("/status/\(status)"))
                    .start(on: transport).result()
                #expect(result.error == nil)
                #expect(result.head?.status == status)
            }
        }
    }

    @Test(arguments: [0, 1, 65_536, 65_537, 3_000_000])
    func `a body of bytes arrives complete`(count: Int) throws {
        let scope = try TestServer.shared.scope()
        let bytes = TestPattern.bytes(seed: 2, count: count)
        try withTransport { transport in
            let call = try Call(
                "POST", scope.url("/echo"), headers: [("Content-Type", "x/y"), ("Expect", nil)],
                body: .bytes(Bytes(bytes))
            ).start(on: transport)

            let echo = try Echo(try call.result())
            #expect(echo.method == "POST")
            #expect(echo.bytes == bytes)
            #expect(echo.header("Content-Length") == String(count))
            #expect(echo.header("Content-Type") == "x/y")
            #expect(echo.header("Expect") == nil)
            #expect(!echo.chunked)
        }
    }

    @Test func `one handle performs every kind of request after every other`() throws {
        let scope = try TestServer.shared.scope()
        let workers = WorkerPool(limit: 1)
        defer { workers.close() }
        let none: [(String, String?)] = [("Content-Type", nil), ("Expect", nil)]
        func stream() throws -> ExchangeBody {
            .source(try SegmentedBody([.bytes(Bytes("segment"))], workers: workers))
        }
        let kinds:
            [(method: String, body: () throws -> ExchangeBody, text: String, length: String?)] = [
                ("GET", { .none }, "", nil),
                ("POST", { .bytes(Bytes("small")) }, "small", "5"),
                ("HEAD", { .none }, "", nil),
                ("PUT", stream, "segment", "7"),
                ("DELETE", { .none }, "", nil),
                ("POST", { .none }, "", "0"),
                ("PROPFIND", { .bytes(Bytes("find")) }, "find", "4"),
                ("GET", { .bytes(Bytes("with")) }, "with", "4"),
            ]
        try withTransport { transport in
            var count = 0
            for first in kinds {
                for second in kinds {
                    for kind in [first, second] {
                        count += 1
                        let result = try Call(
                            kind.method, scope.url("/echo"), headers: none, body: try kind.body()
                        ).start(on: transport).result()
                        #expect(result.error == nil)
                        #expect(result.head?.status == 200)
                        guard kind.method != "HEAD" else {
                            #expect(result.body.isEmpty)
                            continue
                        }
                        let echo = try Echo(result)
                        #expect(echo.method == kind.method)
                        #expect(String(decoding: echo.bytes, as: UTF8.self) == kind.text)
                        #expect(
                            echo.header("Content-Length") == kind.length,
                            "\(first.method) \(kind.method)")
                        #expect(echo.header("Transfer-Encoding") == nil)
                        #expect(echo.header("Content-Type") == nil)
                    }
                }
            }
            let requests = try scope.requests()
            #expect(requests.count == count)
            #expect(Set(requests.map { $0.connection }).count == 1)
        }
    }

    @Test func `headers are sent as given: empty ones, suppressed ones, many lists`() throws {
        let scope = try TestServer.shared.scope()
        try withTransport { transport in
            let rest = HeaderList([("X-Rest", "r"), ("Accept", nil)])
            var request = ExchangeRequest(method: "GET", url: try HTTPURL(scope.url("/echo")))
            request.headers = HeaderList([("X-Empty", ""), ("X-Utf8", "天")], rest: rest)
            let receiver = RecordingReceiver()
            transport.start(Exchange(request, receiver: receiver), wake: .now)

            let echo = try Echo(try receiver.result())
            #expect(echo.header("X-Empty") == "")
            #expect(echo.header("X-Rest") == "r")
            #expect(echo.header("Accept") == nil)
            #expect(
                echo.header("X-Utf8").map { Array($0.unicodeScalars.map { UInt8($0.value) }) }
                    == Array("天".utf8))
            #expect(HeaderList([]).lines == [])
            #expect(request.headers.lines == ["X-Empty;", "X-Utf8: 天", "X-Rest: r", "Accept:"])
        }
    }

    @Test(arguments: ["chunked=1&chunk=1000", "no_length=1", "chunked=1&trailer=X-T:1", ""])
    func `a large body arrives complete in every framing`(query: String) throws {
        let scope = try TestServer.shared.scope()
        try withTransport { transport in
            let size = 5_000_001
            let result = try Call("GET", scope.url("/bytes/\(size)?seed=3&\(query)"))
                .start(on: transport).result()

            #expect(result.error == nil)
            #expect(result.body.array == TestPattern.bytes(seed: 3, count: size))
            // Only over TLS can an attacker have cut it unnoticed.
            #expect(result.isLengthUnverified == false)
            #expect(result.head?["x-t"] == nil)
        }
    }

    @Test func `a body over the limit is refused, by its length or as it arrives`() throws {
        let scope = try TestServer.shared.scope()
        try withTransport { transport in
            for query in ["", "?chunked=1", "?gzip=1"] {
                let large = try Call(
                    "GET", scope.url("/bytes/100001\(query)"),
                    receiver: RecordingReceiver(.collect(limit: 100_000))
                ).start(on: transport).result()
                #expect(large.error?.kind == .tooLarge)
                let fitting = try Call(
                    "GET", scope.url("/bytes/100000\(query)"),
                    receiver: RecordingReceiver(.collect(limit: 100_000))
                ).start(on: transport).result()
                #expect(fitting.error == nil)
                #expect(fitting.body.count == 100_000)
            }
        }
    }

    @Test func `a discarded body leaves its connection usable, an abort is the error`() throws {
        let scope = try TestServer.shared.scope()
        // With a clock that stands still: discarding is limited to a second, which a busy server
        // exceeds.
        try withTransport(clock: ManualClock()) { transport in
            let discarded = try Call(
                "GET", scope.url("/bytes/30000"), receiver: RecordingReceiver(.discard)
            ).start(on: transport).result()
            #expect(discarded.error == nil)
            #expect(discarded.body.isEmpty)
            let aborted = try Call(
                "GET", scope.url("/bytes/300000"),
                receiver: RecordingReceiver(.abort(TransportError(.refused, "no")))
            ).start(on: transport).result()
            #expect(aborted.error?.kind == .refused)
            #expect(aborted.error?.message == "no")
            #expect(aborted.head?.status == 200)
            #expect(aborted.metrics.isReused)
        }
    }

    // MARK: Encodings

    @Test(arguments: ["/gzip", "/deflate", "/deflate?raw=1"])
    func `gzip and deflate are decoded`(path: String) throws {
        let scope = try TestServer.shared.scope()
        try withTransport { transport in
            let call = try Call("GET", scope.url(path)).start(on: transport)

            let result = try call.result()
            #expect(result.error == nil)
            #expect(result.body.text.hasPrefix("{\"coding\""))
            #expect(call.exchange.received == Int64(result.body.count))
            #expect(call.exchange.receivedOnWire == result.head?.contentLength)
            let request = try #require(try scope.requests().first)
            #expect(request.header("Accept-Encoding") == "gzip, deflate")
        }
    }

    @Test func `without decoding the bytes arrive as they are sent`() throws {
        let scope = try TestServer.shared.scope()
        try withTransport { transport in
            let result = try Call("GET", scope.url("/gzip")) { $0.decoding = .identity }
                .start(on: transport).result()

            #expect(result.body.prefix(2).elementsEqual([0x1F, 0x8B]))
            let request = try #require(try scope.requests().first)
            #expect(request.header("Accept-Encoding") == "identity")
        }
    }

    @Test func `br and zstd are decoded if libcurl may`() throws {
        let scope = try TestServer.shared.scope()
        try withTransport { transport in
            for path in ["/br", "/zstd", "/gzip"] {
                let result = try Call("GET", scope.url(path)) { $0.decoding = .all }
                    .start(on: transport).result()
                #expect(result.error == nil)
                #expect(result.body.text.hasPrefix("{\"coding\""))
            }
            // The next request on the same handle is unaffected.
            let result = try Call("GET", scope.url("/br")) { $0.decoding = .identity }
                .start(on: transport).result()
            #expect(result.error == nil)
            #expect(!result.body.text.hasPrefix("{"))
            #expect(result.head?["content-encoding"] == "br")
        }
    }

    @Test func `a compressed body cut at any byte is an error`() throws {
        let scope = try TestServer.shared.scope()
        try withTransport { transport in
            let whole = try Call("GET", scope.url("/gzip")) { $0.decoding = .identity }
                .start(on: transport).result().body.array
            #expect(whole.count > 50)
            var steps: [String] = []
            for cut in 1...whole.count {
                let bytes = Data(whole[..<cut]).base64EncodedString()
                steps.append(
                    #"{"raw": [["send", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"],"#
                        + #"["send", "Connection: close\r\n\r\n"],["send_base64", "\#(bytes)"],["fin"]]}"#
                )
            }
            try scope.script("cut", "[" + steps.joined(separator: ",") + "]")
            for cut in 1..<whole.count {
                let result = try Call("GET", scope.url("/s/cut")).start(on: transport).result()
                #expect(result.error?.kind == .badEncoding, "cut at \(cut)")
            }
            let result = try Call("GET", scope.url("/s/cut")).start(on: transport).result()
            #expect(result.error == nil)
            #expect(result.body.text.hasPrefix("{\"coding\""))
        }
    }

    @Test func `a body that expands a thousandfold is refused`() throws {
        let scope = try TestServer.shared.scope()
        try withTransport { transport in
            let result = try Call("GET", scope.url("/gzip?zeros=50000000")).start(on: transport)
                .result()
            // gzip of zeros reaches 1,030 to 1; the total limit is not reached.
            #expect(result.error?.kind == .tooLarge)
            #expect(result.error?.message.contains("1,000 times") == true)
            #expect(result.body.count < 40_000_000)
        }
    }
}
