// Wherry: acceptance tests of request bodies compressed with gzip or deflate
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry
import WherrySystem

@Suite struct BodyCodingTests {
    private let scope: TestServer.Scope
    private let client: Client
    private let folder: TemporaryFolder

    init() throws {
        scope = try TestServer.shared.scope()
        client = try makeClient(scope)
        folder = try TemporaryFolder()
    }

    private struct Sink: Decodable {
        let bytes: Int
        let sha256: String
        let inflated: Int?
        let inflatedDigest: String?
        let whole: Bool?

        enum CodingKeys: String, CodingKey {
            case bytes, sha256, inflated, whole
            case inflatedDigest = "inflated_sha256"
        }
    }

    /// Lines as in a log, which compress to a tenth.
    private static func lines(_ count: Int) -> [UInt8] {
        var text: [UInt8] = []
        while text.count < count {
            text += Array(
                "{\"line\": \(text.count), \"level\": \"info\", \"text\": \"as before\"}\n".utf8)
        }
        return Array(text[..<count])
    }

    private func hex(_ bytes: [UInt8]) -> String { Hex.encode(Digest.hash(of: bytes, .sha256)) }

    private func file(_ bytes: [UInt8]) throws -> String {
        let path = folder.file(UUID().uuidString)
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        return path
    }

    private func pieces(_ bytes: [UInt8]) -> AsyncStream<[UInt8]> {
        AsyncStream { continuation in
            for start in stride(from: 0, to: bytes.count, by: 70_000) {
                continuation.yield(Array(bytes[start..<min(start + 70_000, bytes.count)]))
            }
            continuation.finish()
        }
    }

    private func request(
        _ url: String, _ body: Request.Body = .none, _ coding: ContentCoding? = .gzip,
        method: String = "POST"
    ) -> Request {
        var request = Request(url, method: method)
        request.body = body
        request.bodyCoding = coding
        return request
    }

    /// Checks that the server decompressed the body, and that the result equals the input.
    private func check(_ sink: Sink, _ bytes: [UInt8], _ comment: Comment) {
        #expect(sink.inflated == bytes.count && sink.whole == true, comment)
        #expect(sink.inflatedDigest == hex(bytes), comment)
        #expect(sink.bytes < bytes.count, comment)
    }

    private func last() throws -> LoggedRequest { try #require(try scope.requests().last) }

    @Test(
        "R37 a body from any source is sent compressed, and the server decompresses it",
        arguments: [ContentCoding.gzip, .deflate])
    func allBodies(coding: ContentCoding) async throws {
        let small = Self.lines(5_000)
        let medium = Self.lines(1 << 20)
        let large = Self.lines(3_000_001)
        let pairs = (0..<200).map { Request.Pair("name\($0)", "value") }
        let form = pairs.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
        let bodies: [(Request.Body, [UInt8], isWhole: Bool)] = [
            (.json(Bytes(small)), small, true),
            (.form(pairs), Array(form.utf8), true),
            (.bytes(Bytes(medium), contentType: "text/plain"), medium, true),
            (.bytes(Bytes(large), contentType: nil), large, false),
            (.file(path: try file(large), contentType: "text/plain"), large, false),
            (.file(path: try file(small), contentType: nil), small, false),
        ]
        for (index, (body, bytes, isWhole)) in bodies.enumerated() {
            let sink = try await client.send(request("sink", body, coding), as: Sink.self)
            check(sink, bytes, "\(index)")
            let seen = try last()
            #expect(seen.header("content-encoding") == (coding == .gzip ? "gzip" : "deflate"))
            // A body compressed while it is sent has an unknown length.
            #expect(seen.header("content-length") == (isWhole ? "\(sink.bytes)" : nil), "\(index)")
            #expect(seen.header("transfer-encoding") == (isWhole ? nil : "chunked"), "\(index)")
        }
        for length in [Int64(large.count), nil] {
            let sink = try await client.send(
                request("sink", .none, coding), body: pieces(large), length: length
            ).decode(Sink.self)
            check(sink, large, "\(length ?? -1)")
            #expect(try last().header("transfer-encoding") == "chunked")
        }
        // Parameters become JSON.
        var asked = request("sink", .none, coding)
        asked.parameters = ["text": .string(String(decoding: small, as: UTF8.self))]
        let sink = try await client.send(asked, as: Sink.self)
        #expect(sink.whole == true && sink.bytes < 1_000)
        #expect(try last().header("content-type") == "application/json")
    }

    @Test(
        "R37 HTTP/2 compresses too, without a length",
        .enabled(if: NginxServer.isInstalled, "nginx is missing: run scripts/setup"))
    func http2() async throws {
        let nginx = try NginxServer.shared
        let client = try makeClient {
            $0.caFile = nginx.ca
            $0.httpVersion = .http2
        }
        let bytes = Self.lines(3_000_001)
        let local = try #require(URL(string: scope.url("/sink")))
        let url = nginx.tlsURL("/via/\(try #require(local.port))\(local.path)")
        for body in [Request.Body.bytes(Bytes(bytes), contentType: nil), .json(Bytes("[\(0)]"))] {
            var asked = request(url, body)
            asked.bodyCodingMinBytes = 2
            let response = try await client.send(asked)
            #expect(response.metrics.httpVersion == 20)
            let sink = try response.decode(Sink.self)
            if case .bytes = body { check(sink, bytes, "") } else { #expect(sink.bytes == 3) }
        }
    }

    @Test("R37 compression is off unless the client or the request enables it")
    func optIn() async throws {
        let bytes = Self.lines(5_000)
        let body = Request.Body.bytes(Bytes(bytes), contentType: nil)
        var sink = try await client.send(request("sink", body, nil), as: Sink.self)
        #expect(sink.bytes == bytes.count && sink.inflated == nil)
        let other = try makeClient(scope) { $0.bodyCoding = .deflate }
        sink = try await other.send(request("sink", body, nil), as: Sink.self)
        check(sink, bytes, "the client's")
        #expect(try last().header("content-encoding") == "deflate")
        sink = try await other.send(request("sink", body, .identity), as: Sink.self)
        #expect(sink.bytes == bytes.count && sink.inflated == nil)
        #expect(try last().header("content-encoding") == nil)
        #expect(try await other.send(Request("sink")).status == 200)
        #expect(try last().header("content-encoding") == nil)
    }

    @Test("R37 small bodies, incompressible bodies, and multipart forms are sent unchanged")
    func leftAlone() async throws {
        let random = TestPattern.bytes(count: 50_000)
        let text = Self.lines(1_023)
        let picture = try Image.pixels([UInt8](repeating: 7, count: 48), .rgb8, width: 4, height: 4)
        let bodies: [Request.Body] = [
            .bytes(Bytes(text), contentType: nil), .bytes(Bytes(random), contentType: nil),
            .bytes(Bytes(), contentType: nil), .file(path: try file(text), contentType: nil),
            .file(path: try file([]), contentType: nil),
            .multipart([.field("a", String(decoding: Self.lines(5_000), as: UTF8.self))]),
            .multipart([.image("p", picture)]),
        ]
        for (index, body) in bodies.enumerated() {
            let sink = try await client.send(request("sink", body), as: Sink.self)
            #expect(sink.inflated == nil, "\(index)")
            let seen = try last()
            #expect(seen.header("content-encoding") == nil, "\(index)")
            #expect(seen.header("content-length") == "\(sink.bytes)", "\(index)")
        }
        // The minimum length is a setting.
        var asked = request("sink", .bytes(Bytes(text), contentType: nil))
        asked.bodyCodingMinBytes = 1_023
        check(try await client.send(asked, as: Sink.self), text, "as asked")
    }

    @Test("R37 a setting decides about bodies with a Content-Encoding: skip, replace, error")
    func codedAlready() async throws {
        let bytes = Self.lines(5_000)
        let coded = try #require(Deflater.code(Bytes(bytes), .gzip))
        for fromClient in [false, true] {
            let client = try makeClient(scope) {
                if fromClient { $0.headers["Content-Encoding"] = "gzip" }
            }
            func asked(_ rule: Request.CodedBody?, _ bytes: Bytes) -> Request {
                var asked = request("sink", .bytes(bytes, contentType: nil), .deflate)
                if !fromClient { asked.headers["content-encoding"] = "gzip" }
                asked.codedBody = rule
                return asked
            }
            for rule in [nil, Request.CodedBody.skip] {
                let sink = try await client.send(asked(rule, coded), as: Sink.self)
                #expect(sink.bytes == coded.count && sink.inflatedDigest == hex(bytes))
                #expect(try last().header("content-encoding") == "gzip")
            }
            let sink = try await client.send(asked(.replace, Bytes(bytes)), as: Sink.self)
            check(sink, bytes, "replaced")
            let fields = try last().headers.filter { $0[0].lowercased() == "content-encoding" }
            #expect(fields.map { $0[1] } == ["deflate"])
            let count = try scope.requests().count
            let error = #expect(throws: WherryError.self) {
                try client.start(asked(.error, coded))
            }
            #expect(error?.reason == "bad_header")
            #expect(error?.message.contains("gzip") == true)
            #expect(try scope.requests().count == count)
        }
        // A suppressed header means no encoding, whatever the setting.
        var asked = request("sink", .bytes(Bytes(bytes), contentType: nil))
        asked.headers.suppress("Content-Encoding")
        asked.codedBody = .error
        #expect(try await client.send(asked, as: Sink.self).bytes == bytes.count)
    }

    @Test("R37 a redirect, a 401, and a retry send the compressed body from its beginning")
    func anew() async throws {
        let bytes = Self.lines(2_500_000)
        let small = Self.lines(5_000)
        for (body, bytes) in [
            (Request.Body.bytes(Bytes(small), contentType: nil), small),
            (.bytes(Bytes(bytes), contentType: nil), bytes),
            (.file(path: try file(bytes), contentType: nil), bytes),
        ] {
            for status in [307, 308] {
                let url = "redirect-to?status=\(status)&url=\(scope.url("/sink"))"
                let sink = try await client.send(request(url, body), as: Sink.self)
                check(sink, bytes, "\(status)")
                // The same bytes each time.
                let answer = try await client.send(request("sink", body), as: Sink.self)
                #expect(sink.sha256 == answer.sha256)
            }
            let again = try makeClient(scope) { $0.maxRetries = 2 }
            let path = "sink?status_first=503&status_times=1&n=\(bytes.count)"
            check(
                try await again.send(request(path, body, method: "PUT"), as: Sink.self), bytes,
                "again")
            var asked = request("auth/digest/skye/p", body)
            asked.credentials = .digest("skye", "p")
            let scope = try TestServer.shared.scope()
            let client = try makeClient(scope)
            struct Answer: Decodable { let sha256: String }
            let answer = try await client.send(asked, as: Answer.self)
            #expect(try scope.requests().map(\.status) == [401, 200])
            let sink = try await client.send(request("sink", body), as: Sink.self)
            #expect(answer.sha256 == sink.sha256)
        }
        // A redirect that drops the body drops the header, too.
        let url = "redirect-to?status=303&url=\(scope.url("/echo"))"
        let echo = try await client.echo(
            request(url, .bytes(Bytes(small), contentType: nil)))
        #expect(echo.method == "GET" && echo.size == 0 && echo.values("content-encoding") == [])
    }

    @Test("R37 a restarted stream is compressed again after a redirect")
    func rewound() async throws {
        let whole = (0..<40).flatMap { piece in
            [UInt8](repeating: UInt8(truncatingIfNeeded: 39 - piece), count: 50_000)
        }
        let asked = request("redirect-to?status=307&url=\(scope.url("/sink"))")
        let response = try await client.send(
            asked, length: nil, rewindableBody: { Pieces(count: 40, size: 50_000) })
        check(try response.decode(Sink.self), whole, "")
    }

    @Test("R37 the digest of a body covers the bytes that are sent")
    func digests() async throws {
        let bytes = Self.lines(2_500_000)
        for body in [
            Request.Body.bytes(Bytes(Self.lines(5_000)), contentType: nil),
            .bytes(Bytes(bytes), contentType: nil), .file(path: try file(bytes), contentType: nil),
        ] {
            var asked = request("sink", body)
            asked.bodyDigest = .sha256
            let sink = try await client.send(asked, as: Sink.self)
            #expect(sink.whole == true)
            let digest = Data(try #require(Hex.decode(sink.sha256))).base64EncodedString()
            #expect(try last().header("content-digest") == "sha-256=:\(digest):")
        }
    }

    @Test("R37 progress counts the original body, and the wire size counts the bytes sent")
    func progress() async throws {
        let bytes = Self.lines(3_000_000)
        for body in [
            Request.Body.bytes(Bytes(Self.lines(500_000)), contentType: nil),
            .bytes(Bytes(bytes), contentType: nil), .file(path: try file(bytes), contentType: nil),
        ] {
            let handle = try client.start(request("sink", body))
            let size = Int64(try await handle.value.decode(Sink.self).inflated ?? 0)
            let last = handle.transfer.progress
            #expect(last.completed == size && last.total == size && last.fraction == 1)
            #expect(last.wire > 0 && last.wire < size / 2)
        }
    }

    @Test("R37 equal requests share a response, and those with another encoding do not")
    func shared() async throws {
        let body = Request.Body.json(Bytes(Self.lines(5_000)))
        let codings: [ContentCoding?] = [.gzip, .gzip, .deflate, nil]
        let handles = try codings.map { coding in
            var asked = request("sink?gate=g", body, coding)
            asked.coalesces = true
            return try client.start(asked)
        }
        try await scope.wait("requests=3")
        try scope.open(gate: "g")
        for handle in handles { #expect(try await handle.value.status == 200) }
        #expect(try scope.requests().count == 3)
    }

    @Test(
        "R37 the curl command sends the same body, compressed",
        arguments: [ContentCoding.gzip, .deflate])
    func curlCommand(coding: ContentCoding) async throws {
        let bytes = Self.lines(5_000)
        let bodies: [Request.Body] = [
            .bytes(Bytes(bytes), contentType: "text/plain"),
            .file(path: try file(bytes), contentType: "text/plain"),
            // Bytes that a shell word cannot hold.
            .bytes(Bytes(Array(repeating: [0, 1, 39], count: 1_000).joined()), contentType: nil),
        ]
        for body in bodies {
            let asked = request("echo", body, coding)
            let command = try client.curlCommand(of: asked, revealingSecrets: true)
            struct Seen: Decodable, Equatable {
                let decoded: String
                let headers: [[String]]
                var coding: [String] {
                    headers.filter { $0[0].lowercased() == "content-encoding" }.map { $0[1] }
                }
            }
            let pasted = try JSONDecoder().decode(Seen.self, from: shell(command))
            let sent = try await client.send(asked, as: Seen.self)
            #expect(pasted.decoded == sent.decoded && !sent.decoded.isEmpty, "\(command)")
            #expect(pasted.coding == sent.coding && sent.coding.count == 1, "\(command)")
        }
        // A body sent unchanged is in the command unchanged.
        let plain = try client.curlCommand(
            of: request("echo", .bytes(Bytes("small"), contentType: nil), coding),
            revealingSecrets: true)
        #expect(!plain.contains("Content-Encoding") && plain.contains("--data-raw small"))
    }
}
