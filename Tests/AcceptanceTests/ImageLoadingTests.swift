// Wherry: acceptance tests of images that are loaded, decoded, and kept in memory
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry
import WherrySystem

@Suite struct ImageLoadingTests {
    private let scope: TestServer.Scope
    private let client: Client

    init() throws {
        scope = try TestServer.shared.scope()
        client = try makeClient(scope)
    }

    /// An image whose colors depend on the position, as the bytes of a file.
    private func picture(_ type: String = "jpg") throws -> [UInt8] {
        var bytes: [UInt8] = []
        for y in 0..<120 {
            for x in 0..<160 { bytes += [UInt8(x), UInt8(y * 2), 90] }
        }
        return try Image.pixels(bytes, .rgb8, width: 160, height: 120)
            .compressed(Compression(quality: 0.95, type: type)).bytes.array
    }

    /// Serves the bytes at a URL, a number of times.
    private func serve(
        _ name: String, _ bytes: [UInt8], count: Int = 1, status: Int = 200, control: String = ""
    ) throws -> String {
        let body = Data(bytes).base64EncodedString()
        let step = """
            {"status": \(status), "headers": [["Cache-Control", "\(control)"]], "body_base64": "\(body)"}
            """
        let steps = Array(repeating: step, count: count).joined(separator: ", ")
        try scope.script(name, "[\(steps)]")
        return "s/\(name)"
    }

    @Test("I1 an image is decoded once, and its pixels outlive the memory")
    func once() async throws {
        let url = try serve("a", picture("png"))
        #expect(client.images.cached(url) == nil)
        let first = try await client.images.load(url)
        let again = try await client.images.load(url)
        let found = try #require(client.images.cached(url))
        #expect(first.width == 160 && first.height == 120 && first.order == .rgb8)
        let areEqual = first.bytes == again.bytes && first.bytes == found.bytes
        #expect(areEqual)
        #expect(Array(first.bytes[(7 * 160 + 5) * 3..<(7 * 160 + 6) * 3]) == [5, 14, 90])
        var usage = client.images.usage
        #expect(usage.count == 1 && usage.bytes == 160 * 120 * 3 && usage.requests == 1)
        #expect(usage.hits == 2 && usage.misses == 1)

        client.images.clear()
        usage = client.images.usage
        #expect(usage.count == 0 && usage.bytes == 0 && client.images.cached(url) == nil)
        client.close()
        #expect(first.bytes.count == 160 * 120 * 3)
        #expect(try scope.requests().count == 1)
    }

    @Test("I1 twenty loads share one request, also those of different sizes")
    func shared() async throws {
        let url = try serve("a", picture()) + "?gate=g"
        let sizes: [ImageSize] = [.full, .fit(80, nil), .crop(40, 40), .pad(40, 40)]
        let expected = [[160, 120], [80, 60], [40, 40], [40, 40]]
        let loads = try (0..<20).map { index in
            try client.images.start(Request(url), size: sizes[index % 4])
        }
        #expect(client.count() == 20)
        try await scope.wait("requests=1")
        try scope.open(gate: "g")
        for (index, load) in loads.enumerated() {
            let pixels = try await load.value
            #expect([pixels.width, pixels.height] == expected[index % 4])
        }
        #expect(try scope.requests().count == 1)
        let usage = client.images.usage
        #expect(usage.count == 4 && usage.requests == 1)
        // From the memory, in another order: decoded again.
        let gray = try await client.images.load(url, size: .crop(40, 40), as: .gray8)
        #expect(gray.order == .gray8 && gray.bytes.count == 1600)
    }

    @Test("I1 a cancelled load leaves the others, and the last cancel ends the request")
    func cancelled() async throws {
        let url = try serve("a", picture()) + "?gate=g"
        let handles = try (0..<3).map { _ in try client.images.start(Request(url)) }
        try await scope.wait("requests=1")
        handles[0].cancel()
        let error = await #expect(throws: WherryError.self) { try await handles[0].value }
        #expect(error?.code == .cancelled)
        try scope.open(gate: "g")
        for handle in handles[1...] { #expect(try await handle.value.width == 160) }

        let last = (0..<2).map { _ in Task { try await client.images.load("silent") } }
        try await scope.wait("requests=2")
        for task in last { task.cancel() }
        for task in last {
            let error = await #expect(throws: WherryError.self) { try await task.value }
            #expect(error?.code == .cancelled)
        }
        try await scope.wait("ended=2")
        #expect(client.count() == 0)
    }

    @Test("I1 a prefetched image needs no request, and a load raises its priority")
    func prefetched() async throws {
        let names = ["a", "b", "c", "d"]
        let urls = try names.map { try serve($0, picture()) }
        let client = try makeClient(scope) { $0.maxPerHost = 1 }
        let first = try client.images.start(Request(urls[0] + "?gate=g"))
        try await scope.wait("requests=1")
        try client.images.prefetch(Array(urls[1...]))
        let wanted = try client.images.start(Request(urls[3]))
        await withCheckedContinuation { continuation in
            client.transport.schedule(at: client.transport.clock.now()) { continuation.resume() }
        }
        try wanted.setPriority(5)
        try scope.open(gate: "g")
        _ = try await (first.value, wanted.value)
        // The other prefetches end without a reader.
        for url in urls[1...] { #expect(try await client.images.load(url).width == 160) }
        let order = ["a", "d", "b", "c"]
        #expect(try scope.requests().map(\.path) == order.map { "/s/\($0)" })
        #expect(urls[1...].allSatisfy { client.images.cached($0) != nil })
    }

    @Test("I1 the samples of the guide work")
    func guide() async throws {
        let photo = try serve("a", picture())
        let others = try ["b", "c"].map { try serve($0, picture()) }
        // guide: begin load
        let pixels = try await client.images.load(photo, size: .crop(100, 100))
        print(pixels.width, pixels.height, pixels.bytes.count)  // 100 100 30000
        try client.images.prefetch(others, size: .crop(100, 100))
        // guide: end load
        #expect(pixels.bytes.count == 30_000)
        for url in others { _ = try await client.images.load(url, size: .crop(100, 100)) }
        // guide: begin memory
        if client.images.cached(photo, size: .crop(100, 100)) == nil { print("not in memory") }
        let usage = client.images.usage
        print("\(usage.count) images, \(usage.bytes) bytes, \(usage.hits) hits")
        client.images.clear()
        // guide: end memory
        #expect(usage.count == 3 && usage.bytes == 90_000)
    }

    @Test("I1 the least recently used image is removed, and changed settings remove all")
    func removed() async throws {
        let urls = try ["a", "b", "c"].map { try serve($0, picture()) }
        let client = try makeClient(scope) { $0.imageMemoryBytes = 2 * 160 * 120 * 3 }
        for index in [0, 1, 0, 2] { _ = try await client.images.load(urls[index]) }
        #expect(urls.map { client.images.cached($0) != nil } == [true, false, true])
        try client.setHeader("X-User", "2")
        #expect(client.images.usage.count == 0)

        var hooks = Hooks()
        hooks.adapt = { request in
            var request = request
            request.headers["X-User"] = "3"
            return request
        }
        try client.setHooks(hooks)
        _ = try await client.images.load(serve("d", picture()))
        #expect(client.images.usage.count == 1)
        hooks.adapt = { request in
            var request = request
            request.headers["X-User"] = "4"
            return request
        }
        try client.setHooks(hooks)
        #expect(client.images.usage.count == 0)
    }

    @Test("I1 a failed load has a reason, and its image is not kept")
    func failed() async throws {
        let jpeg = try picture()
        let cut = try serve("cut", Array(jpeg[..<(jpeg.count / 2)]), count: 2)
        let page = try serve("page", Array("<html>Please log in</html>".utf8), count: 2)
        let gone = try serve("gone", jpeg, count: 2, status: 404)
        let large = try serve("large", jpeg, count: 2)
        var small = Compression()
        small.maxPixels = 1000
        let cases: [(String, Compression, WherryError.Code, String)] = [
            (cut, Compression(), .image, "truncated_image"),
            (page, Compression(), .image, "bad_image"),
            (gone, Compression(), .http, "http_status"),
            (large, small, .image, "image_too_large"),
        ]
        for (url, settings, code, reason) in cases {
            for _ in 0..<2 {
                let error = await #expect(throws: WherryError.self) {
                    try await client.images.load(Request(url), settings)
                }
                #expect(error?.code == code && error?.reason == reason)
                #expect(error?.response?.status == (code == .http ? 404 : 200))
                #expect(code == .http || error?.message.contains(url) == true)
            }
        }
        var post = Request(large, method: "POST")
        post.body = .bytes(Bytes("a"), contentType: nil)
        await #expect(throws: WherryError.self) { try await client.images.load(post) }
        #expect(client.images.usage.count == 0)
        #expect(try scope.requests().count == 8)
    }

    @Test("I1 the HTTP cache keeps the encoded image, but not a broken one")
    func stored() async throws {
        let folder = try TemporaryFolder()
        let jpeg = try picture()
        let half = Data(jpeg[..<900]).base64EncodedString()
        let steps = [half, Data(jpeg).base64EncodedString()].map {
            """
            {"status": 200, "headers": [["Cache-Control", "max-age=600"]], "body_base64": "\($0)"}
            """
        }
        try scope.script("a", "[\(steps.joined(separator: ", "))]")
        let client = try makeClient(scope) {
            $0.usesHTTPCache = true
            $0.storageDirectory = folder.file("storage")
        }
        await #expect(throws: WherryError.self) { try await client.images.load("s/a") }
        #expect(try await client.images.load("s/a").width == 160)
        #expect(try await client.images.load("s/a", size: .fit(40, 40)).width == 40)
        #expect(try scope.requests().count == 2)
        let hidden = try serve("b", jpeg, count: 2, control: "no-store")
        for _ in 0..<2 { _ = try await client.images.load(hidden) }
        #expect(client.images.cached(hidden) == nil)
        #expect(try scope.requests().count == 4)
    }

    @Test("I1 closing the client ends the loads")
    func closed() async throws {
        let loads = (0..<3).map { index in
            Task { try await client.images.load("silent", size: .fit(40 + index, 40)) }
        }
        try await scope.wait("requests=1")
        await Task.detached { client.close() }.value
        for load in loads {
            await #expect(throws: WherryError.self) { try await load.value }
        }
        #expect(throws: WherryError.self) { try client.images.prefetch(["silent"]) }
    }
}
