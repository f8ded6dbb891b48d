// Wherry: acceptance tests of the timed cache: inspecting and clearing it, and the rest of K11
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry
import WherrySystem

@Suite struct TimedCacheManagingTests: CacheSuite {
    let bench: CacheBench

    init() throws { bench = try CacheBench() }

    @Test("K8 K9 entries are read and cleared by URL, by URL and method, and all at once")
    func managing() async throws {
        let client = try client()
        let requests = [
            asking(loads: false, for: .seconds(180)),
            asking(loads: false, for: .seconds(180), method: "POST"),
            asking("echo", loads: false, for: .seconds(1), parameters: ["a": 1]),
        ]
        func fill() async throws { for one in requests { _ = try await client.send(one) } }
        try await fill()
        let asked = try hits()
        #expect(try await client.cache.entries().count == 3)
        #expect(try await client.cache.entries("cache").map(\.method).sorted() == ["GET", "POST"])
        let posts = try await client.cache.entries("cache", method: "POST")
        let entry = try #require(posts.first)
        let body = try await client.cache.response(to: requests[1]).body
        #expect(posts.count == 1 && entry.status == 200 && entry.bodyBytes == Int64(body.count))
        #expect(entry.url == scope.url("/cache") && entry.remaining == .seconds(180))
        let shown = try await client.cache.response(of: entry)
        #expect(shown.body == body && shown.url == entry.url)
        #expect(try await client.cache.entries(entry.url, method: "POST") == posts)
        // Expired entries are skipped and removed.
        clock.advance(by: 2_000_000_000)
        #expect(try await client.cache.entries("echo").isEmpty)
        #expect(try await client.cache.usage().entries == 2)
        let missing = await failure { () async throws(WherryError) in
            try await client.cache.response(to: requests[2])
        }
        #expect(missing?.code == .cacheMiss && missing?.reason == "missing")
        #expect(try hits() == asked)

        #expect(try await client.cache.clear("cache", method: "POST") == 1)
        #expect(try await client.cache.clear("cache", method: "POST") == 0)
        #expect(try await client.send(asking()).isFromCache)
        #expect(try await !client.send(asking(method: "POST")).isFromCache)
        try await fill()
        #expect(try await client.cache.remove(requests[2]))
        #expect(try await !client.cache.remove(requests[2]))
        #expect(try await client.cache.clear("none") == 0)
        #expect(try await client.cache.clear("cache") == 2)
        try await fill()
        #expect(try await client.cache.clear(method: "GET") == 2)
        #expect(try await client.cache.clear() == 1)
        #expect(try await client.cache.usage() == ResponseCache.Usage())
        // Also for requests that ignore the base.
        var absolute = asking(scope.url("/cache"), for: .seconds(180))
        absolute.ignoresBase = true
        _ = try await client.send(absolute)
        #expect(try await client.cache.clear(scope.url("/cache")) == 1)
        client.close()
    }

    @Test("K9 K10 partial downloads stay when responses are cleared, and are counted separately")
    func partials() async throws {
        let client = try client()
        let name = folder.file("part")
        let error = await failure { () async throws(WherryError) in
            var cut = Request("bytes/1000?cut=400")
            cut.set(.maxRetries, 0)
            return try await client.download(cut, to: name).value
        }
        #expect(error != nil)
        #expect(try client.partial(of: name) != nil)
        _ = try await client.send(asking("bytes/1000", loads: false, for: .seconds(180)))
        let usage = try await client.cache.usage()
        #expect(usage.entries == 1 && usage.partials == 1 && usage.partialBytes > 0)
        #expect(usage.entryBytes > 1000 && usage.text.hasSuffix(" KB"))
        #expect(try await client.cache.clear("bytes/1000") == 1)
        #expect(try client.partial(of: name) != nil)
        #expect(try await client.cache.clear(stores: .all) == 1)
        #expect(try client.partial(of: name) == nil)
        client.close()
    }

    @Test("K11 refresh sends and stores; off does neither; a response of the program is served")
    func extras() async throws {
        let client = try client()
        var own = asking("own")
        try await client.cache.store(
            Bytes("{\"a\":1}"), contentType: "application/json", for: own, duration: .seconds(60))
        let read = try await client.send(own)
        #expect(read.isFromCache && read.text == "{\"a\":1}" && read.status == 200)
        #expect(read.header("content-type") == "application/json")
        #expect(try hits() == 0)
        for duration in [Duration.zero, .seconds(-1)] {
            let error = await failure { () async throws(WherryError) in
                try await client.cache.store(Bytes("1"), for: own, duration: duration)
            }
            #expect(error?.reason == "bad_value")
        }
        own = asking(for: .seconds(60))
        own.cachePolicy = .refresh
        let first = try await client.send(own)
        let second = try await client.send(own)
        #expect(!first.isFromCache && !second.isFromCache && first.body != second.body)
        #expect(try await client.send(asking()).body == second.body)
        own.cachePolicy = .off
        #expect(try await !client.send(own).isFromCache)
        #expect(try await client.send(asking()).body == second.body)
        client.close()
    }

    @Test("K16 the cached response is delivered at once, the fresh one after it")
    func thenNetwork() async throws {
        let client = try client()
        var both = asking("cache?body=same", for: .seconds(60))
        both.cachePolicy = .thenNetwork
        // The cache has no entry yet.
        let first = try client.start(both)
        #expect(await first.cached == nil)
        #expect(try await !first.value.isUnchanged)
        let second = try client.start(both)
        let cached = try #require(await second.cached)
        #expect(cached.isFromCache && cached.text == "same")
        let fresh = try await second.value
        #expect(!fresh.isFromCache && fresh.isUnchanged && fresh.text == "same")
        #expect(try hits() == 2)
        // A different body is reported as such, and replaces the entry.
        both.url = "cache"
        for _ in 0..<2 { _ = try await client.start(both).value }
        let changed = try client.start(both)
        let old = try #require(await changed.cached)
        let new = try await changed.value
        #expect(old.body != new.body && !new.isUnchanged)
        #expect(try await client.send(asking()).body == new.body)
        // In order: headers and body of the cached one in one event, then the end.
        let events = Recorder()
        _ = try client.send(both, observer: events)
        _ = await events.end()
        #expect(events.kinds == ["cached", "done"])
        client.close()
    }

    @Test("K14 C7 limits are options, and apply at once")
    func limits() async throws {
        let client = try client { $0.cacheMaxBytes = 4096 }
        // More than an eighth of the limit.
        _ = try await client.send(asking("bytes/1000", for: .seconds(60)))
        #expect(try await client.cache.usage().entries == 0)
        try client.configure { $0.cacheMaxBytes = 1 << 20 }
        _ = try await client.send(asking("bytes/1000", for: .seconds(60)))
        #expect(try await client.cache.usage().entries == 1)
        _ = try await client.send(asking("bytes/1000"))
        #expect(try await client.cache.usage().memoryBytes > 1000)
        try client.configure { $0.cacheMemoryBytes = 0 }
        #expect(try await client.cache.usage().memoryBytes == 0)
        #expect(try await client.send(asking("bytes/1000")).isFromCache)
        client.close()
    }

    @Test("K19 ignored parameters do not count; key headers and the partition separate users")
    func hygiene() async throws {
        let client = try client()
        func send(_ change: (inout Request) -> Void) async throws -> Bool {
            var request = asking(for: .seconds(60), parameters: ["a": 1, "sign": 5])
            change(&request)
            return try await client.send(request).isFromCache
        }
        #expect(try await !send { $0.cacheIgnoredParameters = ["sign"] })
        #expect(
            try await send {
                $0.cacheIgnoredParameters = ["sign"]
                $0.parameters["sign"] = 6
            })
        for user in ["anna", "berta"] {
            #expect(try await !send { $0.cachePartition = user })
            #expect(try await send { $0.cachePartition = user })
            func named(_ request: inout Request) {
                request.cacheHeaders = ["Authorization"]
                request.bearerToken = user
            }
            #expect(try await !send(named))
            #expect(try await send(named))
        }
        // As the client sends it.
        try client.setBearerToken("anna")
        #expect(try await send { $0.cacheHeaders = ["authorization"] })
        // Nothing of it is on disk.
        for name in bench.entryFiles() {
            #expect(try !folder.contents(name).contains(Data("anna".utf8)))
        }
        client.close()
    }

    @Test("SEC-C3 an unauthenticated response is neither stored nor read")
    func insecure() async throws {
        let careful = try client()
        _ = try await careful.send(asking(for: .seconds(180)))
        #expect(try await careful.send(asking()).isFromCache)
        let client = try client { $0.isInsecure = true }
        for url in ["cache", "echo"] {
            #expect(try await !client.send(asking(url, for: .seconds(180))).isFromCache)
        }
        var only = asking()
        only.cachePolicy = .only
        let error = await failure { () async throws(WherryError) in try await client.send(only) }
        #expect(error?.reason == "missing")
        #expect(try await careful.send(only).isFromCache)
        #expect(try await client.cache.usage().entries == 1)
        careful.close()
        client.close()
    }

    @Test("C12 without usable storage requests succeed, and the reason is reported")
    func badFolder() async throws {
        // After the client exists: otherwise creating it would fail.
        let client = try client()
        _ = FileManager.default.createFile(atPath: folder.file("storage"), contents: Data())
        for _ in 0..<2 {
            #expect(try await !client.send(asking(for: .seconds(180))).isFromCache)
        }
        let error = await failure { () async throws(WherryError) in try await client.cache.usage() }
        #expect(error?.reason == "bad_storage")
        var only = asking()
        only.cachePolicy = .only
        let refusal = await failure { () async throws(WherryError) in try await client.send(only) }
        #expect(refusal?.reason == "bad_storage")
        #expect(try hits() == 2)
        client.close()
    }

    @Test("K6 M5 a cancelled cache lookup ends once, with `cancelled` or the response")
    func cancelled() async throws {
        let client = try client()
        _ = try await client.send(asking(for: .seconds(180)))
        for _ in 0..<loops(1000) {
            let events = Recorder()
            let transfer = try client.send(asking(), observer: events)
            transfer.cancel()
            let outcome = await events.end()
            #expect(outcome.error?.reason == "cancelled" || outcome.response?.isFromCache == true)
        }
        #expect(try hits() == 1)
        client.close()
    }
}
