// Wherry: acceptance tests of the cookies of a client
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry

@Suite struct CookieTests {
    private let scope: TestServer.Scope
    private let client: Client

    init() throws {
        scope = try TestServer.shared.scope()
        client = try makeClient(scope)
    }

    /// The Cookie header of each request.
    private func fields() throws -> [String?] {
        try scope.requests().map { $0.header("cookie") }
    }

    @Test("C14 a cookie is sent back with the second request unless cookies are off")
    func comesBack() async throws {
        _ = try await client.get("cookies/set?a=1&attributes=Path%3D/")
        #expect(try await client.get("echo").decode(Echo.self).values("cookie") == ["a=1"])
        var without = Request("echo")
        without.usesCookies = false
        #expect(try await client.echo(without).values("cookie") == [])
        let off = try makeClient(scope) { $0.usesCookies = false }
        _ = try await off.get("cookies/set?a=1")
        #expect(try await off.get("echo").decode(Echo.self).values("cookie") == [])
        #expect(off.cookies.isEmpty && client.cookies.all.map(\.name) == ["a"])
        // Another client has a separate jar.
        #expect(try makeClient(scope).cookies.all.isEmpty)
        // A header of the request takes precedence.
        let own = try await client.get("echo", headers: ["Cookie": "b=2"]).decode(Echo.self)
        #expect(own.values("cookie") == ["b=2"])
    }

    @Test("C14 cookies are merged with a header, or isolated in their request")
    func handling() async throws {
        _ = try await client.get("cookies/set?a=1&attributes=Path%3D/")
        var request = Request("echo")
        request.cookieHandling = .merged
        request.headers = ["Cookie": "b=2; a=3"]
        #expect(try await client.echo(request).values("cookie") == ["b=2; a=3"])
        request.headers = ["Cookie": "b=2"]
        #expect(try await client.echo(request).values("cookie") == ["b=2; a=1"])
        let isolated = try makeClient(scope) { $0.cookieHandling = .isolated }
        let home = "redirect-to?cookie=\("b=2; Path=/".encoded)&url=\(scope.url("/echo").encoded)"
        #expect(try await isolated.get(home).decode(Echo.self).values("cookie") == ["b=2"])
        #expect(try await isolated.get("echo").decode(Echo.self).values("cookie") == [])
        #expect(isolated.cookies.isEmpty)
    }

    @Test("C14 SEC-U3 each step of a redirect sets and sends the cookies of its own host")
    func redirects() async throws {
        let there = scope.url("/echo", host: "localhost")
        let away = "redirect-to?cookie=\("a=1; Path=/".encoded)&url=\(there.encoded)"
        let first = try await client.get(away).decode(Echo.self)
        #expect(first.values("cookie") == [])
        let home = "redirect-to?cookie=\("b=2; Path=/".encoded)&url=\(scope.url("/echo").encoded)"
        let second = try await client.get(home).decode(Echo.self)
        #expect(second.values("cookie") == ["a=1; b=2"])
        // The jar's cookies of the other host are sent there, and the request's own cookies are
        // not.
        try client.cookies.set("c", "3", for: "http://localhost/")
        let third = try await client.get(away, headers: ["Cookie": "mine=1"]).decode(Echo.self)
        #expect(third.values("cookie") == ["c=3"])
    }

    @Test("C14 a program lists, adds, and clears cookies, and keeps them in a file")
    func managed() async throws {
        let folder = try TemporaryFolder()
        try client.cookies.set("a", "1", for: scope.url("/"))
        try client.cookies.set("b=2; Path=/; Max-Age=60", for: scope.url("/"))
        #expect(try await client.get("echo").decode(Echo.self).values("cookie") == ["a=1; b=2"])
        try client.cookies.save(to: folder.file("jar"))
        #expect(try folder.names == ["jar"])
        try client.cookies.clear(scope.url("/"))
        #expect(client.cookies.isEmpty)
        try client.cookies.load(from: folder.file("jar"))
        #expect(try await client.get("echo").decode(Echo.self).values("cookie") == ["a=1; b=2"])
        let refused = await failure { [client, scope] () throws(WherryError) in
            try client.cookies.set("a=1; Domain=example.org", for: scope.url("/"))
        }
        #expect(refused?.reason == "bad_value")
        #expect(!"\(client.cookies.all)".contains("=1"))
    }

    @Test("C14 downloads send cookies and store the ones they receive")
    func downloads() async throws {
        let folder = try TemporaryFolder()
        try client.cookies.set("a", "1", for: scope.url("/"))
        _ = try await client.download(
            Request("bytes/1000?header=Set-Cookie:b%3D2"), to: folder.file("a")
        ).value
        #expect(try fields() == ["a=1"])
        #expect(client.cookies.all.map(\.name).sorted() == ["a", "b"])
    }
}

extension String {
    fileprivate var encoded: String {
        addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    }
}
