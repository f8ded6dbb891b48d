// Wherry: acceptance tests of limits on server cost: sizes, ratios, headers, time, false lengths
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry
import WherrySystem

@Suite struct LimitTests {
    private let scope: TestServer.Scope
    private let client: Client

    init() throws {
        scope = try TestServer.shared.scope()
        client = try makeClient(scope)
    }

    /// The result of a GET: "" on success, otherwise the reason.
    private func ending(_ path: String) async -> String { await ending(client, path) }

    private func ending(_ client: Client, _ path: String) async -> String {
        await failure { () throws(WherryError) in try await client.get(path) }?.reason ?? ""
    }

    /// The result of a GET of raw bytes.
    private func answer(_ raw: String, end: String = "fin") async throws -> (
        reason: String, response: Response?
    ) {
        let bytes = Data(raw.utf8).base64EncodedString()
        try scope.script("raw", #"[{"raw": [["send_base64", "\#(bytes)"], ["\#(end)"]]}]"#)
        do throws(WherryError) { return ("", try await client.get("s/raw")) } catch {
            return (error.reason, error.response)
        }
    }

    @Test("SEC-R1 S11 a limit applies to the decoded size of a body, whatever it announces")
    func bodySize() async throws {
        let small = try makeClient(scope) { $0.maxBodyBytes = 1_000_000 }
        for path in [
            "bytes/1000001", "bytes/1000001?chunked=1", "bytes/1000001?no_length=1",
            "gzip?zeros=1000001", "deflate?zeros=1000001", "bytes/1000001?gzip=1",
        ] {
            #expect(await ending(small, path) == "too_large", "\(path)")
        }
        for path in ["bytes/1000000", "bytes/1000000?no_length=1", "gzip?zeros=1000000"] {
            #expect(try await small.get(path).body.count == 1_000_000, "\(path)")
        }
    }

    @Test("SEC-R2 S11 a bomb is stopped by its ratio, and stacked encodings are refused")
    func bombs() async throws {
        let error = await failure { () throws(WherryError) in
            try await client.get("gzip?zeros=60000000")
        }
        #expect(error?.reason == "too_large" && error?.code == .limit)
        #expect(error?.message.contains("1,000 times") == true)
        // Small bodies may have any ratio.
        #expect(try await client.get("gzip?zeros=1000000").body.count == 1_000_000)
        #expect(await ending("gzip?header=Content-Encoding:gzip") == "bad_encoding")
    }

    @Test("SEC-R3 a gzip body cut at any byte is an error")
    func cutCoding() async throws {
        let whole = scope.server.url("/gzip")
        let size = try await client.get(whole).header("content-length").flatMap { Int($0) }
        let count = try #require(size)
        for cut in 1..<count {
            let reason = await ending("gzip?no_length=1&cut=\(cut)")
            #expect(reason == "bad_encoding" || reason == "truncated", "\(cut): \(reason)")
        }
        #expect(await ending("gzip?no_length=1") == "")
    }

    @Test(
        "SEC-R4 a body that ends early is an error, also over TLS without length and close_notify"
    )
    func truncated() async throws {
        for path in [
            "bytes/1000?length=2000", "bytes/1000?cut=500", "bytes/1000?chunked=1&cut=500",
            "bytes/1000?chunked_cut=1",
        ] {
            #expect(await ending(path) == "truncated", "\(path)")
        }
        let server = try TestServer(certificate: .good)
        let secure = try makeClient { $0.caFile = server.ca }
        let unverified = try await secure.get(
            server.tlsURL("/bytes/1000?no_length=1&cut=400&unclean=1"))
        #expect(unverified.body.count == 400 && unverified.isLengthUnverified)
        for path in ["/bytes/1000", "/bytes/1000?no_length=1"] {
            #expect(try await secure.get(server.tlsURL(path)).isLengthUnverified == false)
        }
        for (more, isUnverified) in [("&cut=400&unclean=1", true), ("", false)] {
            let streamed = try await secure.stream(
                Request(server.tlsURL("/bytes/1000?no_length=1" + more)))
            for try await _ in streamed.body {}
            #expect(streamed.body.isLengthUnverified == isUnverified)
        }
        let strict = try makeClient {
            $0.caFile = server.ca
            $0.requiresVerifiedLength = true
        }
        let refused = await failure { () throws(WherryError) in
            _ = try await strict.get(server.tlsURL("/bytes/1000?no_length=1&cut=400&unclean=1"))
        }
        #expect(refused?.reason == "length_unverified")
        let folder = try TemporaryFolder()
        let download = try secure.download(
            server.tlsURL("/bytes/1000?no_length=1&cut=400&unclean=1"), to: folder.path + "/file")
        let error = await failure { () throws(WherryError) in try await download.value }
        #expect(error?.reason == "length_unverified")
        #expect(!FileManager.default.fileExists(atPath: folder.path + "/file"))
    }

    // The file got its final name, even if the request failed for the same reason.
    @Test("SEC-R4 R21 a possibly truncated body creates no file")
    func unverifiedFile() async throws {
        let server = try TestServer(certificate: .good)
        let folder = try TemporaryFolder()
        let path = folder.path + "/file"
        for isStrict in [false, true] {
            let client = try makeClient {
                $0.caFile = server.ca
                $0.requiresVerifiedLength = isStrict
            }
            let save = Hooks.handlingHeaders { _ in .save(to: path) }
            let cut = Request(server.tlsURL("/bytes/1000?no_length=1&cut=400&unclean=1"))
            let error = await failure { () throws(WherryError) in
                try await client.send(cut, hooks: save)
            }
            #expect(error?.reason == "length_unverified" && error?.httpStatus == 200)
            #expect(error?.response?.isLengthUnverified == true)
            #expect(try folder.names == [])
            let whole = Request(server.tlsURL("/bytes/1000?no_length=1"))
            let saved = try await client.send(whole, hooks: save)
            #expect(saved.savedPath == path)
            try FileManager.default.removeItem(atPath: path)
        }
    }

    @Test("SEC-R4 R22 a stream reports at its end whether its body may be truncated")
    func unverifiedStream() async throws {
        let server = try TestServer(certificate: .good)
        let client = try makeClient { $0.caFile = server.ca }
        for (path, isUnverified) in [
            ("/bytes/1000?no_length=1&cut=400&unclean=1", true), ("/bytes/1000?no_length=1", false),
        ] {
            var request = Request(server.tlsURL(path))
            let stream = try await client.stream(request)
            for try await _ in stream.body {}
            #expect(stream.body.isLengthUnverified == isUnverified)
            request.requiresVerifiedLength = true
            let strict = try await client.stream(request)
            var count = 0
            let error = await failure { () throws(WherryError) in
                for try await piece in strict.body { count += piece.count }
            }
            #expect(error?.reason == (isUnverified ? "length_unverified" : nil))
            #expect(count == (isUnverified ? 400 : 1000))
            #expect(strict.body.isLengthUnverified == isUnverified)
        }
    }

    @Test("SEC-R5 S11 response headers have limits for count, line length, and total size")
    func heads() async throws {
        #expect(await ending("headers?count=200&size=10") == "")
        #expect(await ending("headers?count=257&size=10") == "header_too_large")
        #expect(await ending("headers?count=1&size=16000") == "")
        #expect(await ending("headers?count=1&size=16500") == "header_too_large")
        #expect(await ending("headers?count=100&size=4000") == "header_too_large")
        // Around libcurl's limit, which counts line ends too.
        for size in [1266, 1271, 1276, 1281] {
            #expect(
                await ending("headers?count=240&size=\(size)") == "header_too_large", "\(size)")
        }
        let narrow = try makeClient(scope) { $0.maxHeaderBytes = 2000 }
        #expect(await ending(narrow, "headers?count=10&size=300") == "header_too_large")
        let interim = String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 1000)
        #expect(try await answer(interim).reason == "header_too_large")
    }

    @Test("SEC-R6 slow headers and bodies end at the total timeout, with a clock moved by the test")
    func drip() async throws {
        for first in [
            #""HTTP/1.1 200 OK\r\nX: ""#, #""HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx""#,
        ] {
            let clock = ManualClock()
            let client = try makeClient(scope) {
                $0.clock = clock
                $0.totalTimeout = .seconds(60)
            }
            let drops = (0..<5).map { #"["gate", "d\#($0)"], ["send", "x"]"# }.joined(
                separator: ", ")
            let name = "drip\(first.utf8.count)"
            try scope.script(name, #"[{"raw": [["send", \#(first)], \#(drops), ["stall", 600]]}]"#)
            let handle = try client.start(Request("s/\(name)"))
            try await scope.wait("requests=1")
            for drop in 0..<4 {
                clock.advance(by: .milliseconds(14_000))
                await client.settle(clock)
                try scope.open(gate: "d\(drop)")
                #expect(handle.state == .running)
            }
            clock.advance(by: .milliseconds(14_000))
            let error = await failure { () throws(WherryError) in try await handle.value }
            #expect(error?.reason == "total_timeout")
            try scope.reset()
        }
    }

    @Test("SEC-R7 conflicting lengths, NUL, a bare CR, and HTTP 0.9 never become a response")
    func hostileHeads() async throws {
        let ok = "HTTP/1.1 200 OK\r\n"
        for (name, raw) in [
            ("two lengths", ok + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!"),
            ("list of lengths", ok + "Content-Length: 5, 6\r\n\r\nhello"),
            ("negative", ok + "Content-Length: -1\r\n\r\n"),
            ("plus", ok + "Content-Length: +5\r\n\r\nhello"),
            ("hexadecimal", ok + "Content-Length: 0x5\r\n\r\nhello"),
            ("too long", ok + "Content-Length: 99999999999999999999\r\n\r\n"),
            ("NUL in a value", ok + "X: a\0b\r\nContent-Length: 0\r\n\r\n"),
            ("NUL in a name", ok + "X\0Y: a\r\nContent-Length: 0\r\n\r\n"),
            ("bare CR", ok + "X: a\rContent-Length: 7\r\nContent-Length: 0\r\n\r\n"),
            ("folded at once", ok + " folded\r\nContent-Length: 0\r\n\r\n"),
            ("HTTP 0.9", "<html>hello</html>"), ("no digits", "HTTP/1.1 OK\r\n\r\n"),
            ("bad chunk", ok + "Transfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n"),
            ("huge chunk", ok + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n"),
        ] {
            let told = try await answer(raw)
            #expect(
                ["protocol", "truncated", "connection_reset", "bad_encoding"].contains(told.reason),
                "\(name): \(told.reason)")
        }
        // A length is ignored for chunked bodies (RFC 9112 6.3), and folded lines are one.
        let both = try await answer(
            ok + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
            end: "keep")
        #expect(both.reason == "" && both.response?.text == "hello")
        let folded = try await answer(ok + "X: a\r\n b\r\nContent-Length: 0\r\n\r\n")
        #expect(folded.response?.header("x") == "a b" || folded.response?.header("x") == "a  b")
    }
}
