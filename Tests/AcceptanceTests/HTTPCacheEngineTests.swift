// Wherry: acceptance tests of the HTTP cache: interaction with other features
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry
import WherrySystem

@Suite struct HTTPCacheEngineTests {
    let bench: HTTPCacheBench
    var stub: StubServer { bench.stub }

    init() throws { bench = try HTTPCacheBench() }

    private func send(_ client: Client, _ request: Request) async -> (
        recorder: Recorder, outcome: TransferOutcome
    ) {
        let recorder = Recorder()
        do {
            _ = try client.send(request, observer: recorder)
        } catch {
            return (recorder, TransferOutcome(error: error))
        }
        return (recorder, await recorder.end())
    }

    // An image's encoding was skipped if the timed cache was checked first.
    @Test(
        "U1 K12 an upload is sent completely, whatever its cache settings",
        arguments: [CachePolicy.use, .thenNetwork, .protocol, .anyAge])
    func upload(_ policy: CachePolicy) async throws {
        let client = try bench.client()
        bench.respond("done", times: nil)
        var request = cached(policy, method: "POST")
        request.add(.field("a", "1"))
        let pixels = [UInt8](repeating: 7, count: 300)
        request.add(.image("photo", try .pixels(pixels, .rgb8, width: 10, height: 10)))
        #expect(try await client.send(request).text == "done")
        let sent = try #require(stub.requests.last)
        #expect(
            sent.bodyLength > 300 && sent.headers["Content-Type"]?.hasPrefix("multipart/") == true)
        client.close()
    }

    /// The responses for both tokens were stored under the digest that was not sent.
    @Test("SEC-C2 R20 responses for a token sent before a digest challenge stay separate")
    func tokenBeforeDigest() async throws {
        let client = try bench.client {
            $0.credentials = .digest("u", "p")
            $0.bearerToken = "a"
        }
        bench.respond("for a")
        bench.respond("for b")
        #expect(try await client.send(cached()).text == "for a")
        #expect(bench.lastHeaders["Authorization"] == "Bearer a")
        try client.set(.bearerToken, "b")
        #expect(try await client.send(cached()).text == "for b")
        #expect(bench.lastHeaders["Authorization"] == "Bearer b")
        try client.set(.bearerToken, "a")
        #expect(try await client.send(cached()).text == "for a" && bench.hits == 2)
        client.close()
    }

    /// Old information about the next nonce was used again.
    @Test("R20 K15 the next nonce comes from the network, and never from a cache entry")
    func nextNonce() async throws {
        let client = try bench.client { $0.credentials = .digest("u", "p") }
        let (other, tag) = ("http://example.org/b", "\"1\"")
        func fields(_ nonce: String, _ control: String) -> Headers {
            [
                "Cache-Control": control, "ETag": tag,
                "Authentication-Info": "nextnonce=\"\(nonce)\"",
            ]
        }
        bench.respond(
            "who", ["WWW-Authenticate": "Digest realm=\"r\", nonce=\"one\", qop=\"auth\""],
            status: 401)
        bench.respond("a", fields("two", "max-age=60"))
        bench.respond("b", fields("three", "no-store"), url: other)
        bench.respond("", ["ETag": tag], status: 304)
        bench.respond("b", ["Cache-Control": "no-store"], url: other, times: nil)
        var nonces: [String] = []
        let asks: Headers = ["Cache-Control": "no-cache"]
        let sent: [(Headers, String)] = [
            ([:], HTTPCacheBench.url), ([:], other), ([:], HTTPCacheBench.url), ([:], other),
            (asks, HTTPCacheBench.url), ([:], other),
        ]
        for (headers, url) in sent {
            let hits = bench.hits
            #expect(try await client.send(cached(nil, headers, url: url)).status == 200)
            guard bench.hits > hits else { continue }
            let field = try #require(bench.lastHeaders["Authorization"])
            nonces.append(field.split(separator: "nonce=\"")[1].prefix { $0 != "\"" }.description)
        }
        #expect(nonces == ["one", "two", "three", "three", "three"])
        client.close()
    }

    @Test("K12 a redirect that may not be followed is stored with its page or not at all")
    func failedRedirect() async throws {
        let client = try bench.client()
        bench.respond(
            "moved",
            ["Cache-Control": "max-age=60", "Location": "ftp://x/", "Content-Length": "5"],
            status: 301, times: nil)
        let error = await failure { () throws(WherryError) in try await client.send(cached()) }
        #expect(error?.reason == "redirect_refused")
        var request = cached()
        request.maxRedirects = 0
        request.acceptedStatus = [301]
        #expect(try await client.send(request).text == "moved")
        client.close()
    }

    @Test("K12 unsafe methods invalidate entries, also if the request does not use the cache")
    func invalidationByOthers() async throws {
        let client = try bench.client { $0.usesHTTPCache = false }
        for policy in [nil, .off, .refresh] as [CachePolicy?] {
            bench.respond("old", method: "GET")
            bench.respond("", [:], method: "PUT", status: 204)
            bench.respond("new", method: "GET")
            #expect(try await client.send(cached(.reload)).text == "old")
            #expect(try await client.send(cached(.protocol)).isFromCache)
            _ = try await client.send(
                cached(policy, ["Cache-Control": "only-if-cached"], method: "PUT"))
            #expect(try await client.send(cached(.protocol)).text == "new")
        }
        client.close()
    }

    @Test("K12 the headers of a streamed response to POST invalidate the entry")
    func streamedInvalidation() async throws {
        let scope = try TestServer.shared.scope()
        let client = try makeClient(scope) {
            $0.storageDirectory = bench.folder.file("storage")
            $0.usesHTTPCache = true
        }
        try scope.script(
            "x",
            #"[{"headers": [["Cache-Control", "max-age=60"]], "body": "old"}, {"raw": [["read_body"], ["send", "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc"], ["gate", "g"], ["send", "def"], ["keep"]]}, {"body": "new"}]"#
        )
        #expect(try await client.send(cached(url: "s/x")).text == "old")
        let stream = try await client.stream(Request("s/x", method: "POST"))
        var pieces = stream.body.makeAsyncIterator()
        _ = try await pieces.next()
        // The headers arrived before the chunk; a worker performs the invalidation.
        var text = "old"
        while text == "old" { text = try await client.send(cached(url: "s/x")).text }
        #expect(text == "new")
        try scope.open(gate: "g")
        while try await pieces.next() != nil {}
        client.close()
    }

    @Test("K17 with several bases, a stale response of the first is served if all of them fail")
    func bases() async throws {
        let client = try bench.client {
            $0.bases = ["one": "http://one.example/", "two": "http://two.example/"]
        }
        bench.respond("body", url: "http://one.example/a")
        var request = cached(url: "a")
        request.bases = ["one", "two"]
        request.staleIfError = .seconds(600)
        #expect(try await client.send(request).text == "body")
        stub.advance(by: .seconds(61))
        try stub.fail("http://one.example/a", reason: "connect")
        try stub.fail("http://two.example/a", times: 1, reason: "connect")
        let stale = try await client.send(request)
        #expect(stale.isStale && stale.text == "body")
        #expect(
            stub.requests.map(\.url).suffix(2) == ["http://one.example/a", "http://two.example/a"])
        bench.respond("of two", url: "http://two.example/a")
        #expect(try await client.send(request).text == "of two")
        client.close()
    }

    @Test("K6 an end without the network is not reported inside the starting call either")
    func endsOutside() async throws {
        let client = try bench.client()
        for request in [
            cached(.anyAgeOnly, method: "POST"), cached(.anyAgeOnly),
            cached(nil, ["Cache-Control": "only-if-cached"], method: "DELETE"),
        ] {
            let (recorder, outcome) = await send(client, request)
            #expect(outcome.error != nil && !recorder.wasToldHere)
        }
        #expect(bench.hits == 0)
        client.close()
    }

    @Test("K12 headers are reported once, before the end, from the network and from the cache")
    func heads() async throws {
        let client = try bench.client()
        var request = cached()
        request.set(.wantHeaders, 1)
        request.staleIfError = .seconds(10)
        let fields: Headers = ["Cache-Control": "max-age=0", "ETag": "\"1\""]
        bench.respond("one", fields)
        bench.respond("", fields, status: 304)
        bench.respond("", [:], status: 503)
        bench.respond("two", ["Cache-Control": "max-age=60"])
        for (text, cached, stale) in [
            ("one", false, false), ("one", true, false), ("one", true, true), ("two", false, false),
            ("two", true, false),
        ] {
            let (recorder, outcome) = await send(client, request)
            #expect(recorder.kinds == ["headers", "done"])
            let response = try #require(outcome.response)
            #expect(response.text == text && response.isFromCache == cached)
            #expect(response.isStale == stale)
        }
        var alone = request
        alone.headers = ["Cache-Control": "only-if-cached, no-cache"]
        #expect(await send(client, alone).recorder.kinds == ["headers", "done"])
        client.close()
    }

    @Test("K13 with a storage hook, nothing is stored unless the hook wants it")
    func noBackground() async throws {
        let client = try bench.client()
        let fields: Headers = ["Cache-Control": "max-age=60, stale-while-revalidate=60"]
        bench.respond("one", fields)
        bench.respond("two", fields)
        var hooks = Hooks()
        hooks.store = { $0.text == "one" ? .store : .skip }
        #expect(try await client.send(cached(), hooks: hooks).text == "one")
        stub.advance(by: .seconds(61))
        #expect(try await client.send(cached(), hooks: hooks).text == "two")
        #expect(try await client.cache.entries().isEmpty && bench.hits == 2)
        client.close()
    }

    @Test("R15 a stored body is held to the limit of the request, in both caches")
    func limit() async throws {
        let client = try bench.client()
        bench.respond(String(repeating: "x", count: 1000), times: nil)
        var request = cached()
        _ = try await client.send(request)
        var timed = cached(.use)
        timed.cacheDuration = .seconds(60)
        _ = try await client.send(timed)
        request.maxBodyBytes = 999
        timed.maxBodyBytes = 999
        for small in [request, timed] {
            let error = await failure { () throws(WherryError) in try await client.send(small) }
            #expect(error?.reason == "too_large")
        }
        request.maxBodyBytes = 1000
        #expect(try await client.send(request).isFromCache)
        client.close()
    }

    @Test("K12 an encoded entry is not served to a request that decodes")
    func codings() async throws {
        let scope = try TestServer.shared.scope()
        let client = try makeClient(scope) {
            $0.storageDirectory = bench.folder.file("storage")
            $0.usesHTTPCache = true
        }
        // The server encodes every response, and does not send Vary.
        let url = "gzip?header=Cache-Control:max-age%3D60"
        var raw = cached(url: url)
        raw.set(.compressed, 0)
        let first = try await client.send(raw)
        #expect(first.header("content-encoding") == "gzip")
        #expect(try await client.send(raw).isFromCache)
        let plain = try await client.send(cached(url: url))
        #expect(!plain.isFromCache && plain.text.hasPrefix("{"))
        let again = try await client.send(cached(url: url))
        #expect(again.isFromCache && again.body == plain.body)
        client.close()
    }

    @Test("K12 the first request of a client may be the one that changes entries")
    func firstRequest() async throws {
        let client = try bench.client()
        bench.respond("old", method: "GET")
        _ = try await client.send(cached())
        client.close()
        let other = try bench.client()
        bench.respond("", [:], method: "POST", status: 204)
        bench.respond("new", method: "GET")
        _ = try await other.send(cached(.off, method: "POST"))
        #expect(try await other.send(cached()).text == "new")
        other.close()
    }

    @Test("K13 a request cancelled during the callback is not stored")
    func cancelledWhileAsked() async throws {
        let client = try bench.client()
        bench.respond("body", times: nil)
        let asked = AsyncStream<Void>.makeStream()
        let never = AsyncStream<Void>.makeStream()
        let hooks = Hooks.storing { _ in
            asked.continuation.yield()
            // The callback waits until the task is cancelled.
            for await _ in never.stream {}
            return .store
        }
        let task = Task { try await client.send(cached(), hooks: hooks) }
        for await _ in asked.stream { break }
        task.cancel()
        let error = await failure { () throws(WherryError) in
            do { _ = try await task.value } catch {
                throw error as? WherryError ?? WherryError(.internal, "\(error)")
            }
        }
        #expect(error?.code == .cancelled)
        client.close()
        never.continuation.finish()
        let other = try bench.client()
        #expect(try await other.cache.entries().isEmpty)
        other.close()
    }

    @Test("K17 a stale response of one base is not used for another that redirects to it")
    func spareEnds() async throws {
        let client = try bench.client {
            $0.bases = ["one": "http://one.example/", "two": "http://two.example/"]
        }
        bench.respond("body", url: "http://one.example/a")
        var request = cached(url: "a")
        request.bases = ["one", "two"]
        request.staleIfError = .seconds(600)
        _ = try await client.send(request)
        stub.advance(by: .seconds(61))
        try stub.fail("http://one.example/a", reason: "connect")
        bench.respond(
            "", ["Location": "http://three.example/"], url: "http://two.example/a", status: 302)
        let error = await failure { [request] () throws(WherryError) in
            try await client.send(request)
        }
        #expect(error?.reason == "connect")
        client.close()
    }
}
