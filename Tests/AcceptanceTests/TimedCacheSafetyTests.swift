// Wherry: acceptance tests of the timed cache: separate users, and data never stored
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry
import WherrySystem

@Suite struct TimedCacheSafetyTests: CacheSuite {
    let bench: CacheBench

    init() throws { bench = try CacheBench() }

    private func count(_ client: Client) async throws -> Int {
        try await client.cache.usage().entries
    }

    private static let day = Duration.seconds(86_400)

    @Test("K19 R18 a request edited by a hook is looked up and stored as it is sent")
    func adapted() async throws {
        let client = try client()
        func send(
            _ url: String = "cache", _ edit: @escaping @Sendable (inout Request) -> Void
        ) async throws -> Response {
            let hooks = Hooks.adapting { request in
                var request = request
                edit(&request)
                return request
            }
            return try await client.start(asking(url, for: Self.day), hooks: hooks).value
        }
        var bodies: [Bytes] = []
        for user in ["anna", "berta"] {
            let first = try await send { $0.headers = ["Authorization": user] }
            let second = try await send { $0.headers = ["Authorization": user] }
            #expect(!first.isFromCache && second.isFromCache && second.body == first.body)
            bodies.append(first.body)
        }
        #expect(bodies[0] != bodies[1])
        #expect(try await !client.send(asking()).isFromCache)
        // Another URL, and another time.
        let moved = try await send { $0.url = "cache?body=moved" }
        #expect(!moved.isFromCache && moved.text == "moved")
        #expect(try await client.send(asking("cache?body=moved")).isFromCache)
        #expect(try await !client.send(asking()).isFromCache)
        _ = try await send("echo") { $0.cacheDuration = .zero }
        #expect(try await !client.send(asking("echo")).isFromCache)
        // A redirected response may belong to another user: nothing is stored. Without a hook
        // it is.
        let stored = try await count(client)
        for _ in 0..<2 { #expect(try await !send("redirect/1") { _ in }.isFromCache) }
        #expect(try await count(client) == stored)
        for _ in 0..<2 { _ = try await client.send(asking("redirect/1", for: Self.day)) }
        #expect(try await count(client) == stored + 1)
        client.close()
    }

    @Test("K19 SEC-C2 a request with other credentials never gets the response")
    func credentials() async throws {
        let clients = try ["anna", "berta", nil].map { user in
            try client { $0.bearerToken = user }
        }
        for client in clients {
            #expect(try await !client.send(asking(for: Self.day)).isFromCache)
            #expect(try await client.send(asking()).isFromCache)
        }
        // The request's credentials override the client's, and naming them makes no difference.
        var own = asking()
        own.bearerToken = "anna"
        for client in clients { #expect(try await client.send(own).isFromCache) }
        own.cacheHeaders = ["authorization"]
        #expect(try await clients[2].send(own).isFromCache)
        own.bearerToken = "carla"
        #expect(try await !clients[2].send(own).isFromCache)
        for cookie in ["a=1", "a=2"] {
            var request = asking(for: Self.day)
            request.headers = ["cookie": cookie]
            #expect(try await !clients[2].send(request).isFromCache)
            #expect(try await clients[2].send(request).isFromCache)
        }
        // The identifier is unchanged, and clearing by URL finds them all.
        let entries = try await clients[2].cache.entries("cache")
        #expect(entries.count == 5 && Set(entries.map(\.identifier)).count == 1)
        #expect(try await clients[2].cache.clear("cache", method: "GET") == 5)
        for client in clients { client.close() }
    }

    @Test("K19 a response to one user's credentials is not served to another user of the client")
    func clientCredentials() async throws {
        let client = try client()
        for user in ["anna", "berta"] {
            try client.setCredentials(.basic(user, "secret"))
            let first = try await client.send(asking("cache", for: Self.day))
            let second = try await client.send(asking("cache", for: Self.day))
            #expect(!first.isFromCache && second.isFromCache && second.body == first.body)
        }
    }

    @Test("K19 every value of a repeated header counts, in order")
    func repeated() async throws {
        let client = try client()
        for values in [["1", "2"], ["1", "3"], ["2", "1"], ["1"]] {
            var request = asking(for: Self.day)
            request.cacheHeaders = ["X-Part"]
            for value in values { request.headers.append("X-Part", value) }
            #expect(try await !client.send(request).isFromCache)
            #expect(try await client.send(request).isFromCache)
        }
        client.close()
    }

    @Test("K19 an ignored name does not count in query and form either")
    func ignoredPairs() async throws {
        let client = try client()
        for method in ["GET", "POST"] {
            func send(_ sign: String, _ ignored: Set<String>) async throws -> Bool {
                var request = asking("echo", for: Self.day, method: method)
                request.cacheIgnoredParameters = ignored
                request.query = [.init("a", "1"), .init("sign", sign)]
                if method == "POST" {
                    request.body = .form([.init("b", "1"), .init("sign", sign)])
                }
                return try await client.send(request).isFromCache
            }
            #expect(try await !send("1", ["sign"]))
            #expect(try await send("2", ["sign"]))
            #expect(try await !send("1", []))
            #expect(try await !send("2", []))
        }
        // A query of only a signature equals no query.
        var request = asking("echo", for: Self.day)
        _ = try await client.send(request)
        request.query = [.init("sign", "3")]
        request.cacheIgnoredParameters = ["sign"]
        #expect(try await client.send(request).isFromCache)
        client.close()
    }

    @Test("K9 partial files are found under their base, and have no method")
    func partialsOfBase() async throws {
        let client = try client()
        try client.setBaseURL(scope.url("/bytes"), named: "other")
        let name = folder.file("part")
        let error = await failure { () async throws(WherryError) in
            var cut = Request("1000?cut=400")
            cut.base = "other"
            cut.set(.maxRetries, 0)
            return try await client.download(cut, to: name).value
        }
        #expect(error != nil)
        let cache = client.cache
        #expect(try await cache.clear("1000?cut=400", stores: .partials) == 0)
        #expect(
            try await cache.clear("1000?cut=400", base: "other", method: "GET", stores: .all) == 0)
        #expect(try await cache.clear(method: "GET", stores: .all) == 0)
        #expect(try client.partial(of: name) != nil)
        #expect(try await cache.clear("1000?cut=400", base: "other", stores: .partials) == 1)
        #expect(try client.partial(of: name) == nil)
        client.close()
    }

    @Test("K9 a response requested before everything was cleared is not stored afterwards")
    func clearedUnderway() async throws {
        let client = try client()
        for (place, method) in [("one", nil), ("two", "POST")] as [(String, String?)] {
            let handle = try client.start(asking("faulty-echo?gate=\(place)", for: Self.day))
            _ = try await client.cache.clear(method: method)
            try scope.open(gate: place)
            #expect(try await handle.value.status == 200)
            #expect(try await count(client) == 0)
        }
        _ = try await client.send(asking(for: Self.day))
        #expect(try await count(client) == 1)
        client.close()
    }

    @Test("K9 K14 entries in memory are cleared by method too")
    func clearedMemory() async throws {
        let client = try client()
        _ = try await client.send(asking(for: Self.day))
        #expect(try await client.send(asking()).isFromCache)
        for file in bench.entryFiles() {
            try FileManager.default.removeItem(atPath: folder.file(file))
        }
        #expect(try await client.send(asking()).isFromCache)
        _ = try await client.cache.clear(method: "GET")
        #expect(try await !client.send(asking()).isFromCache)
        client.close()
    }

    @Test("K7 neither a range nor a 304 is stored as the complete response")
    func parts() async throws {
        let client = try client()
        var part = asking("bytes/1000", for: Self.day)
        part.headers = ["Range": "bytes=0-9"]
        #expect(try await client.send(part).status == 206)
        // A server may return the complete file: the next request is sent all the same.
        part.url = "echo"
        for _ in 0..<2 { #expect(try await !client.send(part).isFromCache) }
        try client.setHeader("Range", "bytes=0-9")
        #expect(try await client.send(asking("bytes/1000", for: Self.day)).status == 206)
        try client.setHeader("Range", nil)
        try scope.script("part", #"[{"status": 206, "json": {}}]"#)
        #expect(try await client.send(asking("s/part", for: Self.day)).status == 206)
        var same = asking("status/304", for: Self.day)
        same.acceptedStatus = [304]
        #expect(try await client.send(same).status == 304)
        #expect(try await count(client) == 0)
        client.close()
    }

    @Test("K5 a cached response that this request does not accept is a miss, and is removed")
    func unacceptable() async throws {
        let client = try client()
        var lenient = asking("status/404", for: Self.day)
        lenient.acceptedStatus = [404]
        var json = asking("bytes/11")
        json.wantsJSON = true
        for (writer, reader, reason) in [
            (lenient, asking("status/404"), "http_status"),
            (asking("bytes/11", for: Self.day), json, "content_type"),
        ] {
            func send(_ policy: CachePolicy) async -> WherryError? {
                var request = reader
                request.cachePolicy = policy
                return await failure { () async throws(WherryError) in
                    try await client.send(request)
                }
            }
            _ = try await client.send(writer)
            #expect(try await client.send(writer).isFromCache)
            let asked = try hits()
            #expect(await send(.use)?.reason == reason)
            #expect(try hits() == asked + 1)
            #expect(try await count(client) == 0)
            _ = try await client.send(writer)
            for reason in ["damaged", "missing"] { #expect(await send(.only)?.reason == reason) }
            #expect(try hits() == asked + 2)
        }
        client.close()
    }
}
