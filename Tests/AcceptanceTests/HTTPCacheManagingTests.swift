// Wherry: acceptance tests of the HTTP cache: inspecting, clearing, deciding
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Wherry
import WherrySystem

@Suite struct HTTPCacheManagingTests {
    let bench: HTTPCacheBench
    var stub: StubServer { bench.stub }

    init() throws { bench = try HTTPCacheBench() }

    @Test("K8 K10 entries are listed, read, and counted, separately from the timed cache")
    func looking() async throws {
        let client = try bench.client { $0.baseURL = "http://example.org/" }
        bench.respond("body", url: "http://example.org/*", times: nil)
        for url in ["a", "a?x=1", "a?x=2", "b"] { _ = try await client.send(cached(url: url)) }
        var timed = Request("a", method: "GET")
        timed.cacheDuration = .seconds(60)
        timed.cachePolicy = .refresh
        _ = try await client.send(timed)
        let all = try await client.cache.entries()
        #expect(all.count == 5 && all.filter { $0.store == .http }.count == 4)
        let usage = try await client.cache.usage()
        #expect(usage.entries == 5 && usage.entryBytes > 0)
        func urls(_ url: String?, _ method: String? = nil) async throws -> [String] {
            try await client.cache.entries(url, method: method, stores: .http).map(\.url).sorted()
        }
        #expect(try await urls("a?x=1") == ["http://example.org:80/a?x=1"])
        #expect(try await urls("a").count == 3)
        #expect(try await urls("http://EXAMPLE.org/b#x", "GET").count == 1)
        #expect(try await urls("a", "POST").isEmpty)
        #expect(try await client.cache.entries(stores: .timed).count == 1)
        let entry = try #require(try await client.cache.entries("b").first)
        #expect(entry.method == "GET" && entry.status == 200 && entry.bodyBytes == 4)
        #expect(entry.remaining == .seconds(60))
        let response = try await client.cache.response(of: entry)
        #expect(response.text == "body" && response.isFromCache && response.header("age") == "0")
        stub.advance(by: .seconds(61))
        #expect(try await client.cache.entries("b").first?.remaining == .zero)
        #expect(try await client.cache.response(of: entry).isStale)
        client.close()
    }

    @Test("K8 one request's entry is read without the network, by its policy")
    func reading() async throws {
        let client = try bench.client()
        func read(_ policy: CachePolicy?, _ url: String = HTTPCacheBench.url) -> String {
            do {
                let response: Response = try client.cache.response(to: cached(policy, url: url))
                return response.text
            } catch {
                return error.reason
            }
        }
        #expect(read(nil) == "missing")
        bench.respond("body")
        _ = try await client.send(cached())
        #expect(read(nil) == "body" && read(.protocol) == "body")
        #expect(read(.only) == "missing" && read(.off) == "missing")
        stub.advance(by: .seconds(61))
        #expect(read(nil) == "stale" && read(.anyAge) == "body")
        #expect(read(nil, "http://example.org/other") == "missing" && bench.hits == 1)
        client.close()
    }

    @Test("K9 entries are cleared for one request, a URL with any query, a method, and all")
    func clearing() async throws {
        let client = try bench.client()
        bench.respond("body", url: "http://example.org/*", times: nil)
        let urls = ["a", "a?x=1", "a?x=2", "b", "b?x=1", "c"].map { "http://example.org/" + $0 }
        func fill() async throws {
            for url in urls { _ = try await client.send(cached(url: url)) }
        }
        func count() throws -> Int { try client.cache.usage().entries }
        try await fill()
        #expect(try await client.cache.remove(cached(url: urls[1])))
        #expect(try await !client.cache.remove(cached(url: urls[1])) && count() == 5)
        #expect(try await client.cache.clear(urls[0]) == 2 && count() == 3)
        #expect(try await client.cache.clear(urls[4]) == 1 && count() == 2)
        #expect(try await client.cache.clear(urls[3], method: "POST") == 0)
        #expect(try await client.cache.clear(urls[3], method: "GET") == 1)
        #expect(try await client.cache.clear("not a url") == 0 && count() == 1)
        try await fill()
        #expect(try await client.cache.clear(stores: .timed) == 0 && count() == 6)
        #expect(try await client.cache.clear(stores: .http) == 6 && count() == 0)
        // No entry is left in memory either.
        let hits = bench.hits
        try await fill()
        #expect(bench.hits == hits + 6)
        client.close()
    }

    @Test("K13 a program decides what is stored, and which headers are left out")
    func deciding() async throws {
        let client = try bench.client()
        let fields: Headers = ["Cache-Control": "max-age=60", "X-Private": "1", "X-Own": "2"]
        bench.respond("body", fields, url: "http://example.org/*", times: nil)
        func ask(_ url: String, _ storing: Hooks.Storing) async throws -> Response {
            var hooks = Hooks()
            hooks.store = { _ in storing }
            return try await client.send(
                cached(url: "http://example.org/" + url), hooks: hooks)
        }
        for _ in 0..<2 { #expect(try await !ask("skip", .skip).isFromCache) }
        for round in 0..<2 {
            let response = try await ask("part", .without(["x-private"]))
            #expect(response.isFromCache == (round == 1))
            #expect(response.header("x-private") == (round == 1 ? nil : "1"))
            #expect(response.header("x-own") == "2")
        }
        for round in 0..<2 { #expect(try await ask("all", .store).isFromCache == (round == 1)) }
        // Refused: nothing is stored, and the transfer ends with that error.
        var refusing = Hooks()
        refusing.store = { _ in throw WherryError(.refused, "not this one") }
        let error = await failure { [refusing] () throws(WherryError) in
            try await client.send(cached(url: "http://example.org/no"), hooks: refusing)
        }
        #expect(error?.reason == "refused" && error?.message.contains("not this one") == true)
        #expect(try await client.cache.entries("http://example.org/no").isEmpty)
        client.close()
    }

    @Test("K13 the timed cache calls the same callback")
    func decidingTimed() async throws {
        let client = try bench.client { $0.usesHTTPCache = false }
        bench.respond("body", ["X-Private": "1"], times: nil)
        var request = Request(HTTPCacheBench.url, method: "GET")
        request.loadsCache = true
        request.cacheDuration = .seconds(60)
        for storing in [Hooks.Storing.skip, .without(["X-PRIVATE"])] {
            var hooks = Hooks()
            hooks.store = { _ in storing }
            #expect(try await !client.send(request, hooks: hooks).isFromCache)
        }
        let response = try await client.send(request)
        #expect(response.isFromCache && response.header("x-private") == nil)
        client.close()
    }

    @Test("K12 the lookup uses a request as edited by a hook")
    func edited() async throws {
        let client = try bench.client()
        bench.respond("a", url: "http://example.org/a")
        bench.respond("b", url: "http://example.org/b")
        let edit = Hooks.adapting { request in
            var request = request
            request.url = "http://example.org/b"
            return request
        }
        _ = try await client.send(cached())
        for round in 0..<2 {
            let response = try await client.send(cached(), hooks: edit)
            #expect(response.text == "b" && response.isFromCache == (round == 1))
        }
        let off = Hooks.adapting { request in
            var request = request
            request.cachePolicy = .off
            return request
        }
        bench.respond("again", url: "http://example.org/a")
        #expect(try await client.send(cached(), hooks: off).text == "again")
        client.close()
    }

    @Test("K14 C7 memory and disk have limits that apply at once")
    func limits() async throws {
        let client = try bench.client()
        bench.respond(String(repeating: "x", count: 5000), url: "http://example.org/*", times: nil)
        for number in 0..<50 {
            _ = try await client.send(cached(url: "http://example.org/\(number)"))
            _ = try await client.send(cached(url: "http://example.org/\(number)"))
        }
        #expect(try await client.cache.usage().memoryBytes > 250_000)
        try client.configure { $0.cacheMemoryBytes = 40_000 }
        #expect(try await client.cache.usage().memoryBytes <= 40_000)
        try client.configure { $0.cacheMaxBytes = 100_000 }
        try client.caches.http().entries.waitUntilSwept()
        let usage = try await client.cache.usage()
        #expect(usage.entryBytes <= 100_000 && usage.entries > 10)
        // The least recently used entries are gone.
        #expect(try await client.send(cached(url: "http://example.org/49")).isFromCache)
        #expect(try await !client.send(cached(url: "http://example.org/0")).isFromCache)
        client.close()
    }

    @Test("K18 ten thousand responses stay below the limit")
    func manyEntries() async throws {
        let client = try bench.client { $0.cacheMaxBytes = 2_000_000 }
        bench.respond(
            String(repeating: "x", count: 1000), url: "http://example.org/*", times: nil)
        let count = loops(10_000)
        for number in 0..<count {
            _ = try await client.send(cached(url: "http://example.org/list?page=\(number)"))
        }
        try client.caches.http().entries.setLimit(min(2_000_000, Int64(count) * 500))
        try client.caches.http().entries.waitUntilSwept()
        let usage = try await client.cache.usage()
        #expect(usage.entryBytes <= 2_000_000 && usage.entries > count / 5 && usage.entries < count)
        #expect(
            try await client.send(cached(url: "http://example.org/list?page=\(count - 1)"))
                .isFromCache)
        client.close()
    }

    @Test("SEC-C5 an unusable folder disables only the cache")
    func noFolder() async throws {
        let client = try bench.client { $0.usesHTTPCache = false }
        // After the client exists: otherwise creating it would fail.
        try Data("file".utf8).write(to: URL(fileURLWithPath: bench.folder.file("storage")))
        try client.configure { $0.usesHTTPCache = true }
        bench.respond("body", times: nil)
        for _ in 0..<2 { #expect(try await !client.send(cached()).isFromCache) }
        let error = await failure { () throws(WherryError) in
            try await client.send(cached(.anyAgeOnly))
        }
        #expect(error?.code == .file && bench.hits == 2)
        client.close()
    }

    @Test("K12 cancelling at any moment ends a request once, as cancelled or complete")
    func cancelled() async throws {
        let client = try bench.client()
        bench.respond("body", url: "http://example.org/*", times: nil)
        for round in 0..<loops(1000) {
            let request = cached(url: "http://example.org/a?\(round / 2)")
            let recorder = Recorder()
            let transfer = try client.send(request, observer: recorder)
            if round % 3 == 0 { await Task.yield() }
            transfer.cancel()
            let outcome = await recorder.end()
            #expect(outcome.error == nil || outcome.error?.code == .cancelled)
            #expect(recorder.kinds.filter { $0 == "done" }.count == 1)
        }
        client.close()
    }
}
