// Wherry: tests of HTTP cache entries on disk and in memory
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import WherryCache
@testable import WherryHTTP
@testable import WherrySystem

@Suite struct HTTPCacheStoreTests {
    private let minute = [("Cache-Control", "max-age=60"), ("ETag", "\"v\"")]

    /// The effects of the origin's response to a request, applied.
    private func store(
        _ fields: [(String, String)], body: String = "body", _ asked: CacheRequest = request(),
        at time: Int64 = noon, in cache: HTTPCacheStore
    ) {
        let key = HTTPCacheStore.Key(url: asked.url)
        let look = CacheLookup(
            asked, options: HTTPCacheOptions(), secret: cache.secret, now: time)
        let had = cache.stored(for: asked, key: key, now: time)
        let outcome = look.resolve(
            arrived(200, fields, body: body, at: time), to: NetworkPlan(), stored: had)
        #expect(cache.apply(outcome, key: key, now: time))
    }

    private func bodies(
        _ headers: Headers = [:], url: String = "http://example.org/a?b=c", in cache: HTTPCacheStore
    ) -> [String] {
        let asked = request("GET", headers, url: url)
        return cache.stored(for: asked, key: .init(url: asked.url), now: noon).filter {
            $0.matches(asked, secret: cache.secret)
        }.map { $0.body.text }
    }

    @Test("A response is available at once, for this store, the next one, and another process")
    func atOnce() throws {
        let bench = try StoreBench()
        let cache = try bench.httpStore()
        #expect(bodies(in: cache).isEmpty)
        store(minute, in: cache)
        #expect(bodies(in: cache) == ["body"] && bodies(in: cache) == ["body"])
        #expect(bodies(in: try bench.httpStore()) == ["body"])
        store(minute, body: "new", in: cache)
        #expect(bodies(in: cache) == ["new"])
        #expect(bodies(url: "http://example.org/a?b=d", in: cache).isEmpty)
        #expect(bodies(url: "http://EXAMPLE.org:80/a?b=c#x", in: cache) == ["new"])
    }

    @Test("K14 a hit in memory needs no file, until another process changes it")
    func memory() throws {
        let bench = try StoreBench()
        let (one, two) = (try bench.httpStore(), try bench.httpStore())
        store(minute, in: one)
        #expect(bodies(in: one) == ["body"] && one.memoryCost > 0)
        let file = try #require(bench.entryFiles.first)
        // Without any notification, so nothing was read.
        try FileManager.default.removeItem(atPath: bench.path + "/store/" + file)
        #expect(bodies(in: one) == ["body"] && bodies(in: two).isEmpty)
        store(minute, body: "of two", in: two)
        #expect(bodies(in: one) == ["of two"])
        two.clear()
        #expect(bodies(in: one).isEmpty && bodies(in: two).isEmpty)
        store(minute, in: one)
        #expect(bodies(in: two) == ["body"])
        one.removeAll(url: request().url)
        #expect(bodies(in: two).isEmpty)
        // An entry left only in memory is removed as well.
        store(minute, in: one)
        #expect(bodies(in: two) == ["body"])
        try FileManager.default.removeItem(
            atPath: bench.path + "/store/" + #require(bench.entryFiles.first))
        #expect(one.removeAll(url: request().url) == 0)
        #expect(bodies(in: two).isEmpty)
    }

    @Test("Without memory every hit is read from disk")
    func noMemory() throws {
        let bench = try StoreBench()
        let cache = try bench.httpStore(memory: 0)
        store(minute, in: cache)
        #expect(bodies(in: cache) == ["body"] && cache.memoryCost == 0)
    }

    @Test("Variants are stored side by side: RFC 9111, 4.1")
    func variants() throws {
        let bench = try StoreBench()
        let cache = try bench.httpStore()
        let vary = minute + [("Vary", "Accept-Language")]
        for language in ["de", "en"] {
            store(vary, body: language, request("GET", ["Accept-Language": language]), in: cache)
        }
        for cache in [cache, try bench.httpStore(), try bench.httpStore(memory: 0)] {
            for _ in 0..<2 {
                #expect(bodies(["Accept-Language": "de"], in: cache) == ["de"])
                #expect(bodies(["Accept-Language": "EN"], in: cache) == ["en"])
                #expect(bodies(["Accept-Language": "fr"], in: cache).isEmpty)
                #expect(bodies(in: cache).isEmpty)
            }
        }
        #expect(bench.entryFiles.count == 3)
        #expect(cache.allStored(key: .init(url: request().url)).count == 2)
        // One that depends on more headers, and then one that depends on none.
        store(minute + [("Vary", "X")], body: "x", request("GET", ["X": "1"]), in: cache)
        #expect(
            Set(bodies(["X": "1", "Accept-Language": "de"], in: cache)) == ["x", "de"])
        store(minute, body: "all", in: cache)
        #expect(bodies(["Accept-Language": "de"], in: cache) == ["all"])
        #expect(bench.entryFiles.count == 1)
        store(vary, body: "de again", request("GET", ["Accept-Language": "de"]), in: cache)
        #expect(bodies(["Accept-Language": "de"], in: cache) == ["de again"])
        #expect(bodies(in: cache).isEmpty)
        #expect(cache.removeAll(url: request().url) == 1 && bench.entryFiles.isEmpty)
    }

    @Test("With more ways to vary than are kept, the newest are found")
    func manyLists() throws {
        let bench = try StoreBench()
        let cache = try bench.httpStore(memory: 0)
        for number in 0..<12 {
            let asked = request("GET", ["X-\(number)": "1"])
            store(minute + [("Vary", "X-\(number)")], body: "\(number)", asked, in: cache)
        }
        #expect(bodies(["X-11": "1"], in: cache).contains("11"))
        #expect(bodies(["X-4": "1"], in: cache).contains("4"))
        #expect(!bodies(["X-3": "1"], in: cache).contains("3"))
    }

    @Test("An unsafe method removes every variant of its target: RFC 9111, 4.4")
    func invalidation() throws {
        let bench = try StoreBench()
        let cache = try bench.httpStore()
        let vary = minute + [("Vary", "X")]
        for value in ["1", "2"] { store(vary, request("GET", ["X": value]), in: cache) }
        store(minute, request("GET", url: "http://example.org/list"), in: cache)
        store(minute, request("GET", url: "http://example.org/other"), in: cache)
        let asked = request("POST")
        let outcome = lookup(asked).resolve(
            arrived(201, [("Location", "/list")]), to: NetworkPlan(), stored: [])
        #expect(cache.apply(outcome, key: .init(url: asked.url), now: noon))
        #expect(bodies(["X": "1"], in: cache).isEmpty && bodies(["X": "2"], in: cache).isEmpty)
        #expect(bodies(url: "http://example.org/list", in: cache).isEmpty)
        #expect(bodies(url: "http://example.org/other", in: cache) == ["body"])
    }

    @Test("SEC-C2 partitions do not see each other")
    func partitions() throws {
        let bench = try StoreBench()
        let cache = try bench.httpStore()
        let asked = request()
        let one = HTTPCacheStore.Key(url: asked.url, partition: "one")
        cache.apply(
            lookup().resolve(arrived(200, minute), to: NetworkPlan(), stored: []), key: one,
            now: noon)
        #expect(cache.stored(for: asked, key: one, now: noon).count == 1)
        #expect(cache.stored(for: asked, key: .init(url: asked.url), now: noon).isEmpty)
        let two = HTTPCacheStore.Key(url: asked.url, partition: "two")
        #expect(cache.stored(for: asked, key: two, now: noon).isEmpty)
    }

    @Test("SEC-C4 a response with any changed byte in its files is a miss and never wrong")
    func damage() throws {
        let bench = try StoreBench()
        let cache = try bench.httpStore(memory: 0)
        // It would remove the damaged files and the empty folder.
        cache.entries.waitUntilSwept()
        let asked: Headers = ["X": "1"]
        store(minute + [("Vary", "X")], request("GET", asked), in: cache)
        for file in bench.entryFiles {
            let bytes = try bench.bytes(file)
            for index in stride(from: 0, to: bytes.count, by: 3) {
                var bad = bytes
                bad[index] ^= 0x20
                try bench.write(bad, to: file)
                #expect(bodies(asked, in: cache).isEmpty)
            }
            try bench.write(bytes, to: file)
        }
        #expect(bodies(asked, in: cache) == ["body"])
        // Two complete files that have swapped places.
        let (a, b) = (try bench.bytes(bench.entryFiles[0]), try bench.bytes(bench.entryFiles[1]))
        try bench.write(b, to: bench.entryFiles[0])
        try bench.write(a, to: bench.entryFiles[1])
        #expect(bodies(asked, in: cache).isEmpty)
        store(minute + [("Vary", "X")], body: "again", request("GET", asked), in: cache)
        #expect(bodies(asked, in: cache) == ["again"])
    }

    @Test("SEC-C10 no planted secret is in the folder")
    func secrets() throws {
        let bench = try StoreBench()
        let cache = try bench.httpStore()
        let asked = request(
            "GET",
            [
                "Authorization": "Bearer planted", "Cookie": "a=planted", "X-Api-Key": "planted",
                "Proxy-Authorization": "planted",
            ])
        store(
            minute + [
                ("Set-Cookie", "b=planted"), ("Vary", "Authorization, Cookie, X-Api-Key"),
                ("Proxy-Authenticate", "planted"),
            ], asked, in: cache)
        #expect(cache.stored(for: asked, key: .init(url: asked.url), now: noon).count == 1)
        for file in bench.files {
            #expect(!String(decoding: try bench.bytes(file), as: UTF8.self).contains("planted"))
        }
    }

    @Test("A folder that vanishes loses the responses, and nothing else")
    func vanished() throws {
        let bench = try StoreBench()
        let cache = try bench.httpStore(memory: 0)
        store(minute, in: cache)
        cache.entries.waitUntilSwept()
        try FileManager.default.removeItem(atPath: bench.path + "/store")
        let outcome = lookup().resolve(arrived(200, minute), to: NetworkPlan(), stored: [])
        #expect(bodies(in: cache).isEmpty)
        #expect(!cache.apply(outcome, key: .init(url: request().url), now: noon))
        #expect(cache.clear() == 0)
    }
}
