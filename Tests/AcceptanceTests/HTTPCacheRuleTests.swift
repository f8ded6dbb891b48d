// Wherry: acceptance tests of the HTTP cache: RFC 9111 rules for requests and responses
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Wherry
import WherrySystem

@Suite struct HTTPCacheRuleTests {
    let bench: HTTPCacheBench
    let client: Client
    var stub: StubServer { bench.stub }

    init() throws {
        bench = try HTTPCacheBench()
        client = try bench.client()
    }

    private static func url(_ path: String) -> String { "http://example.org/" + path }

    /// An HTTP date this many seconds from now.
    private func date(_ seconds: Double) -> String {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "GMT")
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return formatter.string(from: Date(timeIntervalSinceNow: seconds))
    }

    /// The source of the response, and its text.
    private func ask(
        _ headers: Headers = [:], _ policy: CachePolicy? = nil, path: String = "a",
        method: String = "GET"
    ) async throws -> String {
        var request = cached(policy, headers, url: Self.url(path), method: method)
        request.acceptedStatus = [304, 404, 412]
        let response = try await client.send(request)
        let word =
            !response.isFromCache
            ? "network"
            : response.isRevalidated ? "confirmed" : response.isStale ? "stale" : "fresh"
        let status = response.status == 200 ? "" : " \(response.status)"
        return word + status + (response.body.isEmpty ? "" : " " + response.text)
    }

    // MARK: Requests

    @Test(
        "K12 requests limit the age that they accept: RFC 9111, 5.2.1 and 5.4",
        arguments: [
            ("max-age=30", 30, "fresh"), ("max-age=30", 31, "network"),
            ("max-age=0", 0, "network"), ("min-fresh=20", 40, "fresh"),
            ("min-fresh=20", 41, "network"), ("max-stale", 9999, "stale"),
            ("max-stale=40", 100, "stale"), ("max-stale=40", 101, "network"),
            ("no-cache", 0, "network"), ("no-store", 10, "fresh"), ("x=\"max-age=0\"", 10, "fresh"),
        ] as [(String, Int, String)])
    func requestDirectives(_ text: String, _ seconds: Int, _ expected: String) async throws {
        bench.respond("1")
        bench.respond("2")
        _ = try await ask()
        stub.advance(by: .seconds(seconds))
        let body = expected == "network" ? " 2" : " 1"
        #expect(try await ask(["Cache-Control": text]) == expected + body)
        client.close()
    }

    @Test("K12 Pragma applies without Cache-Control: RFC 9111, 5.4")
    func pragma() async throws {
        for body in ["1", "2"] { bench.respond(body) }
        _ = try await ask()
        #expect(try await ask(["Pragma": "no-cache", "Cache-Control": "x"]) == "fresh 1")
        #expect(try await ask(["Pragma": "no-cache"]) == "network 2")
        client.close()
    }

    @Test("K12 no-store of a request prevents storing its response or an update: 5.2.1.5")
    func requestNoStore() async throws {
        for body in ["1", "2", "3"] { bench.respond(body) }
        _ = try await ask()
        stub.advance(by: .seconds(61))
        #expect(try await ask(["Cache-Control": "no-store"]) == "network 2")
        #expect(try await ask([:], .anyAge) == "network 3" && bench.hits == 3)
        client.close()
    }

    // MARK: Responses

    @Test("K12 Expires, heuristic freshness, and a received Age: RFC 9111, 4.2 and 5")
    func lifetimes() async throws {
        let cases: [(Headers, Int, Int)] = [
            (["Date": date(0), "Expires": date(100)], 90, 105),
            (["Date": date(0), "Expires": date(100), "Cache-Control": "max-age=30"], 25, 35),
            (["Date": date(0), "Last-Modified": date(-1000)], 90, 105),
            (["Cache-Control": "max-age=60", "Age": "40"], 19, 20),
            (["Cache-Control": "max-age=60", "Age": "x"], 59, 60),
            (["Cache-Control": "s-maxage=10, max-age=60"], 59, 60),
        ]
        for (number, (fields, _, _)) in cases.enumerated() {
            let path = "\(number)"
            // The dates are relative to the clock, so every case is requested before it advances.
            bench.respond(path, fields, url: Self.url(path))
            #expect(try await ask(path: path) == "network " + path)
            bench.respond("new", [:], url: Self.url(path), times: nil)
        }
        var passed = 0
        for seconds in Set(cases.flatMap { [$0.1, $0.2] }).sorted() {
            stub.advance(by: .seconds(seconds - passed))
            passed = seconds
            for (number, (_, fresh, stale)) in cases.enumerated() {
                if seconds == fresh {
                    #expect(try await ask(path: "\(number)") == "fresh \(number)")
                }
                if seconds == stale { #expect(try await ask(path: "\(number)") == "network new") }
            }
        }
        let never: [Headers] = [
            ["Expires": "0", "Date": date(0)], ["Vary": "*", "Cache-Control": "max-age=60"],
            ["Expires": date(-1000)],
        ]
        for (number, fields) in never.enumerated() {
            let path = "never\(number)"
            bench.respond("x", fields, url: Self.url(path), times: nil)
            for _ in 0..<2 { #expect(try await ask(path: path) == "network x") }
        }
        client.close()
    }

    @Test("K12 a fresh immutable entry is not revalidated, except for no-cache: RFC 8246")
    func immutable() async throws {
        bench.respond("1", ["Cache-Control": "max-age=60, immutable"])
        bench.respond("2", ["Cache-Control": "max-age=60, immutable"])
        _ = try await ask()
        #expect(try await ask(["Cache-Control": "max-age=0"]) == "fresh 1")
        #expect(try await ask(["Cache-Control": "no-cache"]) == "network 2")
        stub.advance(by: .seconds(60))
        bench.respond("3")
        #expect(try await ask(["Cache-Control": "max-age=0"]) == "network 3")
        client.close()
    }

    @Test("K12 headers that no-cache names are not stored, nor updated by a 304: 5.2.2.4")
    func namedFields() async throws {
        let fields: Headers = [
            "Cache-Control": "max-age=60, no-cache=\"X-A\"", "ETag": "\"1\"", "X-A": "1",
            "X-B": "1",
        ]
        bench.respond("1", fields)
        _ = try await ask()
        var response = try await client.send(cached())
        #expect(response.isFromCache && response.header("x-a") == nil)
        #expect(response.header("x-b") == "1")
        stub.advance(by: .seconds(61))
        bench.respond("", ["ETag": "\"1\"", "X-A": "2", "X-B": "2"], status: 304)
        response = try await client.send(cached())
        #expect(response.isRevalidated && response.header("x-b") == "2")
        response = try await client.send(cached())
        #expect(response.isFromCache && response.header("x-a") == nil && bench.hits == 2)
        client.close()
    }

    @Test("K12 must-understand overrides no-store for a known status: 5.2.2.3")
    func mustUnderstand() async throws {
        let fields: Headers = ["Cache-Control": "must-understand, no-store, max-age=60"]
        bench.respond("known", fields)
        bench.respond("unknown", fields, url: Self.url("b"), status: 299, times: 2)
        _ = try await ask()
        #expect(try await ask() == "fresh known")
        for _ in 0..<2 { #expect(try await ask(path: "b") == "network 299 unknown") }
        client.close()
    }

    @Test("K12 repeated headers are one list, and all of them are returned: RFC 9110, 5.3")
    func repeated() async throws {
        var fields: Headers = ["X-A": "1", "Cache-Control": "public"]
        fields.append("X-A", "2")
        fields.append("Cache-Control", "max-age=60")
        bench.respond("1", fields)
        _ = try await ask()
        let response = try await client.send(cached())
        #expect(response.isFromCache && response.headers.values("x-a") == ["1", "2"])
        fields.append("Cache-Control", "no-cache")
        bench.respond("2", fields, url: Self.url("b"), times: 2)
        for _ in 0..<2 { #expect(try await ask(path: "b") == "network 2") }
        client.close()
    }

    @Test("K12 headers that the library writes count for Vary like others: RFC 9111, 4.1")
    func ownFields() async throws {
        let fields: Headers = [
            "Cache-Control": "max-age=60", "Vary": "User-Agent, Accept-Encoding",
        ]
        bench.respond("1", fields)
        bench.respond("2", fields)
        bench.respond("3", fields)
        _ = try await ask()
        let other = try bench.client { $0.userAgent = "Other/1" }
        #expect(try await other.send(cached()).text == "2")
        var request = cached()
        // It then declares that it accepts no encoding.
        request.set(.compressed, 0)
        #expect(try await client.send(request).text == "3")
        #expect(try await ask() == "fresh 1")
        #expect(try await other.send(cached()).text == "2")
        #expect(try await client.send(request).text == "3" && bench.hits == 3)
        other.close()
        client.close()
    }

    // MARK: HEAD and 304

    @Test("K15 a 200 to HEAD updates the stored GET, or removes it: RFC 9111, 4.3.5")
    func head() async throws {
        let tag: Headers = ["Cache-Control": "max-age=60", "ETag": "\"1\"", "Content-Length": "1"]
        bench.respond("1", tag)
        _ = try await ask()
        stub.advance(by: .seconds(61))
        bench.respond("", tag, method: "HEAD")
        #expect(try await ask(["Cache-Control": "no-cache"], method: "HEAD") == "network")
        #expect(try await ask() == "fresh 1" && bench.hits == 2)
        bench.respond("", ["ETag": "\"2\"", "Content-Length": "1"], method: "HEAD")
        #expect(try await ask(["Cache-Control": "no-cache"], method: "HEAD") == "network")
        bench.respond("2")
        #expect(try await ask([:], .anyAge) == "network 2")
        client.close()
    }

    @Test("K15 HEAD validates a stale entry, and a 304 updates it: 4.3.3")
    func headValidates() async throws {
        let tag: Headers = ["Cache-Control": "max-age=60", "ETag": "\"1\""]
        bench.respond("1", tag)
        _ = try await ask()
        stub.advance(by: .seconds(61))
        bench.respond("", tag, method: "HEAD", status: 304)
        #expect(try await ask(method: "HEAD") == "confirmed")
        #expect(bench.lastHeaders["If-None-Match"] == "\"1\"")
        #expect(try await ask() == "fresh 1" && bench.hits == 2)
        client.close()
    }

    @Test("K15 a strong validator in a 304 updates every variant that has it: 4.3.4")
    func strongVariants() async throws {
        for tag in ["\"1\"", "W/\"1\""] {
            let path = tag.hasPrefix("W") ? "weak" : "strong"
            let fields: Headers = ["Cache-Control": "max-age=60", "ETag": tag, "Vary": "X"]
            for value in ["1", "2"] {
                bench.respond(value, fields, url: Self.url(path))
                _ = try await ask(["X": value], path: path)
            }
            stub.advance(by: .seconds(61))
            bench.respond("", fields, url: Self.url(path), status: 304)
            #expect(try await ask(["X": "1"], path: path) == "confirmed 1")
            bench.respond("new", fields, url: Self.url(path))
            let other = try await ask(["X": "2"], path: path)
            #expect(other == (path == "strong" ? "fresh 2" : "network new"))
        }
        client.close()
    }

    // MARK: The program's conditions

    @Test("K15 the program's tags are added to the validation of a stale entry: 4.3.2")
    func ownTags() async throws {
        let one: Headers = ["Cache-Control": "max-age=60", "ETag": "\"1\""]
        let own: Headers = ["If-None-Match": "\"2\""]
        bench.respond("1", one)
        _ = try await ask()
        stub.advance(by: .seconds(61))
        bench.respond("", one, status: 304)
        #expect(try await ask(own) == "confirmed 1")
        #expect(bench.lastHeaders["If-None-Match"] == "\"1\", \"2\"")
        // The origin now has the program's version.
        stub.advance(by: .seconds(61))
        bench.respond("", ["ETag": "\"2\""], status: 304)
        #expect(try await ask(own) == "network 304")
        bench.respond("2", ["Cache-Control": "max-age=60", "ETag": "\"2\""])
        #expect(try await ask([:], .anyAge) == "network 2" && bench.hits == 4)
        #expect(try await ask(own) == "fresh 304" && bench.hits == 4)
        #expect(try await ask(["If-None-Match": "*"]) == "fresh 304" && bench.hits == 4)
        // A reload sends the program's conditions, and its response updates the entry.
        stub.advance(by: .seconds(61))
        bench.respond("", ["ETag": "\"2\""], status: 304)
        #expect(try await ask(own, .reload) == "network 304")
        #expect(try await ask() == "fresh 2" && bench.hits == 5)
        client.close()
    }

    @Test("K15 If-Modified-Since is evaluated against the entry: RFC 9110, 13.1.3")
    func modifiedSince() async throws {
        bench.respond("1", ["Cache-Control": "max-age=60", "Last-Modified": date(-1000)])
        _ = try await ask()
        #expect(try await ask(["If-Modified-Since": date(-500)]) == "fresh 304")
        #expect(try await ask(["If-Modified-Since": date(-2000)]) == "fresh 1")
        #expect(try await ask(["If-Modified-Since": "whenever"]) == "fresh 1" && bench.hits == 1)
        client.close()
    }

    @Test("K15 If-Match and If-Unmodified-Since are sent to the origin: RFC 9111, 4.3.2")
    func originConditions() async throws {
        bench.respond("1", ["Cache-Control": "max-age=60", "ETag": "\"1\""])
        _ = try await ask()
        for name in ["If-Match", "If-Unmodified-Since"] {
            bench.respond("", [:], status: 412)
            #expect(try await ask([name: "\"2\""]) == "network 412")
            #expect(bench.lastHeaders[name] == "\"2\"")
        }
        client.close()
    }

    @Test(
        "K12 If-Range of the program, and a contradictory Content-Range: RFC 9110, 13.1.5, 14.4")
    func parts() async throws {
        bench.respond("abcdef", ["Cache-Control": "max-age=60", "ETag": "\"1\""])
        _ = try await ask()
        #expect(try await ask(["Range": "bytes=1-2", "If-Range": "\"1\""]) == "fresh 206 bc")
        #expect(try await ask(["Range": "bytes=1-2", "If-Range": "\"2\""]) == "fresh abcdef")
        #expect(try await ask(["Range": "bytes=1-2", "If-Range": "W/\"1\""]) == "fresh abcdef")
        #expect(bench.hits == 1)
        bench.respond(
            "bc",
            ["Cache-Control": "max-age=60", "ETag": "\"1\"", "Content-Range": "bytes 1-9/20"],
            url: Self.url("b"), status: 206, times: 2)
        for _ in 0..<2 {
            #expect(try await ask(["Range": "bytes=1-2"], path: "b") == "network 206 bc")
        }
        client.close()
    }

    // MARK: Unsafe methods

    /// Stores responses of that many paths; the next network request would reveal a miss.
    private func fill(_ paths: [String]) async throws {
        for path in paths {
            bench.respond("old", url: Self.url(path))
            _ = try await ask(path: path)
            bench.respond("new", url: Self.url(path), method: "GET")
        }
    }

    @Test(
        "K12 an unsafe method invalidates its target and the URLs it names, on its origin: 4.4",
        arguments: ["POST", "PUT", "DELETE", "PATCH", "BREW"])
    func invalidation(_ method: String) async throws {
        try await fill(["a", "b?x=1", "c", "d"])
        bench.respond("other", url: "http://other.example/e")
        _ = try await client.send(cached(url: "http://other.example/e"))
        bench.respond(
            "", ["Location": "/b?x=1", "Content-Location": "http://example.org:80/c"],
            method: method, status: 201)
        _ = try await ask(method: method)
        for path in ["a", "b?x=1", "c"] { #expect(try await ask(path: path) == "network new") }
        #expect(try await ask(path: "d") == "fresh old")
        bench.respond("", ["Location": "http://other.example/e"], method: method, status: 201)
        _ = try await ask(method: method)
        #expect(try await client.send(cached(url: "http://other.example/e")).isFromCache)
        // A failed request changed nothing.
        bench.respond("", [:], url: Self.url("d"), method: method, status: 404)
        #expect(try await ask(path: "d", method: method) == "network 404")
        #expect(try await ask(path: "d") == "fresh old")
        client.close()
    }

    @Test(
        "K12 safe methods invalidate nothing: RFC 9110, 9.2.1", arguments: ["OPTIONS", "PROPFIND"])
    func safe(_ method: String) async throws {
        try await fill(["a"])
        bench.respond("", [:], method: method)
        _ = try await ask(method: method)
        #expect(try await ask() == "fresh old")
        client.close()
    }

    @Test(
        "K12 an unsafe method through a redirect invalidates all of its URLs",
        arguments: [307, 308])
    func redirected(_ status: Int) async throws {
        try await fill(["a", "b"])
        bench.respond("", ["Location": "/b"], method: "POST", status: status)
        bench.respond("", [:], url: Self.url("b"), method: "POST")
        _ = try await ask(method: "POST")
        for path in ["a", "b"] { #expect(try await ask(path: path) == "network new") }
        client.close()
    }

    @Test("K12 a response to POST with a Content-Location serves GET: RFC 9110, 9.3.3")
    func posted() async throws {
        bench.respond(
            "made", ["Cache-Control": "max-age=60", "Content-Location": "/a"], method: "POST")
        #expect(try await ask(method: "POST") == "network made")
        #expect(try await ask() == "fresh made")
        bench.respond(
            "other", ["Cache-Control": "max-age=60", "Content-Location": "/b"], method: "POST")
        _ = try await ask(method: "POST")
        bench.respond("new")
        #expect(try await ask() == "network new")
        client.close()
    }

    @Test("K19 an unsafe method with ignored parameters invalidates the entry without them")
    func ignored() async throws {
        func ask(_ path: String, _ method: String = "GET") async throws -> Bool {
            var request = cached(url: Self.url(path), method: method)
            request.cacheIgnoredParameters = ["sign"]
            return try await client.send(request).isFromCache
        }
        bench.respond("body", url: Self.url("*"), times: nil)
        for path in ["a?x=1&sign=1", "b?sign=1"] { #expect(try await !ask(path)) }
        for path in ["a?x=1&sign=2", "b?sign=2"] { #expect(try await ask(path)) }
        _ = try await ask("a?x=1&sign=3", "PUT")
        #expect(try await !ask("a?x=1&sign=4"))
        #expect(try await ask("b?sign=4"))
        client.close()
    }

    // MARK: Failures

    @Test(
        "K17 server errors that a stale response replaces", arguments: [500, 502, 503, 504])
    func serverErrors(_ status: Int) async throws {
        bench.respond("1", ["Cache-Control": "max-age=60, stale-if-error=60"])
        _ = try await ask()
        stub.advance(by: .seconds(61))
        bench.respond("down", [:], status: status)
        #expect(try await ask() == "stale 1")
        bench.respond("down", [:], status: 501)
        let error = await failure { () throws(WherryError) in try await client.send(cached()) }
        #expect(error?.httpStatus == 501)
        client.close()
    }
}
