// Wherry: acceptance tests of sources of bodies and parts, and replaying them
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry
import WherrySystem

@Suite struct UploadBodyTests {
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
    }

    private func file(_ name: String, _ bytes: [UInt8]) throws -> String {
        try Data(bytes).write(to: URL(fileURLWithPath: folder.file(name)))
        return folder.file(name)
    }

    private func hex(_ bytes: [UInt8]) -> String { Hex.encode(Digest.hash(of: bytes, .sha256)) }

    private func base64(_ bytes: [UInt8], _ algorithm: DigestAlgorithm) -> String {
        Data(Digest.hash(of: bytes, algorithm)).base64EncodedString()
    }

    /// The bytes in chunks of 70,000.
    private func pieces(_ bytes: [UInt8]) -> AsyncStream<[UInt8]> {
        AsyncStream { continuation in
            for start in stride(from: 0, to: bytes.count, by: 70_000) {
                continuation.yield(Array(bytes[start..<min(start + 70_000, bytes.count)]))
            }
            continuation.finish()
        }
    }

    // MARK: U12

    @Test("U12 all parts have headers, and images too")
    func partHeaders() async throws {
        var request = Request("echo", method: "POST")
        var part = Request.Part.bytes("a", Bytes("1"), fileName: "a.txt")
        part.headers = ["X-First": "1", "Content-Language": "de"]
        request.add(part)
        let image = try Image.pixels([UInt8](repeating: 9, count: 12), .rgb8, width: 2, height: 2)
        part = .image("p", image)
        part.headers = ["X-Picture": "yes"]
        request.add(part)
        let parts = try #require(try await client.echo(request).parts)
        #expect(
            parts[0].headers?.map(\.[0]) == [
                "Content-Disposition", "Content-Type", "X-First", "Content-Language",
            ])
        #expect(parts[0].headers?.last == ["Content-Language", "de"])
        #expect(parts[1].headers?.last == ["X-Picture", "yes"])
    }

    @Test(
        "U12 a part header that would break the form is refused before anything is sent",
        arguments: [
            ("X-A", "b\r\nX-C: d"), ("X A", "b"), ("", "b"), ("X-A", "\0"),
            ("content-Disposition", "form-data"), ("Content-Type", "text/plain"),
        ], [true, false])
    func badPartHeader(field: (String, String), withPicture: Bool) async throws {
        var request = Request("echo", method: "POST")
        var part = Request.Part.field("a", "1")
        part.headers.append(field.0, field.1)
        request.add(part)
        if withPicture {
            let image = try Image.pixels([1, 2, 3], .rgb8, width: 1, height: 1)
            request.add(.image("p", image))
        }
        let bad = request
        let error = await failure { () throws(WherryError) in try await client.send(bad) }
        #expect(error?.reason == "bad_header")
        #expect(try scope.requests().isEmpty)
    }

    @Test(
        "U12 parts of known size are written while the form is sent, with bytes, files, and images"
    )
    func streamParts() async throws {
        let first = TestPattern.bytes(seed: 3, count: 900_001)
        let second = TestPattern.bytes(seed: 4, count: 5)
        var request = Request("echo", method: "POST")
        request.add(.field("before", "1"))
        request.add(
            .stream("s", length: Int64(first.count), fileName: "a.bin", contentType: "x/first"))
        request.add(.stream("none", length: 0))
        request.add(.file("f", path: try file("f.txt", Array("from a file".utf8))))
        request.add(
            .image("p", try .pixels([1, 2, 3], .rgb8, width: 1, height: 1, fileName: "p.png")))
        request.add(.stream("t", length: 5))
        request.add(.field("after", "2"))
        let echo = try await client.send(request, writing: pieces(first + second))
            .decode(Echo.self)
        let parts = try #require(echo.parts)
        #expect(parts.map(\.name) == ["before", "s", "none", "f", "p0", "t", "after"])
        #expect(parts.map(\.filename) == [nil, "a.bin", nil, "f.txt", "p.png", nil, nil])
        #expect(parts[1].type == "x/first" && parts[1].sha256 == hex(first))
        #expect(parts[2].size == 0 && parts[5].sha256 == hex(second))
        #expect(echo.chunked == false && echo.values("content-length") == ["\(echo.size)"])
    }

    @Test("U12 a written part has exactly its announced size", arguments: [4, 6])
    func wrongSize(count: Int) async throws {
        var request = Request("sink", method: "POST")
        request.add(.stream("s", length: 5))
        let form = request
        let error = await #expect(throws: WherryError.self) {
            try await client.send(form, writing: pieces([UInt8](repeating: 1, count: count)))
        }
        #expect(error?.reason == (count == 4 ? "truncated" : "wrong_state"))
    }

    @Test("U12 a written part needs a size, a writer, and a single request")
    func writtenPartRules() throws {
        for lengths in [[-1], [Int64.max, 1]] {
            var request = Request("sink", method: "POST")
            for length in lengths { request.add(.stream("s", length: length)) }
            #expect(throws: WherryError.self) { try client.start(request) }
        }
        var request = Request("sink", method: "POST")
        request.add(.stream("s", length: 5))
        var error = #expect(throws: WherryError.self) { try client.perform(request) }
        #expect(error?.reason == "needs_queue")
        request.add(.image("p", try .pixels([1, 2, 3], .rgb8, width: 1, height: 1)))
        request.separateImages = 1
        error = #expect(throws: WherryError.self) { try client.start(request) }
        #expect(error?.reason == "bad_argument")
        #expect(try scope.requests().isEmpty)
    }

    // MARK: U13

    /// The other half of U13, a body replayed after a Digest 401, is in the tests of credentials.
    @Test(
        "U13 a redirect gets the complete body again from any source", arguments: [307, 308])
    func replay(status: Int) async throws {
        let bytes = TestPattern.bytes(count: 300_000)
        let path = try file("body.bin", bytes)
        let image = try Image.pixels(
            [UInt8](repeating: 7, count: 48), .rgb8, width: 4, height: 4, fileName: "p.png")
        let bodies: [Request.Body] = [
            .bytes(Bytes(bytes), contentType: nil), .file(path: path, contentType: nil),
            .multipart([
                .field("a", "1"), .bytes("b", Bytes(bytes), fileName: "b"), .file("f", path: path),
                .image("p", image),
            ]),
        ]
        var sizes: [String] = []
        for body in bodies {
            var request = Request("redirect/2?status=\(status)", method: "POST")
            request.body = body
            let echo = try await client.echo(request)
            let expected = hex(bytes)
            if let parts = echo.parts {
                #expect(parts.map(\.name) == ["a", "b", "f", "p0"])
                #expect(parts[1].sha256 == expected && parts[2].sha256 == expected)
            } else {
                #expect(hex(Array(try #require(Data(base64Encoded: echo.body)))) == expected)
            }
            sizes.append("\(echo.size)")
        }
        // The redirected requests are outside this test's scope of the server.
        try await scope.wait("ended=3")
        let lengths = try scope.requests().map { $0.header("content-length") ?? "" }
        #expect(lengths.sorted() == sizes.sorted())
    }

    @Test("U13 a body that was written once cannot be sent again, and that is an error")
    func noReplay() async throws {
        var request = Request("redirect/1?status=307", method: "POST")
        request.add(.stream("s", length: 1000))
        let form = request
        let error = await #expect(throws: WherryError.self) {
            try await client.send(form, writing: Pieces(count: 100))
        }
        #expect(error?.reason == "redirect_refused" && error?.httpStatus == 307)
    }

    // MARK: U14, U15

    @Test("U14 a file, bytes, and a sequence arrive byte for byte", arguments: ["PUT", "POST"])
    func plainUploads(method: String) async throws {
        let bytes = TestPattern.bytes(seed: 5, count: 700_001)
        let path = try file("up.bin", bytes)
        for body in [
            Request.Body.file(path: path, contentType: "x/y"),
            .bytes(Bytes(bytes), contentType: nil),
        ] {
            var request = Request("sink", method: method)
            request.body = body
            let sink = try await client.send(request, as: Sink.self)
            #expect(sink.bytes == bytes.count && sink.sha256 == hex(bytes))
        }
        for length in [Int64(bytes.count), nil] {
            let sink = try await client.send(
                Request("sink", method: method), body: pieces(bytes), length: length
            ).decode(Sink.self)
            #expect(sink.bytes == bytes.count && sink.sha256 == hex(bytes))
        }
    }

    @Test("U15 an upload stays under the rate limit of the client and of the request")
    func sendRate() async throws {
        let slow = try makeClient(scope) { $0.maxSendBytesPerSecond = 400_000 }
        var limited = Request("sink", method: "POST")
        limited.maxSendBytesPerSecond = 400_000
        for (client, request) in [(slow, Request("sink", method: "POST")), (self.client, limited)] {
            var request = request
            request.body = .multipart([
                .bytes("f", Bytes([UInt8](repeating: 1, count: 600_000)), fileName: "f")
            ])
            let start = ContinuousClock.now
            let sink = try await client.send(request, as: Sink.self)
            // Less time would violate the limit; more is a busy machine.
            #expect(ContinuousClock.now - start > .milliseconds(900))
            #expect(sink.bytes > 600_000)
        }
    }

    // MARK: U24

    @Test(
        "U24 hostile names stay in one part, and are repeated as filename* on request")
    func hostileNames() async throws {
        let hostile = "a\"b\r\n天.jpg"
        let image = try Image.pixels([1, 2, 3], .rgb8, width: 1, height: 1, fileName: hostile)
        for isExtended in [false, true] {
            var request = Request("echo", method: "POST")
            request.sendsExtendedNames = isExtended
            request.add(.bytes("n\"\r\nX: y", Bytes("1"), fileName: hostile))
            request.add(.file("f", path: try file("x", [1]), fileName: "plain.txt"))
            request.add(.image("p", image))
            let parts = try #require(try await client.echo(request).parts)
            #expect(parts.count == 3)
            let shown = parts.map { $0.headers?[0][1] ?? "" }
            #expect(shown[0].contains(#"filename="a%22b%0D%0A天.jpg""#))
            #expect(
                shown.map { $0.contains("filename*=UTF-8''a%22b%0D%0A%E5%A4%A9.jpg") }
                    == [isExtended, false, isExtended])
            // Parsed as browsers write it, or from filename*.
            #expect(parts.map(\.filename) == [hostile, "plain.txt", hostile])
            #expect(parts.allSatisfy { $0.headers?.count == 2 })
        }
    }

    @Test("U24 the digest of a body from any source precedes it")
    func bodyDigests() async throws {
        let bytes = TestPattern.bytes(count: 400_000)
        let path = try file("body.bin", bytes)
        let image = try Image.pixels([1, 2, 3], .rgb8, width: 1, height: 1)
        let bodies: [Request.Body] = [
            .json(Bytes("{}")), .bytes(Bytes(bytes), contentType: nil),
            .bytes(Bytes(), contentType: nil),
            .file(path: path, contentType: nil),
            .multipart([.field("a", "1"), .file("f", path: path), .image("p", image)]),
        ]
        for (kind, name, algorithm) in [
            (ContentDigest.md5, "Content-MD5", DigestAlgorithm.md5),
            (.sha256, "Content-Digest", .sha256),
            (.sha512, "Content-Digest", .sha512),
        ] {
            let client = try makeClient(scope) { $0.bodyDigest = kind }
            for body in bodies {
                var request = Request("redirect/1?status=307", method: "POST")
                request.body = body
                let echo = try await client.echo(request)
                let text = base64(Array(try #require(Data(base64Encoded: echo.body))), algorithm)
                let word = algorithm == .sha256 ? "sha-256" : "sha-512"
                #expect(echo.values(name) == [algorithm == .md5 ? text : "\(word)=:\(text):"])
            }
            var request = Request("echo", method: "POST")
            request.body = .bytes(Bytes("x"), contentType: nil)
            request.headers = ["content-md5": "mine", "content-digest": "mine"]
            #expect(try await client.echo(request).values(name) == ["mine"])
            request.headers = [:]
            request.bodyDigest = ContentDigest.none
            #expect(try await client.echo(request).values(name) == [])
            // A redirect that drops the body drops its headers, too.
            request = Request("redirect/1?status=303", method: "POST")
            request.body = .bytes(Bytes("x"), contentType: nil)
            #expect(try await client.echo(request).values(name) == [])
        }
        #expect(try await client.echo(Request("echo")).values("content-digest") == [])
    }

    @Test(
        "U24 the digest of each file and image is in the headers of its part",
        arguments: [nil, 2])
    func partDigests(separately: Int?) async throws {
        let bytes = TestPattern.bytes(count: 300_000)
        let image = try Image.pixels([1, 2, 3], .rgb8, width: 1, height: 1)
        var request = Request("echo", method: "POST")
        request.partDigests = .sha256
        request.separateImages = separately
        request.add(.field("plain", "1"))
        request.add(.file("f", path: try file("body.bin", bytes)))
        var own = Request.Part.bytes("own", Bytes("1"), fileName: "own")
        own.headers = ["content-digest": "mine"]
        request.add(own)
        if separately != nil { request.add(.image("p", image)) }
        for withPicture in [false, true] where withPicture || separately == nil {
            if withPicture, separately == nil { request.add(.image("p", image)) }
            let parts = try #require(try await client.echo(request).parts)
            for part in parts {
                let found = part.headers?.first { $0[0].lowercased() == "content-digest" }?[1]
                let digest = Data(try #require(Hex.decode(part.sha256))).base64EncodedString()
                switch part.name {
                case "plain": #expect(found == nil)
                case "own": #expect(found == "mine")
                default: #expect(found == "sha-256=:\(digest):")
                }
            }
            #expect(parts.count == (withPicture ? 4 : 3))
        }
    }

    @Test("U24 streamed data has no digest, and SHA-1 digests are not sent")
    func noDigest() throws {
        var request = Request("sink", method: "POST")
        request.bodyDigest = .sha256
        request.add(.stream("s", length: 5))
        var error = #expect(throws: WherryError.self) { try client.start(request) }
        #expect(error?.reason == "bad_option")
        request.body = .stream(length: 5, contentType: nil)
        error = #expect(throws: WherryError.self) { try client.start(request) }
        #expect(error?.reason == "bad_option")
        #expect(try scope.requests().isEmpty)
        for value in [Int64(2), 5, -1] {
            #expect(throws: WherryError.self) {
                try Option.bodyDigest.check(value, in: .request)
            }
        }
    }
}
