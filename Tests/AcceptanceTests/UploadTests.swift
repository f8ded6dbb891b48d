// Wherry: acceptance tests of uploads
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry
import WherrySystem

@Suite struct UploadTests {
    private let scope: TestServer.Scope
    private let client: Client

    init() throws {
        scope = try TestServer.shared.scope()
        client = try makeClient(scope)
    }

    /// An image with compressible content.
    private func picture(_ width: Int = 64, _ height: Int = 48) throws -> Image {
        var pixels: [UInt8] = []
        for y in 0..<height {
            for x in 0..<width {
                pixels += [
                    UInt8(truncatingIfNeeded: x * 4 ^ y), UInt8(truncatingIfNeeded: y * 5), 90,
                ]
            }
        }
        return try .pixels(pixels, .rgb8, width: width, height: height)
    }

    /// The images as the server received them.
    private func parts(
        _ images: [Image], name: String = "photo", _ compression: Compression = Compression(),
        parameters: JSONObject = [:], change: (inout Request) -> Void = { _ in }
    ) async throws -> [Echo.Part] {
        var request = Request("echo", method: "POST")
        request.parameters = parameters
        for image in images { request.add(.image(name, image, compression)) }
        change(&request)
        return try #require(try await client.echo(request).parts)
    }

    @Test("C2 one rule joins URLs of uploads")
    func joins() async throws { try await proveJoins(with: .multipart([.field("a", "1")])) }

    @Test("C5 uploads have the default parameters as fields and the client's headers")
    func defaults() async throws {
        let client = try makeClient(scope) {
            $0.parameters = ["token": "t", "a": "default"]
            $0.headers = ["X-Token": "h"]
        }
        var request = Request("echo", method: "POST")
        request.body = .multipart([.field("own", "1")])
        let echo = try await client.echo(request)
        let fields = try #require(echo.parts).map { [$0.name, $0.text] }
        #expect(fields == [["token", "t"], ["a", "default"], ["own", "1"]])
        #expect(echo.values("x-token") == ["h"])
    }

    @Test("U1 images are sent by POST as one form, one or many of them")
    func call() async throws {
        for count in [1, 3] {
            let images = try (0..<count).map { _ in try picture() }
            let upload = try client.upload(images, to: "echo", name: "photo")
            #expect(upload.transfer.kind == .upload)
            let echo = try await upload.value.decode(Echo.self)
            #expect(echo.method == "POST")
            #expect(echo.values("content-type")[0].hasPrefix("multipart/form-data; boundary="))
            #expect(echo.values("content-length").count == 1 && !echo.chunked)
            #expect(echo.parts?.count == count)
        }
        var request = Request(scope.url("/echo"), method: "POST")
        request.ignoresBase = true
        request.add(.image("photo", try picture()))
        #expect(try await client.echo(request).parts?.count == 1)
    }

    @Test("U2 no images is an error at once, and nothing is sent")
    func noImages() async throws {
        let error = await failure { () throws(WherryError) in
            try client.upload([], to: "echo", name: "photo")
        }
        #expect(error?.code == .argument && error?.reason == "no_images")
        #expect(try scope.requests().isEmpty)
    }

    @Test("U3 fields are the name and an index, or as requested, in order")
    func fieldNames() async throws {
        let images = try [picture(8, 8), picture(9, 9), picture(10, 10)]
        #expect(
            try await parts(images, name: "color").map(\.name) == ["color0", "color1", "color2"])
        #expect(try await parts([images[0]], name: "color").map(\.name) == ["color0"])
        #expect(
            try await parts(images) { $0.imageNaming = .repeat }.map(\.name)
                == ["photo", "photo", "photo"])
        #expect(
            try await parts(images) { $0.imageNaming = .brackets }.map(\.name)
                == ["photo[]", "photo[]", "photo[]"])
    }

    @Test("U4 fifty images have fifty file names, unless names are given")
    func fileNames() async throws {
        let image = try picture(4, 4)
        let names = try await parts(Array(repeating: image, count: 50)).compactMap(\.filename)
        #expect(Set(names).count == 50)
        for name in names { #expect(name.wholeMatch(of: #/\d{13}\d+\.jpg/#) != nil, "\(name)") }
        var named = image
        named.fileName = "sunset.jpg"
        #expect(try await parts([named]).map(\.filename) == ["sunset.jpg"])
    }

    @Test("U5 the type words are SJNetwork's")
    func types() async throws {
        let words = [
            ("png", "png", "image/png"), ("PNG", "png", "image/png"), ("jpg", "jpg", "image/jpeg"),
            ("JPG", "jpg", "image/jpeg"), ("jpeg", "jpg", "image/jpeg"),
            ("JPEG", "jpg", "image/jpeg"), ("gif", "jpg", "image/jpeg"),
        ]
        for (word, ending, type) in words {
            let part = try await parts([try picture()], Compression(quality: 1, type: word))[0]
            #expect(part.filename?.hasSuffix("." + ending) == true, "\(word)")
            #expect(part.type == type, "\(word)")
        }
        let compatible = try await parts([try picture()]) { $0.jpegContentType = "image/jpg" }
        #expect(compatible[0].type == "image/jpg")
    }

    @Test("U6 quality applies to JPEG; outside 0 to 1 it is 1, and PNG ignores it")
    func quality() async throws {
        func size(_ quality: Double, _ type: String) async throws -> Echo.Part {
            try await parts([try picture(200, 200)], Compression(quality: quality, type: type))[0]
        }
        let full = try await size(1, "jpg")
        #expect(try await size(0.5, "jpg").size < full.size)
        #expect(try await size(0, "jpg").size < size(0.5, "jpg").size)
        for quality in [7, -1, Double.nan] {
            #expect(try await size(quality, "jpg").sha256 == full.sha256)
        }
        let png = try await size(1, "png")
        for quality in [0, 0.5, 9] { #expect(try await size(quality, "png").sha256 == png.sha256) }
    }

    @Test("U7 at quality 1 a matching file is sent unchanged")
    func original() async throws {
        // A first upload creates the image; the second time nothing has to be stripped.
        let folder = try TemporaryFolder()
        let server = try TestServer(saveDirectory: folder.path)
        defer { server.stop() }
        for type in ["jpg", "png"] {
            var request = Request(server.url("/upload-photo"), method: "POST")
            var image = try picture()
            image.fileName = "made.\(type)"
            request.add(.image("photo", image, Compression(quality: 0.8, type: type)))
            _ = try await client.send(request)
            let made = try #require(try folder.names.first { $0.hasSuffix(type) })
            let bytes = try folder.contents(made)
            for source in [Image.file(folder.file(made)), .data(bytes)] {
                let part = try await parts([source])[0]
                #expect(part.size == bytes.count)
                #expect(part.sha256 == Self.sha256(bytes))
            }
        }
    }

    static func sha256(_ data: Data) -> String {
        Hex.encode(Digest.hash(of: Array(data), .sha256))
    }

    @Test("U9 parameters are fields, nested ones by brackets, null empty, bytes as they are")
    func parameters() async throws {
        let echo = try await parts(
            [try picture()],
            parameters: ["a": ["b": [1, 2]], "n": nil, "t": "天 & co", "f": false]
        ) { $0.add(.bytes("raw", Bytes([0, 255, 10]))) }
        let fields = echo.filter { $0.filename == nil }.map { [$0.name, $0.text] }
        #expect(
            fields.prefix(5) == [
                ["a[b][]", "1"], ["a[b][]", "2"], ["n", ""], ["t", "天 & co"], ["f", "0"],
            ])
        #expect(echo.last?.name == "raw" && echo.last?.size == 3)
    }

    @Test("U10 progress rises to the complete body and ends there")
    func progress() async throws {
        let images = try (0..<8).map { try picture(400, 300 + $0) }
        let upload = try client.upload(
            images, to: "echo", name: "photo", compression: Compression(quality: 1, type: "png"))
        var last = TransferProgress()
        for await progress in upload.progress {
            #expect(progress.completed >= last.completed)
            #expect(progress.completed <= progress.total ?? 0)
            last = progress
        }
        let echo = try await upload.value.decode(Echo.self)
        #expect(last.completed == last.total && last.fraction == 1)
        #expect(last.total == Int64(echo.size))
        let pictures = try #require(echo.parts).reduce(0) { $0 + $1.size }
        #expect(echo.size > pictures)
        #expect(upload.images.count == 8 && upload.images.allSatisfy { $0.error == nil })
    }

    @Test("U11 a failed upload names all its images and keeps the server's text")
    func refused() async throws {
        let upload = try client.upload(
            [try picture(), try picture()], to: "status/500?body=full", name: "photo")
        let error = await failure { () throws(WherryError) in try await upload.value }
        #expect(error?.httpStatus == 500)
        #expect(error?.response?.text == "full")
        #expect(error?.failedImages.map(\.index) == [0, 1])
    }

    @Test("U11 a broken image fails the upload before a byte is sent, and is named")
    func brokenPicture() async throws {
        let broken = Image.bytes(Bytes("no picture"), fileName: "broken.jpg")
        let missing = Image.file("/nowhere/missing.jpg")
        let upload = try client.upload(
            [try picture(), broken, missing], to: "echo", name: "photo")
        let error = await failure { () throws(WherryError) in try await upload.value }
        #expect(error?.failedImages.map(\.index) == [1, 2])
        #expect(error?.failedImages.first?.fileName == "broken.jpg")
        #expect(error?.failedImages.first?.error?.code == .image)
        #expect(error?.failedImages.last?.error?.code == .file)
        #expect(Set(upload.images.map(\.index)) == [0, 1, 2])
        #expect(try scope.requests().isEmpty)
    }

    @Test("R9 a file body is streamed with its length, and memory use stays constant")
    func fileBody() async {
        await #expect(processExitsWith: .success) {
            let client = try makeClient(try TestServer.shared.scope())
            let folder = try TemporaryFolder()
            func send(_ size: Int) async throws -> Int {
                let path = folder.file("body\(size)")
                try #require(FileManager.default.createFile(atPath: path, contents: nil))
                let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
                try file.truncate(atOffset: UInt64(size))
                try file.close()
                var request = Request("sink", method: "PUT")
                request.body = .file(path: path, contentType: "application/x-thing")
                let handle = try client.start(request)
                var most = 0
                for await _ in handle.progress { most = max(most, try residentBytes()) }
                try #require(try await handle.value.json().integer(at: "bytes") == Int64(size))
                return max(most, try residentBytes())
            }
            let before = try await send(10_000_000)
            let after = try await send(100_000_000)
            try #require(after - before < 8_000_000)
        }
    }

    @Test("U12 a file part is read while it is sent, and memory use stays constant")
    func filePart() async {
        await #expect(processExitsWith: .success) {
            let client = try makeClient(try TestServer.shared.scope())
            let folder = try TemporaryFolder()
            func send(_ size: Int) async throws -> Int {
                let path = folder.file("part\(size)")
                try #require(FileManager.default.createFile(atPath: path, contents: nil))
                // Sparse: it takes no space on the disk.
                try #require(truncate(path, off_t(size)) == 0)
                var request = Request("sink", method: "POST")
                request.body = .multipart([.field("a", "b"), .file("large", path: path)])
                let handle = try client.start(request)
                var most = 0
                for await _ in handle.progress { most = max(most, try residentBytes()) }
                let arrived = try await handle.value.json().integer(at: "bytes") ?? 0
                try #require(arrived > Int64(size) && arrived < Int64(size) + 4096)
                return max(most, try residentBytes())
            }
            let before = try await send(10_000_000)
            let after = try await send(loops(20) == 20 ? 2 << 30 : 256 << 20)
            try #require(after - before < 8 << 20)
        }
    }

    @Test("R9 a missing file is an error before anything is sent")
    func missingFile() async throws {
        for body: Request.Body in [
            .file(path: "/nowhere/body", contentType: nil),
            .multipart([.file("f", path: "/nowhere/body")]),
            .file(path: "/", contentType: nil),
        ] {
            var request = Request("echo", method: "POST")
            request.body = body
            let sent = request
            let error = await failure { () throws(WherryError) in try await client.send(sent) }
            #expect(error?.code == .file)
        }
        #expect(try scope.requests().isEmpty)
    }

    @Test("U14 a body comes from a sequence, with or without a known length")
    func sequenceBody() async throws {
        let pieces = Pieces(count: 300, size: 10_000)
        for length in [Int64(3_000_000), nil] {
            let response = try await client.send(
                Request("sink", method: "PUT"), body: pieces, length: length)
            #expect(try response.json().integer(at: "bytes") == 3_000_000)
            let seen = try #require(try scope.requests().last)
            #expect(seen.header("content-length") == length.map { "\($0)" })
        }
    }

    @Test("U14 a sequence of a wrong length, or that throws, ends the upload")
    func brokenSequence() async throws {
        struct Broken: Error {}
        await #expect(throws: WherryError.self) {
            try await client.send(
                Request("sink", method: "PUT"), body: Pieces(count: 3), length: 31)
        }
        await #expect(throws: WherryError.self) {
            try await client.send(
                Request("sink", method: "PUT"), body: Pieces(count: 3), length: 29)
        }
        let broken = AsyncThrowingStream<[UInt8], any Error> { continuation in
            continuation.yield([1, 2, 3])
            continuation.finish(throwing: Broken())
        }
        await #expect(throws: Broken.self) {
            try await client.send(Request("sink", method: "PUT"), body: broken)
        }
        #expect(client.wait(timeout: .seconds(60)))
    }

    @Test("U14 the server may respond before the sequence ends")
    func earlyResponse() async throws {
        let endless = AsyncStream<[UInt8]> { Array(repeating: 0, count: 1000) }
        let started = Task { [client] in
            try await client.send(Request("sink?early=413", method: "PUT"), body: endless)
        }
        let error = await #expect(throws: WherryError.self) { try await started.value }
        #expect(error?.httpStatus == 413)
    }
}
