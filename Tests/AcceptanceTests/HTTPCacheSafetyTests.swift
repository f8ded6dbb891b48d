// Wherry: acceptance tests of the HTTP cache: privacy and integrity
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry
import WherrySystem

@Suite struct HTTPCacheSafetyTests: CacheSuite {
    let bench: CacheBench
    private static let minute = "cache?control=max-age%3D60"

    init() throws { bench = try CacheBench() }

    private func httpClient(
        _ configure: (inout Client.Configuration) -> Void = { _ in }
    ) throws -> Client {
        // The server has its own clock, which would not agree with a manual one.
        try makeClient(scope) {
            $0.storageDirectory = folder.file("storage")
            $0.usesHTTPCache = true
            configure(&$0)
        }
    }

    // MARK: Separate users

    @Test("K19 SEC-C2 two users never share: tokens, partitions, and key headers separate them")
    func identities() async throws {
        let client = try httpClient()
        func number(_ request: Request) async throws -> String {
            try await client.send(request).text
        }
        var requests: [Request] = []
        for token in [nil, "a", "b"] {
            for partition in ["", "one"] {
                var request = cached(url: Self.minute)
                request.bearerToken = token
                request.cachePartition = partition
                requests.append(request)
            }
        }
        var named = cached(nil, ["X-User": "1"], url: Self.minute)
        named.cacheHeaders = ["x-user"]
        requests.append(named)
        var first: [String] = []
        for request in requests { first.append(try await number(request)) }
        #expect(try Set(first).count == 7 && hits() == 7)
        var second: [String] = []
        for request in requests { second.append(try await number(request)) }
        #expect(try first == second && hits() == 7)
        // Cookies do not count: responses that depend on them say so.
        let cookie = cached(nil, ["Cookie": "a=1"], url: Self.minute)
        #expect(try await number(cookie) == first[0])
        // Clearing finds all of them, and so does an unsafe method on the target.
        #expect(try await client.cache.clear("cache") == 7)
        #expect(try await client.cache.usage().entries == 0)
        for request in requests { _ = try await number(request) }
        _ = try await client.send(Request(Self.minute, method: "PUT"))
        #expect(try await client.cache.usage().entries == 0)
        client.close()
    }

    @Test("K19 ignored parameters are not part of the key, and are not stored")
    func ignored() async throws {
        let client = try httpClient()
        for time in ["1", "2"] {
            var request = cached(url: Self.minute)
            request.parameters = ["sign": .string("planted" + time), "list": ["a"]]
            request.cacheIgnoredParameters = ["sign"]
            #expect(try await client.send(request).isFromCache == (time == "2"))
        }
        #expect(try hits() == 1)
        client.close()
        for file in bench.entryFiles("http") {
            let bytes = try Data(contentsOf: URL(fileURLWithPath: folder.file(file)))
            #expect(bytes.range(of: Data("planted".utf8)) == nil)
        }
    }

    @Test(
        "SEC-C3 a cut body and an unauthenticated connection leave no entry",
        arguments: ["&cut=3", "&reset=3", "&no_length=1&reset=3", "&chunked=1&chunked_cut=1"])
    func incomplete(_ fault: String) async throws {
        let client = try httpClient()
        let error = await failure { () throws(WherryError) in
            try await client.send(cached(url: Self.minute + fault))
        }
        #expect(error != nil)
        #expect(try await client.cache.usage().entries == 0)
        client.close()
        let insecure = try httpClient { $0.isInsecure = true }
        for _ in 0..<2 { #expect(try await !insecure.send(cached(url: Self.minute)).isFromCache) }
        #expect(try await insecure.cache.usage().entries == 0)
        insecure.close()
    }

    @Test("K12 streamed responses, and GET with a body, bypass the cache")
    func passing() async throws {
        let client = try httpClient()
        for _ in 0..<2 {
            let stream = try await client.stream(cached(url: Self.minute))
            var count = 0
            for try await piece in stream.body { count += piece.count }
            #expect(count > 0)
        }
        var request = cached(url: Self.minute)
        request.body = .json(Bytes("{}"))
        for _ in 0..<2 { #expect(try await !client.send(request).isFromCache) }
        #expect(try await client.cache.usage().entries == 0)
        #expect(try hits() == 4)
        request.cachePolicy = .anyAgeOnly
        let miss = await failure { [request] () throws(WherryError) in
            try await client.send(request)
        }
        #expect(miss?.reason == "missing")
        client.close()
    }

    // MARK: Invalidation

    @Test(
        "K12 an unsafe method invalidates the target's entry, also if its response body is cut",
        arguments: [
            #""HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc""#,
            #""HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc""#,
            #""HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\nabc""#,
            #""HTTP/1.1 303 See Other\r\nLocation: /nowhere\r\nContent-Length: 9\r\n\r\nabc""#,
        ])
    func invalidation(_ answer: String) async throws {
        let client = try httpClient { $0.maxBodyBytes = 1000 }
        let fresh = #""headers": [["Cache-Control", "max-age=60"]]"#
        try scope.script(
            "x",
            "[{\(fresh), \"body\": \"old\"}, {\"status\": 500},"
                + " {\"raw\": [[\"read_body\"], [\"send\", \(answer)], [\"fin\"]]},"
                + " {\(fresh), \"body\": \"new\"}]")
        #expect(try await client.send(cached(url: "s/x")).text == "old")
        // A server error changes nothing.
        let error = await failure { () throws(WherryError) in
            try await client.send(Request("s/x", method: "POST"))
        }
        #expect(error?.httpStatus == 500)
        #expect(try await client.send(cached(url: "s/x")).isFromCache)
        _ = await failure { () throws(WherryError) in
            try await client.send(Request("s/x", method: "POST"))
        }
        #expect(try await client.send(cached(url: "s/x")).text == "new")
        client.close()
    }

    @Test("K9 a response requested before everything was cleared is not stored afterwards")
    func clearedMeanwhile() async throws {
        let client = try httpClient()
        let url = Self.minute + "&gate=g"
        for clears in [{ try client.cache.clear() }, { try client.cache.clear("cache") }] {
            try scope.reset()
            async let response = client.send(cached(url: url))
            _ = try await scope.wait("requests=1")
            _ = try clears()
            try scope.open(gate: "g")
            #expect(try await !response.isFromCache)
            #expect(try await client.cache.usage().entries == 0)
        }
        client.close()
    }

    @Test("K12 a response requested before an unsafe method on its target is not stored afterwards")
    func changedMeanwhile() async throws {
        let client = try httpClient()
        // A validation in flight while the resource changes.
        try scope.script(
            "x",
            #"[{"headers": [["Cache-Control", "max-age=60"], ["ETag", "\"1\""], ["Age", "61"]], "body": "old"}, {"status": 304, "headers": [["Cache-Control", "max-age=60"], ["ETag", "\"1\""]], "gate": "g"}, {"body": "changed"}, {"headers": [["Cache-Control", "max-age=60"]], "body": "new"}]"#
        )
        _ = try await client.send(cached(url: "s/x"))
        async let validated = client.send(cached(url: "s/x"))
        _ = try await scope.wait("requests=2")
        _ = try await client.send(Request("s/x", method: "POST"))
        try scope.open(gate: "g")
        #expect(try await validated.text == "old")
        #expect(try await client.send(cached(url: "s/x")).text == "new")
        client.close()
    }

    // MARK: Redirects

    @Test("K12 each step of a redirect is stored and followed separately")
    func redirects() async throws {
        let client = try httpClient()
        try scope.script(
            "r",
            #"[{"status": 301, "headers": [["Location", "t"], ["Cache-Control", "max-age=60"]], "body": "page"}]"#
        )
        try scope.script(
            "t", #"[{"headers": [["Cache-Control", "max-age=60"]], "body": "target"}]"#)
        let first = try await client.send(cached(url: "s/r"))
        let second = try await client.send(cached(url: "s/r"))
        #expect(first.text == "target" && second.text == "target" && second.isFromCache)
        #expect(
            second.url == first.url && second.redirects.map(\.url) == first.redirects.map(\.url))
        #expect(second.redirects.map(\.status) == [301])
        // A stored redirect has an Age, and otherwise the same headers.
        let fields = second.redirects.flatMap(\.headers.fields).filter { $0.name != "Age" }
        #expect(fields == first.redirects.flatMap(\.headers.fields))
        #expect(try hits() == 2)
        // A redirect that is not followed is the response, with its body.
        var request = cached(url: "s/r")
        request.maxRedirects = 0
        request.acceptedStatus = [301]
        let page = try await client.send(request)
        #expect(page.isFromCache && page.status == 301 && page.text == "page")
        client.close()
    }

    @Test(
        "K12 a cut, endless, or large redirect page is not an error, and is not stored",
        arguments: ["cut", "endless", "large"])
    func redirectPages(_ kind: String) async throws {
        let client = try httpClient()
        let head =
            #"HTTP/1.1 301 Moved\r\nLocation: t\r\nCache-Control: max-age=60\r\nContent-Length: 200000\r\n\r\n"#
        let rest =
            switch kind {
            case "cut": #"["send", "abc"], ["fin"]"#
            case "endless": #"["send", "abc"], ["stall", 60]"#
            default: #"["bytes", 200000, 1, 0], ["keep"]"#
            }
        try scope.script("r", #"[{"raw": [["send", ""# + head + #""], "# + rest + "]}]")
        try scope.script("t", #"[{"body": "target"}]"#)
        #expect(try await client.send(cached(url: "s/r")).text == "target")
        #expect(try await client.cache.entries("s/r").isEmpty)
        client.close()
    }

    // MARK: Ranges

    @Test("K12 ranges are served from a complete entry, and from a partial one that contains them")
    func ranges() async throws {
        let client = try httpClient()
        let url = "bytes/1000?cache=max-age%3D60"
        func part(_ range: String) async throws -> Response {
            var request = cached(nil, ["Range": range], url: url)
            request.acceptedStatus = [416]
            return try await client.send(request)
        }
        let bytes = Bytes(TestPattern.bytes(seed: 1, count: 1000))
        let first = try await part("bytes=100-299")
        #expect(first.status == 206 && !first.isFromCache)
        let inside = try await part("bytes=150-199")
        #expect(
            inside.isFromCache && inside.status == 206 && inside.body == Bytes(bytes[150..<200]))
        #expect(inside.header("content-range") == "bytes 150-199/1000")
        #expect(try await !part("bytes=0-99").isFromCache)
        #expect(try await part("bytes=50-250").isFromCache)
        #expect(try hits() == 2)
        // The rest is requested with the strong validator, and the result is complete.
        let whole = try await client.send(cached(url: url))
        #expect(whole.status == 200 && whole.body == bytes)
        let last = try #require(try scope.requests().last)
        #expect(last.header("range") == "bytes=300-" && last.header("if-range") == "\"1000-1\"")
        #expect(try await client.send(cached(url: url)).isFromCache)
        for (range, body) in [
            ("bytes=-10", Bytes(bytes[990...])), ("bytes=990-", Bytes(bytes[990...])),
            ("bytes=0-0", Bytes(bytes[..<1])),
        ] {
            let response = try await part(range)
            #expect(response.isFromCache && response.status == 206 && response.body == body)
        }
        let beyond = try await part("bytes=1000-")
        #expect(beyond.isFromCache && beyond.status == 416)
        #expect(try hits() == 3)
        client.close()
    }

    @Test("K12 a partial entry of a truncated or changed file is not used")
    func changedParts() async throws {
        let client = try httpClient()
        for change in ["size_next=100", "seed_next=2"] {
            // Attempts are counted by path.
            try scope.reset()
            let url = "bytes/1000?cache=max-age%3D60&change_at=2&" + change
            let first = try await client.send(cached(nil, ["Range": "bytes=0-499"], url: url))
            #expect(first.status == 206)
            let whole = try await client.send(cached(url: url))
            #expect(whole.status == 200 && !whole.isFromCache)
            let isShort = change.hasPrefix("size")
            #expect(whole.body.count == (isShort ? 100 : 1000))
            #expect(
                whole.body
                    == Bytes(TestPattern.bytes(seed: isShort ? 1 : 2, count: whole.body.count)))
        }
        client.close()
    }

    @Test("K12 header bytes that are not UTF-8 are returned unchanged: RFC 9110, 5.5")
    func otherBytes() async throws {
        let client = try httpClient()
        try scope.script(
            "x",
            #"[{"headers": [["Cache-Control", "max-age=60"], ["X-A", "a\udcfcb"], ["X-A", "2"]], "body": "1"}]"#
        )
        let first = try await client.send(cached(url: "s/x"))
        let second = try await client.send(cached(url: "s/x"))
        #expect(second.isFromCache && second.headers.values("x-a") == first.headers.values("x-a"))
        #expect(first.headers.values("x-a").count == 2 && first.header("x-a")?.first == "a")
        client.close()
    }

    @Test("K12 encodings of stored and returned responses agree")
    func codings() async throws {
        let client = try httpClient()
        let url = "gzip?header=Cache-Control:max-age%3D60"
        let first = try await client.send(cached(url: url))
        let second = try await client.send(cached(url: url))
        #expect(second.isFromCache && second.body == first.body)
        #expect(second.header("content-encoding") == nil && second.header("content-length") == nil)
        #expect(try hits() == 1)
        client.close()
    }
}
