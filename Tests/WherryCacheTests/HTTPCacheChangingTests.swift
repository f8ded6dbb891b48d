// Wherry: tests of entries during concurrent stores and clears
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import WherryCache
@testable import WherryHTTP
@testable import WherrySystem

@Suite struct HTTPCacheChangingTests {
    private let minute = [("Cache-Control", "max-age=60"), ("ETag", "\"v\"")]
    private let bench: StoreBench
    private let cache: HTTPCacheStore

    init() throws {
        bench = try StoreBench()
        cache = try bench.httpStore()
    }

    private let key = HTTPCacheStore.Key(url: request().url)

    /// The effects of a response that was requested and received at these times, in seconds after
    /// noon.
    private func outcome(
        _ body: String, asked: Int64 = 0, came: Int64 = 0, made: Int64? = nil,
        vary: String? = nil, _ headers: Headers = [:], stored: [StoredResponse] = []
    ) -> CacheOutcome {
        let fields = minute + (vary.map { [("Vary", $0)] } ?? [])
        let answer = ArrivedResponse(
            head: head(200, fields, date: date(made ?? came)), body: Bytes(body),
            requestTime: noon + asked * 1000, responseTime: noon + came * 1000)
        return CacheLookup(
            request("GET", headers), options: HTTPCacheOptions(), secret: cache.secret,
            now: answer.responseTime
        ).resolve(answer, to: NetworkPlan(), stored: stored)
    }

    @discardableResult
    private func apply(_ outcome: CacheOutcome, since: EntryStore.Stamp? = nil) -> Bool {
        cache.apply(outcome, key: key, since: since, now: noon)
    }

    private func stored(_ headers: Headers = [:], in other: HTTPCacheStore? = nil)
        -> [StoredResponse]
    {
        (other ?? cache).stored(for: request("GET", headers), key: key, now: noon)
    }

    /// Bodies in memory and bodies as another process reads them, which must be the same.
    private func bodies(_ headers: Headers = [:]) throws -> [String] {
        let here = stored(headers).map { $0.body.text }
        #expect(try stored(headers, in: bench.httpStore()).map { $0.body.text } == here)
        return here
    }

    @Test("A response from the future, of a clock that was ahead, blocks no newer one")
    func future() throws {
        // Without a Date header it stayed until the clock had caught up, and every later response
        // was lost.
        #expect(apply(outcome("future", asked: 86_400, came: 86_400)))
        #expect(apply(outcome("now")))
        #expect(try bodies() == ["now"])
        #expect(apply(outcome("later", asked: 1, came: 1)))
        #expect(try bodies() == ["later"])
    }

    @Test("Secret values of a URL are stored as digests, which find it again")
    func secrets() throws {
        let url = "http://example.org:80/a?page=1&token=planted&x[password]=planted&empty_token="
        let secret = HTTPCacheStore.Key(url: url)
        #expect(cache.apply(outcome("body"), key: secret, now: noon))
        let kept = try bench.files.flatMap { try bench.bytes($0) }
        #expect(!String(decoding: kept, as: UTF8.self).contains("planted"))
        let listed = try #require(cache.list().first)
        #expect(listed.url.hasPrefix("http://example.org:80/a?page=1&token=***"))
        #expect(listed.url.hasSuffix("&empty_token="))
        #expect(cache.list(url: listed.url).count == 1 && cache.list(url: url).count == 1)
        #expect(cache.list(url: "http://example.org:80/a").count == 1)
        // A request whose secret is the digest is another request.
        let forged = HTTPCacheStore.Key(url: listed.url)
        #expect(cache.stored(for: request(), key: forged, now: noon).isEmpty)
        #expect(cache.remove(at: listed.place) && !cache.remove(at: listed.place))
        #expect(cache.stored(for: request(), key: secret, now: noon).isEmpty)
    }

    @Test(
        "One process revalidates in the background; if it ends, the next request does")
    func validation() throws {
        let place = cache.place(key)
        let other = try bench.httpStore()
        var mark: EntryStore.Validation? = cache.entries.beginValidation(of: place.key)
        guard case .begun(let own?) = mark else { return #expect(Bool(false)) }
        if case .elsewhere = other.entries.beginValidation(of: place.key) {
        } else {
            #expect(Bool(false), "two at once")
        }
        own.remove()
        mark = nil
        if case .begun(let second?) = other.entries.beginValidation(of: place.key) {
            withExtendedLifetime(second) {}
        } else {
            #expect(Bool(false), "it was removed")
        }
        // The second one was dropped without an end, as by the exit of its process.
        if case .abandoned = cache.entries.beginValidation(of: place.key) {
        } else {
            #expect(Bool(false), "nobody holds it")
        }
        if case .begun = cache.entries.beginValidation(of: place.key) {
        } else {
            #expect(Bool(false), "an abandoned mark is told once")
        }
    }

    @Test("A response requested first that ends last replaces no newer one: RFC 9111, 4")
    func newer() throws {
        let slow = outcome("slow", asked: 0, came: 1)
        #expect(apply(outcome("quick", asked: 2, came: 3)) && apply(slow))
        #expect(try bodies() == ["quick"])
        // Nor does its refusal remove the newer one.
        #expect(apply(slow.storing(false, without: [])))
        #expect(try bodies() == ["quick"])
        // Between variants, and between these and an entry that matches everything.
        let varied = outcome("slow", asked: 0, came: 1, vary: "X", ["X": "1"])
        #expect(try apply(varied) && bodies(["X": "1"]) == ["quick"])
        #expect(apply(outcome("varied", asked: 4, came: 5, vary: "X", ["X": "1"])))
        #expect(apply(varied) && apply(slow))
        #expect(try bodies(["X": "1"]) == ["varied"] && bodies(["X": "2"]).isEmpty)
    }

    @Test(
        "A response requested after the stored one replaces it, whatever the origin's clock")
    func clockSetBack() throws {
        apply(outcome("old", came: 1, made: 9000))
        apply(outcome("new", asked: 2, came: 3, made: 3))
        #expect(try bodies() == ["new"])
    }

    @Test("A response from before a clear is not stored, and leaves no older one: K13")
    func cleared() throws {
        apply(outcome("old"))
        let moment = cache.moment(key)
        cache.removeAll(path: "http://example.org:80/elsewhere")
        #expect(!apply(outcome("new", asked: 1, came: 2), since: moment))
        #expect(try bodies().isEmpty && bench.entryFiles.isEmpty)
    }

    @Test("A response that is too large or unwanted removes all that served, whatever its Vary")
    func varied() throws {
        for isRefused in [true, false] {
            apply(outcome("plain"))
            let body = isRefused ? "v" : String(repeating: "x", count: 9 << 20)
            let next = outcome(
                body, asked: 1, came: 2, vary: "X", ["X": "1"], stored: stored(["X": "1"]))
            #expect(apply(isRefused ? next.storing(false, without: []) : next) == isRefused)
            #expect(try bodies(["X": "1"]).isEmpty && bodies().isEmpty)
            #expect(cache.usage().count == 0 && bench.entryFiles.isEmpty)
        }
    }

    @Test(
        "Removing the index removes all variants, removing the last variant the index, all counted")
    func index() throws {
        let one = outcome("1", vary: "X", ["X": "1"])
        let two = outcome("2", vary: "X", ["X": "2"])
        for other in [one, two] { apply(other) }
        #expect(cache.usage().count == 2 && bench.entryFiles.count == 3)
        apply(one.storing(false, without: []))
        #expect(cache.usage().count == 1)
        #expect(try bodies(["X": "2"]) == ["2"] && bodies(["X": "1"]).isEmpty)
        apply(two.storing(false, without: []))
        #expect(cache.usage().count == 0 && bench.entryFiles.isEmpty)
        // A plain response to remove that variants have replaced.
        for other in [one, two] { apply(other) }
        apply(outcome("plain").storing(false, without: []))
        #expect(cache.usage().count == 0 && bench.entryFiles.isEmpty)
        apply(one)
        #expect(try bodies(["X": "2"]).isEmpty && bodies(["X": "1"]) == ["1"])
        // A swept index leaves responses that cannot be found, and that are counted.
        apply(two)
        let index = try #require(bench.entryFiles.first { !$0.contains(".") })
        try FileManager.default.removeItem(atPath: bench.path + "/store/" + index)
        #expect(cache.usage().count == 2)
    }

    // MARK: Work

    @Test("K14 a just stored response is in memory, and so is the knowledge of misses")
    func atOnce() throws {
        func takeAway() throws {
            for file in bench.entryFiles {
                try FileManager.default.removeItem(atPath: bench.path + "/store/" + file)
            }
        }
        apply(outcome("plain"))
        try takeAway()
        #expect(stored().map { $0.body.text } == ["plain"])
        apply(outcome("1", asked: 1, came: 2, vary: "X", ["X": "1"]))
        apply(outcome("2", asked: 1, came: 2, vary: "X", ["X": "2"]))
        #expect(stored(["X": "3"]).isEmpty)
        try takeAway()
        #expect(stored(["X": "1"]).map { $0.body.text } == ["1"])
        #expect(stored(["X": "2"]).map { $0.body.text } == ["2"] && stored(["X": "3"]).isEmpty)
        // Another process stores the missing entry.
        let other = try bench.httpStore()
        apply(outcome("1", asked: 3, came: 4, vary: "X", ["X": "1"]))
        other.apply(
            outcome("3", asked: 3, came: 4, vary: "X", ["X": "3"]), key: key, now: noon)
        #expect(try bodies(["X": "3"]) == ["3"])
    }

    @Test("The queries of a path are stored separately, and found together")
    func queries() throws {
        let urls = ["a", "a?", "a?x=1", "a?x=2", "b?x=1"].map { "http://example.org:80/" + $0 }
        func fill() {
            for url in urls {
                for partition in ["", "ab"] {
                    cache.apply(
                        outcome("body"), key: .init(url: url, partition: partition), now: noon)
                }
            }
        }
        fill()
        #expect(Set(bench.entryFiles.map { $0.split(separator: "/")[1] }).count == 5)
        #expect(cache.list(url: urls[0]).count == 8 && cache.list(url: urls[2]).count == 2)
        #expect(cache.list().count == 10 && cache.usage().count == 10)
        for listed in cache.list() {
            #expect(cache.response(at: listed.place)?.url == listed.url)
        }
        #expect(cache.removeAll(url: urls[2]) == 2 && cache.list().count == 8)
        #expect(cache.removeAll(path: urls[0]) == 6 && cache.list().count == 2)
        #expect(Set(cache.list().map { $0.url }) == [urls[4]])
        fill()
        #expect(cache.clear() == 10 && bench.entryFiles.isEmpty)
    }

    @Test("SEC-C1 invalid locations are refused")
    func places() throws {
        apply(outcome("body"))
        let place = try #require(cache.list().first?.place)
        #expect(cache.response(at: place) != nil)
        for other in [
            "", "/", "ab/" + String(repeating: "a", count: 30), place + "/", place + "/0",
            place.replacingOccurrences(of: "-", with: "--"), "../" + place,
            place.replacingOccurrences(of: "-", with: "/"), place.uppercased(),
            place.replacingOccurrences(of: "/0", with: "/.0"),
        ] {
            #expect(cache.response(at: other) == nil, "\(other)")
        }
    }
}
