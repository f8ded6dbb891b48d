// Wherry: acceptance tests of the HTTP cache: serving and freshness
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Wherry
import WherrySystem

@Suite struct HTTPCacheTests {
    let bench: HTTPCacheBench
    var stub: StubServer { bench.stub }

    init() throws { bench = try HTTPCacheBench() }

    // MARK: Policies

    /// The behavior of a policy for fresh, stale, and missing entries: whether the origin gets a
    /// request, and the result.
    struct PolicyCase: Sendable, CustomStringConvertible {
        var policy: CachePolicy?
        var fresh: String
        var stale: String
        var absent: String
        var description: String { policy.map { "\($0)" } ?? "none" }
    }

    @Test(
        "K12 the four policies, and the client's own, with fresh, stale, and missing entries",
        arguments: [
            PolicyCase(policy: nil, fresh: "old 1", stale: "new 2", absent: "old 1"),
            PolicyCase(policy: .protocol, fresh: "old 1", stale: "new 2", absent: "old 1"),
            PolicyCase(policy: .reload, fresh: "new 2", stale: "new 2", absent: "old 1"),
            PolicyCase(policy: .anyAge, fresh: "old 1", stale: "old 1", absent: "old 1"),
            PolicyCase(policy: .anyAgeOnly, fresh: "old 1", stale: "old 1", absent: "missing 0"),
            PolicyCase(policy: .off, fresh: "new 2", stale: "new 2", absent: "old 1"),
            PolicyCase(policy: .refresh, fresh: "new 2", stale: "new 2", absent: "old 1"),
        ])
    func policies(_ policy: PolicyCase) async throws {
        func outcome(_ client: Client, _ bench: HTTPCacheBench) async -> String {
            do {
                let response = try await client.send(cached(policy.policy))
                return "\(response.text) \(bench.hits)"
            } catch {
                return "\(error.reason) \(bench.hits)"
            }
        }
        for state in ["fresh", "stale", "absent"] {
            let bench = try HTTPCacheBench()
            let client = try bench.client()
            bench.respond("old")
            bench.respond("new")
            if state != "absent" { _ = try await client.send(cached()) }
            if state == "stale" { bench.stub.advance(by: .seconds(61)) }
            let wanted = ["fresh": policy.fresh, "stale": policy.stale, "absent": policy.absent]
            #expect(await outcome(client, bench) == wanted[state], "\(state)")
            client.close()
        }
    }

    @Test("K12 a request can use the HTTP cache of a client that disables it")
    func perRequest() async throws {
        let client = try bench.client { $0.usesHTTPCache = false }
        bench.respond("1", times: nil)
        for policy in [nil, .use, .off] as [CachePolicy?] {
            for _ in 0..<2 { #expect(try await !client.send(cached(policy)).isFromCache) }
        }
        #expect(try await !client.send(cached(.protocol)).isFromCache)
        #expect(try await client.send(cached(.protocol)).isFromCache && bench.hits == 7)
        #expect(try await !client.send(cached()).isFromCache)
        client.close()
    }

    @Test("K12 a hit has status, headers, body, and its current age, in every kind of request")
    func hit() async throws {
        let client = try bench.client()
        bench.respond(
            "body",
            ["Cache-Control": "max-age=60", "X-Own": "1", "Connection": "X-Hop", "X-Hop": "2"])
        let first = try await client.send(cached())
        #expect(!first.isFromCache && first.header("x-hop") == "2" && first.header("age") == nil)
        stub.advance(by: .seconds(7))
        for response in [try await client.send(cached()), try client.perform(cached())] {
            #expect(response.isFromCache && !response.isStale && !response.isRevalidated)
            #expect(response.status == 200 && response.text == "body" && response.url == first.url)
            #expect(response.header("age") == "7" && response.header("x-own") == "1")
            #expect(response.header("x-hop") == nil && response.metrics.receivedBytes == 0)
        }
        // Another client of the folder has it too.
        let other = try bench.client()
        #expect(try await other.send(cached()).isFromCache && bench.hits == 1)
        other.close()
        client.close()
    }

    @Test("K6 a response of the HTTP cache is never reported inside the starting call")
    func notInside() async throws {
        let client = try bench.client()
        bench.respond("body")
        _ = try await client.send(cached())
        var request = cached()
        request.set(.wantHeaders, 1)
        for _ in 0..<20 {
            let recorder = Recorder()
            let transfer = try client.send(request, observer: recorder)
            let outcome = await recorder.end()
            #expect(outcome.response?.isFromCache == true && transfer.state == .done)
            #expect(!recorder.wasToldHere && recorder.kinds == ["headers", "done"])
        }
        #expect(bench.hits == 1)
        client.close()
    }

    @Test("K12 only-if-cached returns 504 on a miss: RFC 9111, 5.2.1.7")
    func onlyIfCached() async throws {
        let client = try bench.client()
        let request = cached(nil, ["Cache-Control": "only-if-cached"])
        let error = await failure { () throws(WherryError) in try await client.send(request) }
        #expect(error?.httpStatus == 504 && bench.hits == 0)
        bench.respond("body")
        _ = try await client.send(cached())
        #expect(try await client.send(request).text == "body" && bench.hits == 1)
        client.close()
    }

    @Test("K12 uncacheable responses are not stored, and HEAD is served from a stored GET")
    func storing() async throws {
        let client = try bench.client()
        for control in ["no-store", "max-age=0", "no-cache"] {
            let url = "http://example.org/" + control
            bench.respond("body", ["Cache-Control": control], url: url, times: nil)
            for _ in 0..<2 { #expect(try await !client.send(cached(url: url)).isFromCache) }
        }
        #expect(bench.hits == 6)
        bench.respond("body")
        _ = try await client.send(cached())
        let head = try await client.send(cached(method: "HEAD"))
        #expect(head.isFromCache && head.status == 200 && head.body.isEmpty && bench.hits == 7)
        // Variants are stored separately.
        let vary: Headers = ["Cache-Control": "max-age=60", "Vary": "Accept-Language"]
        let url = "http://example.org/vary"
        for language in ["de", "en"] {
            bench.respond(language, vary, url: url)
            _ = try await client.send(cached(nil, ["Accept-Language": language], url: url))
        }
        for language in ["de", "en"] {
            let response = try await client.send(
                cached(nil, ["Accept-Language": language], url: url))
            #expect(response.isFromCache && response.text == language)
        }
        #expect(bench.hits == 9)
        client.close()
    }

    // MARK: Validation

    @Test("K15 a stale entry is validated: a 304 returns the stored body, a new body replaces it")
    func validation() async throws {
        let client = try bench.client()
        bench.respond(
            "body",
            [
                "Cache-Control": "max-age=60", "ETag": "W/\"1\"", "X-A": "old",
                "Last-Modified": "Mon, 01 Jan 2024 00:00:00 GMT",
            ])
        _ = try await client.send(cached())
        stub.advance(by: .seconds(61))
        bench.respond(
            "",
            ["Cache-Control": "max-age=60", "ETag": "W/\"1\"", "X-A": "new", "Set-Cookie": "c=1"],
            status: 304)
        let confirmed = try await client.send(cached())
        #expect(bench.lastHeaders["If-None-Match"] == "W/\"1\"")
        #expect(bench.lastHeaders["If-Modified-Since"] == "Mon, 01 Jan 2024 00:00:00 GMT")
        #expect(confirmed.isFromCache && confirmed.isRevalidated && !confirmed.isStale)
        #expect(confirmed.status == 200 && confirmed.text == "body")
        #expect(confirmed.header("x-a") == "new" && confirmed.header("set-cookie") == "c=1")
        // Its age has restarted, and no other request gets the cookie.
        let again = try await client.send(cached())
        #expect(again.isFromCache && !again.isRevalidated && again.header("x-a") == "new")
        #expect(again.header("set-cookie") == nil && bench.hits == 2)
        stub.advance(by: .seconds(61))
        bench.respond("other", ["Cache-Control": "max-age=60", "ETag": "\"2\""])
        let replaced = try await client.send(cached())
        #expect(!replaced.isFromCache && !replaced.isRevalidated && replaced.text == "other")
        #expect(try await client.send(cached()).text == "other" && bench.hits == 3)
        client.close()
    }

    @Test("K15 conditions of the program stay its own: it gets the 304 that it requested")
    func ownConditions() async throws {
        let client = try bench.client()
        bench.respond("body", ["Cache-Control": "max-age=60", "ETag": "\"1\""])
        _ = try await client.send(cached())
        var request = cached(nil, ["If-None-Match": "\"0\", \"1\""])
        request.acceptedStatus = [304]
        let known = try await client.send(request)
        #expect(known.status == 304 && known.body.isEmpty && known.isFromCache)
        #expect(known.header("etag") == "\"1\"" && bench.hits == 1)
        request.headers = ["If-None-Match": "\"other\""]
        #expect(try await client.send(request).text == "body" && bench.hits == 1)
        client.close()
    }

    @Test("K15 a 304 for another response makes the client request again")
    func otherEntity() async throws {
        let client = try bench.client()
        bench.respond("body", ["Cache-Control": "max-age=0", "ETag": "\"1\""])
        _ = try await client.send(cached())
        bench.respond("", ["ETag": "\"7\""], status: 304)
        bench.respond("seven", ["ETag": "\"7\"", "Cache-Control": "max-age=60"])
        let response = try await client.send(cached())
        #expect(response.text == "seven" && response.status == 200 && bench.hits == 3)
        #expect(bench.lastHeaders["If-None-Match"] == nil)
        client.close()
    }

    // MARK: Cached, then fresh

    @Test("K16 the cached response is delivered first, then the fresh one, marked if unchanged")
    func thenNetwork() async throws {
        let client = try bench.client()
        bench.respond("one", ["Cache-Control": "max-age=60", "ETag": "\"1\""])
        func ask() async throws -> (kinds: [String], response: Response?) {
            let recorder = Recorder()
            _ = try client.send(cached(.thenNetwork), observer: recorder)
            let outcome = await recorder.end()
            return (recorder.kinds, outcome.response)
        }
        var asked = try await ask()
        #expect(asked.kinds == ["done"] && asked.response?.isFromCache == false)
        bench.respond("", ["ETag": "\"1\""], status: 304)
        asked = try await ask()
        #expect(asked.kinds == ["cached", "done"] && bench.hits == 2)
        #expect(asked.response?.isUnchanged == true && asked.response?.isRevalidated == true)
        #expect(asked.response?.text == "one")
        bench.respond("two", ["Cache-Control": "max-age=60"])
        asked = try await ask()
        #expect(asked.kinds == ["cached", "done"] && asked.response?.text == "two")
        #expect(asked.response?.isUnchanged == false && asked.response?.isFromCache == false)
        // A stored redirect is not delivered.
        bench.respond(
            "", ["Location": "/b", "Cache-Control": "max-age=60"], url: "http://example.org/r",
            status: 301, times: 2)
        bench.respond("b", url: "http://example.org/b", times: nil)
        for _ in 0..<2 {
            let recorder = Recorder()
            _ = try client.send(
                cached(.thenNetwork, url: "http://example.org/r"), observer: recorder)
            #expect(await recorder.end().response?.text == "b")
            #expect(recorder.kinds == ["done"])
        }
        client.close()
    }

    @Test(
        "K16 stale-while-revalidate responds at once and sends one background request: RFC 5861, 3")
    func staleWhileRevalidate() async throws {
        let client = try bench.client()
        let fields: Headers = ["Cache-Control": "max-age=60, stale-while-revalidate=60"]
        bench.respond("one", fields)
        _ = try await client.send(cached())
        stub.advance(by: .seconds(61))
        // The origin is slow, so all of them arrive during its request.
        stub.respond(
            HTTPCacheBench.url, times: 1, headers: fields, body: Bytes("two"), delay: .seconds(1))
        for _ in 0..<5 {
            let response = try await client.send(cached())
            #expect(response.text == "one" && response.isStale && response.isFromCache)
        }
        stub.advance(by: .zero)
        #expect(bench.hits == 2)
        stub.advance(by: .seconds(1))
        var text = "one"
        while text == "one" { text = try await client.send(cached()).text }
        #expect(text == "two" && bench.hits == 2)
        // After the window the request waits for the origin.
        stub.advance(by: .seconds(121))
        bench.respond("three", fields)
        #expect(try await client.send(cached()).text == "three" && bench.hits == 3)
        client.close()
    }

    @Test("K16 closing a client ends its revalidation")
    func closedMeanwhile() async throws {
        let client = try bench.client()
        let fields: Headers = ["Cache-Control": "max-age=0, stale-while-revalidate=60"]
        bench.respond("one", fields)
        _ = try await client.send(cached())
        stub.respond(
            HTTPCacheBench.url, times: 1, headers: fields, body: Bytes("two"), delay: .seconds(900))
        #expect(try await client.send(cached()).isStale)
        stub.advance(by: .zero)
        #expect(bench.hits == 2)
        client.close()
        let other = try bench.client()
        #expect(try other.perform(cached(.anyAgeOnly)).text == "one")
        other.close()
    }

    // MARK: Failures

    @Test(
        "K17 a stale response is served with a mark if the origin fails, within the granted time",
        arguments: ["connect", "connection_reset", "first_byte_timeout", "503"])
    func staleIfError(_ failure: String) async throws {
        let client = try bench.client()
        func fail() throws {
            if let status = Int(failure) {
                bench.respond("down", [:], status: status)
            } else {
                try stub.fail(HTTPCacheBench.url, times: 1, reason: failure)
            }
        }
        bench.respond("body", ["Cache-Control": "max-age=60, stale-if-error=100"])
        _ = try await client.send(cached())
        stub.advance(by: .seconds(161))
        // The response itself grants no more than 100 s, so the request must.
        try fail()
        let error = await AcceptanceTests.failure { () throws(WherryError) in
            try await client.send(cached())
        }
        #expect(error != nil)
        try fail()
        var request = cached()
        request.staleIfError = .seconds(200)
        let response = try await client.send(request)
        #expect(response.text == "body" && response.isStale && response.isFromCache)
        #expect(response.status == 200 && bench.hits == 3)
        client.close()
    }

    @Test("K17 never after must-revalidate, and not if the response itself is faulty")
    func neverStale() async throws {
        let client = try bench.client()
        var request = cached()
        request.staleIfError = .seconds(1000)
        bench.respond("body", ["Cache-Control": "max-age=60, must-revalidate"])
        _ = try await client.send(cached())
        stub.advance(by: .seconds(61))
        try stub.fail(HTTPCacheBench.url, times: 1, reason: "connect")
        let error = await failure { [request] () throws(WherryError) in
            try await client.send(request)
        }
        #expect(error?.reason == "connect")
        bench.respond("body")
        _ = try await client.send(cached())
        stub.advance(by: .seconds(61))
        try stub.fail(HTTPCacheBench.url, times: 1, reason: "untrusted")
        let untrusted = await failure { [request] () throws(WherryError) in
            try await client.send(request)
        }
        #expect(untrusted?.reason == "untrusted")
        client.close()
    }
}
