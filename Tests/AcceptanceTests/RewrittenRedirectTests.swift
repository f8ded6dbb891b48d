// Wherry: acceptance tests of rewritten redirects
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry

@Suite struct RewrittenRedirectTests {
    private let scope: TestServer.Scope
    private let client: Client

    init() throws {
        scope = try TestServer.shared.scope()
        client = try makeClient(scope)
    }

    @Test("R19 a closure gives a redirect another URL, method, header, and body")
    func rewritten() async throws {
        let home = scope.url("/echo/rewritten?a=1")
        var request = Request("redirect/1?status=307", method: "POST")
        request.body = .json(Bytes("[1]"))
        request.headers["Authorization"] = "Bearer t"
        let answer = try await client.echo(
            request,
            hooks: .redirecting { response, next in
                #expect(response.status == 307)
                #expect(next.method == "POST" && next.url.contains("/echo"))
                var next = next
                next.url = home
                next.method = "PUT"
                next.headers["X-Why"] = "moved"
                next.body = .form([.init("b", "2")])
                return next
            })
        #expect(answer.method == "PUT" && answer.path.hasSuffix("/echo/rewritten"))
        #expect(answer.query == [["a", "1"]] && answer.text == "b=2")
        #expect(answer.values("X-Why") == ["moved"])
        #expect(answer.values("Authorization") == ["Bearer t"])
        #expect(answer.values("Content-Type") == ["application/x-www-form-urlencoded"])
    }

    @Test(
        "R19 a rewritten redirect keeps or drops the body by the rules or by the closure's choice")
    func bodies() async throws {
        for (status, drops, expected) in [(307, false, "7"), (307, true, ""), (303, false, "")] {
            var request = Request("redirect/1?status=\(status)", method: "POST")
            request.body = .json(Bytes("7"))
            let answer = try await client.echo(
                request,
                hooks: .redirecting { _, next in
                    var next = next
                    next.url = next.url.replacingOccurrences(of: "/echo", with: "/echo/on")
                    if drops { next.body = .none }
                    return next
                })
            #expect(answer.path.hasSuffix("/echo/on"))
            #expect(answer.text == expected)
            #expect(answer.method == (status == 307 ? "POST" : "GET"))
            #expect(answer.values("Content-Type").isEmpty == expected.isEmpty)
        }
    }

    @Test("R19 SEC-U3 a rewritten redirect obeys the rules of every redirect")
    func rules() async throws {
        let away = scope.url("/echo", host: "localhost")
        let rewriting = Hooks.redirecting { _, next in
            var next = next
            next.url = away
            next.headers["X-Why"] = "away"
            return next
        }
        var request = Request("redirect/1")
        request.headers["Authorization"] = "Bearer t"
        request.headers["Cookie"] = "a=b"
        request.headers["X-Secret"] = "s"
        let seen = try await client.echo(request, hooks: rewriting)
        #expect(seen.values("Authorization").isEmpty && seen.values("Cookie").isEmpty)
        #expect(seen.values("X-Why") == ["away"])
        // A value that existed before is not granted again by its presence.
        #expect(seen.values("X-Secret").isEmpty)
        // The body of a request stays with its origin; the program's new body does not.
        request.method = "POST"
        request.url = "redirect/1?status=307"
        request.body = .json(Bytes("7"))
        let crossing = await failure { [request] () throws(WherryError) in
            try await client.send(request, hooks: rewriting)
        }
        #expect(crossing?.reason == "redirect_refused")
        request.keepsAuthAcrossHosts = true
        let kept = try await client.echo(request, hooks: rewriting)
        #expect(kept.text == "7" && kept.values("Authorization") == ["Bearer t"])
        // It counts like any other.
        var loop = Request("loop")
        loop.maxRedirects = 3
        let count = Guarded(0)
        let error = await failure { [loop] () throws(WherryError) in
            try await client.send(
                loop,
                hooks: .redirecting { _, next in
                    var next = next
                    count.withLock { $0 += 1 }
                    next.url += "?again"
                    return next
                })
        }
        #expect(error?.reason == "too_many_redirects")
        #expect(count.withLock { $0 } == 3)
    }

    @Test(
        "R19 a redirect cannot be rewritten to an invalid request",
        arguments: ["ftp://h/", "http://"])
    func badly(url: String) async throws {
        let error = await failure { () throws(WherryError) in
            try await client.send(
                Request("redirect/1"),
                hooks: .redirecting { _, next in
                    var next = next
                    next.url = url
                    return next
                })
        }
        #expect(error?.reason == "bad_url")
        #expect(try scope.requests().count == 1)
    }

    @Test("R19 SEC-U4 a secure redirect cannot be rewritten to http")
    func downgrade() async throws {
        let stub = StubServer()
        stub.respond("https://h.invalid/a", status: 302, headers: ["Location": "/b"])
        stub.respond("http://h.invalid/b", body: Bytes("in the clear"))
        let client = try Client { $0.stubServer = stub }
        let error = await failure { () throws(WherryError) in
            try await client.send(
                Request("https://h.invalid/a"),
                hooks: .redirecting { _, next in
                    var next = next
                    next.url = "http://h.invalid/b"
                    return next
                })
        }
        #expect(error?.reason == "redirect_refused")
        #expect(stub.requests.count == 1)
    }

    @Test("R19 SEC-U3 values set on a redirect for one origin never reach another, nor the first")
    func roundTrip() async throws {
        for status in [302, 307] {
            let stub = StubServer()
            stub.respond(
                "https://a.invalid/in", status: 302, headers: ["Location": "https://b.invalid/on"])
            stub.respond(
                "https://b.invalid/on", status: status,
                headers: ["Location": "https://a.invalid/end"])
            stub.respond("https://a.invalid/end", body: Bytes("home"))
            let client = try Client {
                $0.stubServer = stub
                $0.bearerToken = "the-clients"
            }
            var request = Request("https://a.invalid/in")
            request.headers["X-Own"] = "a"
            let shown = Guarded<[Request]>([])
            let result = await failure { [request] () throws(WherryError) in
                try await client.send(
                    request,
                    hooks: .redirecting { _, next in
                        shown.withLock { $0.append(next) }
                        guard next.url.contains("b.invalid") else { return next }
                        var next = next
                        next.bearerToken = "for-b"
                        next.headers["X-Given"] = "b"
                        if status == 307 {
                            next.method = "POST"
                            next.body = .json(Bytes("[1]"))
                        }
                        return next
                    })
            }
            let away = try #require(stub.requests.dropFirst().first)
            #expect(away.headers["Authorization"] == "Bearer for-b")
            #expect(away.headers["X-Given"] == "b" && away.headers["X-Own"] == nil)
            guard status == 302 else {
                // Its body was for the other origin.
                #expect(result?.reason == "redirect_refused" && stub.requests.count == 2)
                continue
            }
            #expect(result == nil)
            let home = try #require(stub.requests.last)
            #expect(home.url == "https://a.invalid/end" && home.headers["X-Given"] == nil)
            #expect(home.headers["Authorization"] == "Bearer the-clients")
            #expect(home.headers["X-Own"] == "a")
            let last = shown.withLock { $0.last }
            #expect(last?.bearerToken == nil && last?.headers["X-Given"] == nil)
        }
    }

    @Test("R19 SEC-U3 removing a token exposes no other token, nor an earlier value")
    func takenAway() async throws {
        let stub = StubServer()
        stub.respond(
            "https://a.invalid/in", status: 302, headers: ["Location": "https://b.invalid/on"])
        stub.respond("https://b.invalid/on", body: Bytes("there"))
        let client = try Client {
            $0.stubServer = stub
            $0.bearerToken = "the-clients"
        }
        var request = Request("https://a.invalid/in")
        request.bearerToken = "the-requests"
        request.headers["X-Key"] = "secret"
        _ = try await client.send(
            request,
            hooks: .redirecting { _, next in
                var next = next
                next.bearerToken = nil
                next.headers.append("X-Key", "public")
                return next
            })
        let away = try #require(stub.requests.last)
        #expect(away.url == "https://b.invalid/on" && away.headers["Authorization"] == nil)
        #expect(away.headers.values("X-Key") == ["public"])
    }

    @Test("R19 the closure that edits every request sees a rewritten redirect too")
    func adapted() async throws {
        let shown = Guarded<[String]>([])
        var hooks = Hooks.redirecting { _, next in
            var next = next
            next.url = next.url.replacingOccurrences(of: "/echo", with: "/echo/rewritten")
            return next
        }
        hooks.adapt = { request in
            shown.withLock { $0.append(request.url) }
            return request
        }
        let answer = try await client.echo(Request("redirect/1"), hooks: hooks)
        #expect(answer.path.hasSuffix("/echo/rewritten"))
        #expect(shown.withLock { $0.count } == 2)
        #expect(shown.withLock { $0.last?.contains("/echo/rewritten") } == true)
    }
}
