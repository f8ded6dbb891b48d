// Wherry: acceptance tests of the HTTP cache: where it meets the rest of the engine
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

    // A picture's encoding was passed over where the timed cache was looked into first.
    @Test(
        "U1 K12 an upload is sent whole, whatever it says about caches",
        arguments: [CachePolicy.use, .thenNetwork, .protocol, .anyAge])
    func upload(_ policy: CachePolicy) async throws {
        let client = try bench.client()
        bench.answer("done", times: nil)
        var request = cached(policy, method: "POST")
        request.add(.field("a", "1"))
        let pixels = [UInt8](repeating: 7, count: 300)
        request.add(.image("photo", try .pixels(pixels, .rgb8, width: 10, height: 10)))
        #expect(try await client.send(request).text == "done")
        let sent = try #require(stub.requests.last)
        #expect(sent.bodyLength > 300 && sent.headers["Content-Type"]?.hasPrefix("multipart/") == true)
        client.close()
    }

    /// Both tokens' answers were kept under the digest that was not sent.
    @Test("SEC-C2 R20 a token that goes out until a digest is asked for keeps its answers to itself")
    func tokenBeforeDigest() async throws {
        let client = try bench.client {
            $0.credentials = .digest("u", "p")
            $0.bearerToken = "a"
        }
        bench.answer("for a")
        bench.answer("for b")
        #expect(try await client.send(cached()).text == "for a")
        #expect(bench.lastHeaders["Authorization"] == "Bearer a")
        try client.set(.bearerToken, "b")
        #expect(try await client.send(cached()).text == "for b")
        #expect(bench.lastHeaders["Authorization"] == "Bearer b")
        try client.set(.bearerToken, "a")
        #expect(try await client.send(cached()).text == "for a" && bench.hits == 2)
        client.close()
    }

    /// What was said a while ago about the next request was believed again.
    @Test("R20 K15 the next nonce is that of the network, and none that is stored")
    func nextNonce() async throws {
        let client = try bench.client { $0.credentials = .digest("u", "p") }
        let (other, tag) = ("http://example.org/b", "\"1\"")
        func fields(_ nonce: String, _ control: String) -> Headers {
            [
                "Cache-Control": control, "ETag": tag,
                "Authentication-Info": "nextnonce=\"\(nonce)\"",
            ]
        }
        bench.answer(
            "who", ["WWW-Authenticate": "Digest realm=\"r\", nonce=\"one\", qop=\"auth\""],
            status: 401)
        bench.answer("a", fields("two", "max-age=60"))
        bench.answer("b", fields("three", "no-store"), url: other)
        bench.answer("", ["ETag": tag], status: 304)
        bench.answer("b", ["Cache-Control": "no-store"], url: other, times: nil)
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
        bench.answer(
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

    @Test("K12 what changes a resource counts, also where the request is not for the cache")
    func invalidationByOthers() async throws {
        let client = try bench.client { $0.usesHTTPCache = false }
        for policy in [nil, .off, .refresh] as [CachePolicy?] {
            bench.answer("old", method: "GET")
            bench.answer("", [:], method: "PUT", status: 204)
            bench.answer("new", method: "GET")
            #expect(try await client.send(cached(.reload)).text == "old")
            #expect(try await client.send(cached(.protocol)).isFromCache)
            _ = try await client.send(
                cached(policy, ["Cache-Control": "only-if-cached"], method: "PUT"))
            #expect(try await client.send(cached(.protocol)).text == "new")
        }
        client.close()
    }

    @Test("K12 a streamed answer to POST makes what is stored invalid with its head")
    func streamedInvalidation() async throws {
        let scope = try TestServer.shared.scope()
        let client = try makeClient(scope) {
            $0.storageDirectory = bench.folder.file("storage")
            $0.usesHTTPCache = true
        }
        try scope.script(
            "x",
            #"[{"headers": [["Cache-Control", "max-age=60"]], "body": "old"}, {"raw": [["read_body"], ["send", "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc"], ["gate", "g"], ["send", "def"], ["keep"]]}, {"body": "new"}]"#)
        #expect(try await client.send(cached(url: "s/x")).text == "old")
        let stream = try await client.stream(Request("s/x", method: "POST"))
        var pieces = stream.body.makeAsyncIterator()
        _ = try await pieces.next()
        // The head came before the piece; what it means is carried out on a worker.
        var text = "old"
        while text == "old" { text = try await client.send(cached(url: "s/x")).text }
        #expect(text == "new")
        try scope.open(gate: "g")
        while try await pieces.next() != nil {}
        client.close()
    }

    @Test("K17 with several bases, a stale answer of the first serves where all of them fail")
    func bases() async throws {
        let client = try bench.client {
            $0.bases = ["one": "http://one.example/", "two": "http://two.example/"]
        }
        bench.answer("body", url: "http://one.example/a")
        var request = cached(url: "a")
        request.bases = ["one", "two"]
        request.staleIfError = .seconds(600)
        #expect(try await client.send(request).text == "body")
        stub.advance(by: .seconds(61))
        try stub.fail("http://one.example/a", reason: "connect")
        try stub.fail("http://two.example/a", times: 1, reason: "connect")
        let stale = try await client.send(request)
        #expect(stale.isStale && stale.text == "body")
        #expect(stub.requests.map(\.url).suffix(2) == ["http://one.example/a", "http://two.example/a"])
        bench.answer("of two", url: "http://two.example/a")
        #expect(try await client.send(request).text == "of two")
        client.close()
    }

    @Test("K6 an end without the network is not told inside the starting call either")
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

    @Test("K12 the head is told once, before the end, wherever the answer comes from")
    func heads() async throws {
        let client = try bench.client()
        var request = cached()
        request.set(.wantHead, 1)
        request.staleIfError = .seconds(10)
        let fields: Headers = ["Cache-Control": "max-age=0", "ETag": "\"1\""]
        bench.answer("one", fields)
        bench.answer("", fields, status: 304)
        bench.answer("", [:], status: 503)
        bench.answer("two", ["Cache-Control": "max-age=60"])
        for (text, cached, stale) in [
            ("one", false, false), ("one", true, false), ("one", true, true), ("two", false, false),
            ("two", true, false),
        ] {
            let (recorder, outcome) = await send(client, request)
            #expect(recorder.kinds == ["head", "done"])
            let response = try #require(outcome.response)
            #expect(response.text == text && response.isFromCache == cached)
            #expect(response.isStale == stale)
        }
        var alone = request
        alone.headers = ["Cache-Control": "only-if-cached, no-cache"]
        #expect(await send(client, alone).recorder.kinds == ["head", "done"])
        client.close()
    }

    @Test("K13 where storing is asked about, nothing is stored behind the request's back")
    func noBackground() async throws {
        let client = try bench.client()
        let fields: Headers = ["Cache-Control": "max-age=60, stale-while-revalidate=60"]
        bench.answer("one", fields)
        bench.answer("two", fields)
        var decisions = Decisions()
        decisions.store = { $0.text == "one" ? .store : .skip }
        #expect(try await client.send(cached(), decisions: decisions).text == "one")
        stub.advance(by: .seconds(61))
        #expect(try await client.send(cached(), decisions: decisions).text == "two")
        #expect(try await client.cache.entries().isEmpty && bench.hits == 2)
        client.close()
    }

    @Test("R15 a stored body is held to the limit of the request, in both caches")
    func limit() async throws {
        let client = try bench.client()
        bench.answer(String(repeating: "x", count: 1000), times: nil)
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

    @Test("K12 what is stored in a coding does not serve a request that has it undone")
    func codings() async throws {
        let scope = try TestServer.shared.scope()
        let client = try makeClient(scope) {
            $0.storageDirectory = bench.folder.file("storage")
            $0.usesHTTPCache = true
        }
        // The server codes whatever is asked for, and does not say that it varies.
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

    @Test("K12 the first request of a client may be the one that changes what is stored")
    func firstRequest() async throws {
        let client = try bench.client()
        bench.answer("old", method: "GET")
        _ = try await client.send(cached())
        client.close()
        let other = try bench.client()
        bench.answer("", [:], method: "POST", status: 204)
        bench.answer("new", method: "GET")
        _ = try await other.send(cached(.off, method: "POST"))
        #expect(try await other.send(cached()).text == "new")
        other.close()
    }

    @Test("K13 what is cancelled while the program is asked is not stored")
    func cancelledWhileAsked() async throws {
        let client = try bench.client()
        bench.answer("body", times: nil)
        let asked = AsyncStream<Void>.makeStream()
        let never = AsyncStream<Void>.makeStream()
        let decisions = Decisions.storing { _ in
            asked.continuation.yield()
            // Nobody answers until the task is cancelled.
            for await _ in never.stream {}
            return .store
        }
        let task = Task { try await client.send(cached(), decisions: decisions) }
        for await _ in asked.stream { break }
        task.cancel()
        let error = await failure { () throws(WherryError) in
            do { _ = try await task.value } catch { throw error as? WherryError ?? WherryError(.internal, "\(error)") }
        }
        #expect(error?.code == .cancelled)
        client.close()
        never.continuation.finish()
        let other = try bench.client()
        #expect(try await other.cache.entries().isEmpty)
        other.close()
    }

    @Test("K17 a stale answer of one base is none of what another redirects to")
    func spareEnds() async throws {
        let client = try bench.client {
            $0.bases = ["one": "http://one.example/", "two": "http://two.example/"]
        }
        bench.answer("body", url: "http://one.example/a")
        var request = cached(url: "a")
        request.bases = ["one", "two"]
        request.staleIfError = .seconds(600)
        _ = try await client.send(request)
        stub.advance(by: .seconds(61))
        try stub.fail("http://one.example/a", reason: "connect")
        bench.answer("", ["Location": "http://three.example/"], url: "http://two.example/a", status: 302)
        let error = await failure { [request] () throws(WherryError) in try await client.send(request) }
        #expect(error?.reason == "connect")
        client.close()
    }
}
