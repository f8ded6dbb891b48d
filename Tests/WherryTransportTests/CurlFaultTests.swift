// Wherry: the libcurl transport against servers that misbehave
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import WherrySystem

@testable import WherryTransport

@Suite struct CurlFaultTests {
    /// Requests a path of the test server.
    private func ask(
        _ path: String, method: String = "GET",
        _ disposition: BodyDisposition = .collect(limit: 1 << 26)
    ) throws -> (result: ExchangeResult, heads: Int) {
        let scope = try TestServer.shared.scope()
        return try ask(scope.url(path), method, disposition)
    }

    private func ask(
        _ url: String, _ method: String, _ disposition: BodyDisposition
    ) throws -> (result: ExchangeResult, heads: Int) {
        var answer: (ExchangeResult, Int)?
        try withTransport { transport in
            let call = try Call(method, url, receiver: RecordingReceiver(disposition))
                .start(on: transport)
            answer = (try call.result(), call.receiver.heard.withLock { $0.heads.count })
        }
        return try #require(answer)
    }

    /// Sends a request to a server that responds with exactly these bytes and closes the
    /// connection.
    private func ask(raw text: String, end: String = "fin") throws -> (
        result: ExchangeResult, heads: Int
    ) {
        let scope = try TestServer.shared.scope()
        let bytes = Data(text.utf8).base64EncodedString()
        try scope.script("raw", #"[{"raw": [["send_base64", "\#(bytes)"], ["\#(end)"]]}]"#)
        return try ask(scope.url("/s/raw"), "GET", .collect(limit: 1 << 26))
    }

    // MARK: Bodies

    @Test func `a cut body is an error, and the received bytes are kept`() throws {
        for query in ["cut=400", "chunked=1&chunk=100&cut=400"] {
            let (result, _) = try ask("/bytes/1000?\(query)")
            #expect(result.error?.kind == .truncated)
            #expect(result.body.array == TestPattern.bytes(count: 400))
            #expect(result.head?.status == 200)
        }
        let (unfinished, _) = try ask("/bytes/1000?chunked_cut=1")
        #expect(unfinished.error?.kind == .truncated)
        #expect(unfinished.body.count == 1000)
    }

    @Test func `a reset during the body is reported as one`() throws {
        let (result, _) = try ask("/bytes/100000?reset=50000")
        #expect(result.error?.kind == .reset)
        #expect(result.head?.status == 200)
    }

    @Test func `a delivered body that is cut is delivered up to the cut`() throws {
        let scope = try TestServer.shared.scope()
        try withTransport { transport in
            for eager in [true, false] {
                let receiver = RecordingReceiver(.deliver(offset: 0, eager: eager))
                let call = try Call(
                    "GET", scope.url("/bytes/1000000?cut=600000"), receiver: receiver
                ).start(on: transport)
                #expect(try call.result().error?.kind == .truncated)
                #expect(receiver.delivered == TestPattern.bytes(count: 600_000))
                #expect(receiver.heard.withLock { $0.order.last } == "finish")
            }
        }
    }

    @Test func `bytes after the end of a body are discarded`() throws {
        let scope = try TestServer.shared.scope()
        for chunked in ["", "&chunked=1"] {
            try withTransport { transport in
                let result = try Call("GET", scope.url("/bytes/100?more=50\(chunked)"))
                    .start(on: transport).result()
                #expect(result.error == nil)
                #expect(result.body.array == TestPattern.bytes(count: 100))
            }
        }
    }

    @Test(arguments: ["send", "fin"])
    func `bytes on an idle connection are not the next response`(stray: String) throws {
        // libcurl 7.88 gave the second request "evil": bytes that a server, or a proxy in between,
        // had sent after the first response.
        let scope = try TestServer.shared.scope()
        let evil =
            stray == "send"
            ? #"["send", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"], ["keep"]"#
            : #"["fin"]"#
        try scope.script(
            "stray",
            #"""
            [{"raw": [["send", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood"],
                      ["gate", "stray"], \#(evil)]}]
            """#)
        try withTransport { transport in
            let first = try Call("GET", scope.url("/s/stray")).start(on: transport).result()
            #expect(first.error == nil && first.body.array == Array("good".utf8))
            try scope.open(gate: "stray")
            try scope.waitBlocking("ended=1")
            let body = Array("what was never sent is sent whole".utf8)
            let second = try Call(
                "POST", scope.url("/sink"), body: .bytes(Bytes(body))
            ).start(on: transport).result()
            #expect(second.error == nil && second.head?.status == 200)
            #expect(
                String(decoding: second.body.array, as: UTF8.self).contains(
                    "\"bytes\": \(body.count)"))
            #expect(!second.metrics.isReused)
            // And the connection that replaced it is kept.
            let third = try Call("GET", scope.url("/bytes/100")).start(on: transport).result()
            #expect(third.body.array == TestPattern.bytes(count: 100))
            #expect(third.metrics.isReused)
        }
        #expect(try scope.stats().connections == 2)
    }

    @Test func `the same holds with many idle connections`() throws {
        let scope = try TestServer.shared.scope()
        let count = 300
        let step = #"""
            {"raw": [["gate", "go"], ["send", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood"],
                     ["gate", "stray"], ["send", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"],
                     ["keep"]]}
            """#
        try scope.script(
            "stray", "[" + Array(repeating: step, count: count).joined(separator: ",") + "]")
        var configuration = TransportConfiguration()
        configuration.maxPerHost = count
        configuration.maxConnections = count
        try withTransport(configuration) { transport in
            let first = try (0..<count).map { _ in
                try Call("GET", scope.url("/s/stray")).start(on: transport)
            }
            try scope.waitBlocking("requests=\(count)")
            try scope.open(gate: "go")
            for call in first {
                let result = try call.result()
                #expect(result.error == nil && result.body.array == Array("good".utf8))
            }
            try scope.open(gate: "stray")
            try scope.waitBlocking("ended=\(count)")
            let body = Array("sent once".utf8)
            let second = try (0..<count).map { _ in
                try Call("POST", scope.url("/sink"), body: .bytes(Bytes(body))).start(on: transport)
            }
            for call in second {
                let result = try call.result()
                #expect(result.error == nil && result.head?.status == 200)
                #expect(
                    String(decoding: result.body.array, as: UTF8.self).contains(
                        "\"bytes\": \(body.count)"))
            }
        }
    }

    @Test func `a value that is not UTF-8 is decoded as ISO-8859-1, and kept unchanged`() throws {
        let scope = try TestServer.shared.scope()
        let head: [UInt8] = Array(
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Old: caf\u{0}\r\n".utf8
        )
        .map { $0 == 0 ? 0xE9 : $0 }
        let bytes = Data(head + Array("X-New: café\r\nX-Old: second\r\n\r\n".utf8))
            .base64EncodedString()
        try scope.script("raw", #"[{"raw": [["send_base64", "\#(bytes)"], ["fin"]]}]"#)
        let (result, _) = try ask(scope.url("/s/raw"), "GET", .collect(limit: 100))
        let fields = try #require(result.head)
        #expect(fields["x-old"] == "café" && fields["x-new"] == "café")
        #expect(fields.values("X-Old") == ["café", "second"])
        #expect(fields.fields.map(\.value) == ["0", "café", "café", "second"])
        // The bytes themselves are not changed, and a reference is escaped byte by byte.
        #expect(fields.block.array.filter { $0 >= 0x80 } == [0xE9, 0xC3, 0xA9])
        #expect(fields.reference("x-old") == "caf%E9" && fields.reference("x-new") == "café")
        #expect(fields.reference("x-none") == nil)
    }

    @Test func `contradictory lengths are refused`() throws {
        for path in [
            "/bytes/100?two_lengths=50", "/bytes/100?length=abc", "/bytes/100?length=-5",
            "/bytes/100?length=%2B100", "/bytes/100?length=100,%20100",
            "/bytes/100?length=99999999999999999999",
        ] {
            let (result, heads) = try ask(path)
            #expect(result.error?.kind == .badProtocol, "\(path)")
            #expect(heads == 0)
        }
        let (same, _) = try ask("/bytes/100?two_lengths=100")
        #expect(same.error == nil)
    }

    // MARK: Headers

    @Test func `a response that is not HTTP is reported as such`() throws {
        for text in [
            "garbage\r\n\r\n", "SSH-2.0-x\r\n", "HTTP/1.1\r\n\r\n", "HTTP/1.1 abc\r\n\r\n",
            "HTTP/1.1 099 x\r\n\r\n", "HTTP/9.9 200 OK\r\n\r\n", "\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
        ] {
            let (result, heads) = try ask(raw: text)
            #expect(
                result.error?.kind == .badProtocol,
                "\(text.debugDescription): \(String(describing: result.error))")
            #expect(heads == 0)
            #expect(result.head == nil)
        }
    }

    @Test func `a connection that ends before or within its headers is reported as dropped`() throws
    {
        for (text, end) in [("", "fin"), ("", "rst"), ("HTTP/1.1 200 OK\r\nX: ", "rst")] {
            let (result, heads) = try ask(raw: text, end: end)
            #expect(result.error?.kind == .reset, "\(text) \(end)")
            #expect(heads == 0)
        }
        for text in ["HTTP/1.1 200 OK\r\nContent-Length: 5\r\n", "HTTP/1.1 20"] {
            let (result, heads) = try ask(raw: text)
            #expect(result.error != nil, "\(text)")
            #expect(heads == 0)
            #expect(result.head == nil)
        }
    }

    @Test func `the size of headers is limited`() throws {
        for path in [
            "/headers?count=300&size=5", "/headers?count=1&size=17000",
            "/headers?count=200&size=2000", "/headers?count=1&size=200000",
        ] {
            let (result, heads) = try ask(path)
            #expect(
                result.error?.kind == .headerTooLarge,
                "\(path): \(String(describing: result.error))")
            #expect(heads == 0)
        }
        let (large, _) = try ask("/headers?count=200&size=1000")
        #expect(large.error == nil)
        #expect(large.head?.values("x-field-199").first?.count == 1000)
    }

    @Test func `control bytes in a header are refused, folded lines are joined`() throws {
        for bad in ["X: a\u{0}b", "X: a\rb"] {
            let (result, heads) = try ask(
                raw: "HTTP/1.1 200 OK\r\n\(bad)\r\nContent-Length: 0\r\n\r\n")
            #expect(result.error != nil, "\(bad.debugDescription)")
            #expect(heads == 0)
        }
        let (folded, _) = try ask(
            raw: "HTTP/1.1 200 OK\r\nX: a\r\n  b\r\n\tc\r\nContent-Length: 0\r\n\r\n")
        #expect(folded.error == nil)
        #expect(folded.head?["x"]?.split(separator: " ").first == "a")
        #expect(folded.head?["x"]?.hasSuffix("c") == true)
        let (first, _) = try ask(raw: "HTTP/1.1 200 OK\r\n X: a\r\nContent-Length: 0\r\n\r\n")
        #expect(first.error != nil)
    }

    @Test func `interim responses are skipped, and limited`() throws {
        for path in ["/status/103", "/status/102?then=418", "/bytes/10?informational=103,100,199"] {
            let (result, heads) = try ask(path)
            #expect(result.error == nil, "\(path)")
            #expect(result.head?.status == (path.contains("418") ? 418 : 200))
            #expect(heads == 1)
        }
        let interim = String(repeating: "HTTP/1.1 103 x\r\nLink: y\r\n\r\n", count: 100)
        let (many, heads) = try ask(raw: interim + "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        #expect(many.error?.kind == .headerTooLarge)
        #expect(heads == 0)
        let (only, _) = try ask(raw: "HTTP/1.1 103 x\r\n\r\n")
        #expect(only.error != nil)
        #expect(only.head == nil)
    }

    @Test func `neither a header nor a trailer passes as a status line`() throws {
        let (field, heads) = try ask(
            raw: "HTTP/1.1 200 OK\r\nHTTP/1.1 500: x\r\nX: y\r\nContent-Length: 2\r\n\r\nok")
        #expect(field.error == nil)
        #expect(field.head?.status == 200)
        #expect(field.head?["x"] == "y")
        #expect(field.body.text == "ok")
        #expect(heads == 1)
        let (trailer, more) = try ask(
            raw: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n"
                + "HTTP/1.1 500 Bad\r\nContent-Length: 7\r\n\r\n")
        #expect(trailer.head?.status == 200)
        #expect(trailer.body.text == "ok")
        #expect(more == 1)
    }

    @Test func `an unrequested protocol switch is not a response`() throws {
        let (result, heads) = try ask(
            raw: "HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\nhello")
        #expect(result.error != nil)
        #expect(result.head == nil)
        #expect(heads == 0)
    }

    @Test func `HTTP 1-0 is supported`() throws {
        let (result, _) = try ask(raw: "HTTP/1.0 200 OK\r\nContent-Type: a/b\r\n\r\nold")
        #expect(result.error == nil)
        #expect(result.head?.httpVersion == 10)
        #expect(result.body.text == "old")
    }

    // MARK: Connections

    @Test func `a closed port and an unknown name are distinguished`() throws {
        let probe = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(probe) }
        let port = try bindLoopback(probe)
        let (refused, _) = try ask("http://127.0.0.1:\(port)/", "GET", .discard)
        #expect(refused.error?.kind == .connect)
        #expect(refused.error?.osCode == ECONNREFUSED)
        let advice = "Check the port, and that the server is running."
        #expect(
            refused.error?.message
                == "Could not connect to http://127.0.0.1:\(port): the connection was refused. \(advice)"
        )
        let (unknown, _) = try ask("http://nobody.invalid/", "GET", .discard)
        #expect(unknown.error?.kind == .resolve)
        #expect(
            unknown.error?.message
                == "Could not resolve the host of http://nobody.invalid:80. Check the name and your network."
        )
    }

    @Test func `the errno of a failure is not reported for the next one`() throws {
        let probe = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(probe) }
        let port = try bindLoopback(probe)
        try withTransport { transport in
            let refused = try Call("GET", "http://127.0.0.1:\(port)/").start(on: transport).result()
            #expect(refused.error?.osCode == ECONNREFUSED)
            let unknown = try Call("GET", "http://nobody.invalid/").start(on: transport).result()
            #expect(unknown.error?.kind == .resolve && unknown.error?.osCode == 0)
        }
    }

    @Test func `a connection that is not accepted has its own timeout`() throws {
        // A listener with a full queue answers no SYN.
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(listener) }
        let port = try bindLoopback(listener)
        #expect(listen(listener, 0) == 0)
        var fillers: [Int32] = []
        defer { for filler in fillers { close(filler) } }
        for _ in 0..<4 {
            let filler = socket(
                AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
            fillers.append(filler)
            var address = loopback(port)
            withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    _ = connect(filler, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
        }
        try withTransport { transport in
            let call = try Call("GET", "http://127.0.0.1:\(port)/") {
                $0.timeouts.connect = .milliseconds(50)
            }.start(on: transport)
            #expect(try call.result().error?.kind == .connectTimeout)
        }
    }

    private func loopback(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        return address
    }

    /// Binds a socket to a free port of the loopback.
    private func bindLoopback(_ descriptor: Int32) throws -> UInt16 {
        var address = loopback(0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer -> Int32 in
                guard bind(descriptor, pointer, length) == 0 else { return errno }
                return getsockname(descriptor, pointer, &length) == 0 ? 0 : errno
            }
        }
        try #require(code == 0)
        return UInt16(bigEndian: address.sin_port)
    }

    @Test func `a connection that dropped while idle is replaced silently`() throws {
        let scope = try TestServer.shared.scope()
        let workers = WorkerPool(limit: 1)
        defer { workers.close() }
        try withTransport { transport in
            for body in ["", "segment"] {
                _ = try Call("GET", scope.url("/empty")).start(on: transport).result()
                try scope.dropConnections()
                _ = try scope.waitBlocking("open_most=0")
                let source = try SegmentedBody([.bytes(Bytes(body))], workers: workers)
                let echo = try Echo(
                    try Call(
                        "PUT", scope.url("/echo"), headers: [("Expect", nil)],
                        body: body.isEmpty ? .none : .source(source)
                    ).start(on: transport).result())
                #expect(String(decoding: echo.bytes, as: UTF8.self) == body)
            }
        }
    }

    @Test func `an early response is reported, and the rest of the body is not sent`() throws {
        let scope = try TestServer.shared.scope()
        let bytes = Bytes(repeatElement(UInt8(1), count: 20_000_000))
        try withTransport { transport in
            let call = try Call(
                "POST", scope.url("/sink?early=413"), headers: [("Expect", nil)],
                body: .bytes(bytes)
            ).start(on: transport)
            let result = try call.result()
            #expect(result.head?.status == 413)
            #expect(result.error == nil)
            let broken = try Call(
                "POST", scope.url("/sink?reset_body=1000000"), headers: [("Expect", nil)],
                body: .bytes(bytes)
            ).start(on: transport).result()
            #expect(broken.error?.kind == .reset)
        }
    }
}
