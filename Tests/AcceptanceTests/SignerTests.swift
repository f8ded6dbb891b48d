// Wherry: acceptance tests of request signers
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry
import WherrySystem

/// ADAPT showed a relative URL, without the headers and parameters of the client.
@Suite struct SignerTests {
    private let scope: TestServer.Scope
    private let client: Client

    init() throws {
        let scope = try TestServer.shared.scope()
        self.scope = scope
        client = try makeClient(scope) {
            $0.headers = ["X-Client": "c", "X-Both": "client", "X-Dropped": "1"]
            $0.parameters = ["token": "t", "page": 1]
            $0.bearerToken = "secret"
        }
    }

    private static let signed = ["X-Client", "X-Both", "Content-Type"]

    /// The signed text, on either side.
    private static func text(
        _ method: String, _ url: String, _ fields: [String?], _ body: [UInt8]
    ) -> String {
        "\(method) \(url) \(fields.map { $0 ?? "-" }) <\(String(decoding: body, as: UTF8.self))>"
    }

    private static func sign(_ request: Request) -> Request {
        var request = request
        request.headers["X-Signature"] = text(
            request.method ?? "", request.url, signed.map { request.headers[$0] },
            Array(request.bodyBytes ?? Bytes()))
        return request
    }

    /// The server computes the signature again from what it received.
    private func check(_ echo: Echo) {
        let url = scope.url("/echo").replacingOccurrences(of: "/echo", with: "")
        let target = echo.target.range(of: "/echo").map { String(echo.target[$0.lowerBound...]) }
        let fields = Self.signed.map { echo.values($0).first }
        let text = Self.text(
            echo.method, url + (target ?? ""), fields, Array(echo.text.utf8))
        #expect(echo.values("X-Signature") == [text])
    }

    @Test("R31 a signer sees the final request: absolute URL, default parameters, client headers")
    func final() async throws {
        try client.setHooks(.adapting { Self.sign($0) })
        var get = Request("echo?own=1", method: "GET")
        get.parameters = ["page": 2, "list": [1, 2]]
        get.query = [.init("a b", "c")]
        get.headers["X-Both"] = "own"
        var json = Request("echo", method: "POST")
        json.parameters = ["page": 2]
        var form = Request("echo", method: "POST")
        form.body = .form([.init("field", "ä b")])
        form.parameters = ["list": [true]]
        form.arrayStyle = ArrayStyle(rawValue: 1)
        var body = Request("echo", method: "PUT")
        body.body = .json(Bytes("[1]"))
        var bytes = Request("echo", method: "PUT")
        bytes.body = .bytes(Bytes("raw"), contentType: "text/plain")
        let empty = Request("echo")
        for request in [get, json, form, body, bytes, empty] {
            let echo = try await client.echo(request)
            check(echo)
            // Each default parameter is sent once, and the client adds its credentials.
            let whole = echo.rawQuery + echo.text
            #expect(whole.components(separatedBy: "token").count == 2, "\(whole)")
            #expect(echo.values("Authorization") == ["Bearer secret"])
        }
        #expect(try scope.requests().count == 6)
    }

    @Test("R31 edits of values that the client adds change only this request")
    func edits() async throws {
        let hooks = Hooks.adapting { request in
            var request = request
            request.headers.remove("x-dropped")
            request.headers["X-Client"] = "edited"
            request.parameters["token"] = nil
            request.parameters["extra"] = 1
            return request
        }
        let echo = try await client.echo(Request("echo", method: "GET"), hooks: hooks)
        #expect(echo.rawQuery == "extra=1&page=1")
        #expect(echo.values("X-Dropped") == [] && echo.values("X-Client") == ["edited"])
        #expect(echo.values("X-Both") == ["client"])
        let next = try await client.echo(Request("echo", method: "GET"))
        #expect(next.rawQuery == "page=1&token=t" && next.values("X-Dropped") == ["1"])
    }

    @Test("R31 a new URL is complete, and only later additions extend its query")
    func newURL() async throws {
        let hooks = Hooks.adapting { request in
            var request = request
            request.url += "&signature=s"
            request.query.append(.init("added", "1"))
            return request
        }
        var request = Request("echo", method: "GET")
        request.query = [.init("q", "1")]
        let echo = try await client.echo(request, hooks: hooks)
        #expect(echo.rawQuery == "page=1&token=t&q=1&signature=s&added=1")
    }

    @Test("R31 a signature in the URL is not added twice if the request is sent again")
    func again() async throws {
        try scope.script("flaky", #"[{"status": 503}, {"status": 503}, {"json": {}}]"#)
        let request = Request("s/flaky", method: "GET")
        let count = Guarded(0)
        var hooks = Hooks.adapting { request in
            var request = request
            request.url += "&signature=\(count.withLock { $0 += 1; return $0 })"
            return request
        }
        hooks.retry = { _, _ in .after(.zero) }
        let response = try await client.send(request, hooks: hooks)
        #expect(response.metrics.retries == 2)
        let queries = try scope.requests().map {
            $0.target.split(separator: "?").last.map(String.init)
        }
        #expect(queries == (1...3).map { "page=1&token=t&signature=\($0)" })
    }

    @Test("R31 C4 each base URL is signed, and a signature in the URL is not kept for the next")
    func bases() async throws {
        let client = try makeClient {
            $0.bases = ["down": "http://127.0.0.1:1/", "up": self.scope.url("/echo/up")]
            $0.parameters = ["token": "t"]
        }
        let shown = Guarded<[String]>([])
        var request = Request("x", method: "GET")
        request.bases = ["down", "up"]
        let echo = try await client.echo(
            request,
            hooks: .adapting { request in
                var request = request
                shown.withLock { $0.append(request.url) }
                request.url += "&signature=s"
                return request
            })
        #expect(echo.rawQuery == "token=t&signature=s")
        #expect(
            shown.withLock { $0 } == [
                "http://127.0.0.1:1/x?token=t", scope.url("/echo/up/x?token=t"),
            ])
    }

    @Test("R31 SEC-U3 the client's credentials are hidden, and do not follow an edited URL")
    func credentials() async throws {
        let away = scope.url("/echo", host: "localhost")
        let home = scope.url("/redirect-to?url=\(away)")
        let seen = Guarded<[[String]]>([])
        let hooks = Hooks.adapting { request in
            seen.withLock { $0.append(request.headers.fields.map(\.name)) }
            var request = request
            // Replaces all headers by those that the callback received.
            request.headers = Headers()
            return request
        }
        _ = try await client.send(Request(home, method: "GET"), hooks: hooks)
        #expect(seen.withLock { $0 }.count == 2)
        #expect(seen.withLock { $0 }.allSatisfy { !$0.contains("Authorization") })
        #expect(try scope.requests().last?.header("authorization") == nil)
    }

    @Test("K19 R31 a timed cache entry is found with and without a signer")
    func cache() async throws {
        let folder = try TemporaryFolder()
        let client = try makeClient(scope) {
            $0.storageDirectory = folder.file("store")
            $0.parameters = ["token": "t"]
            $0.headers = ["X-Client": "c"]
        }
        var request = Request("cache", method: "GET")
        request.parameters = ["a": 1]
        request.cachePolicy = .use
        request.cacheDuration = .seconds(3600)
        let identifier = try client.identifier(of: request)
        let shown = Guarded<[String?]>([])
        let signer = Hooks.adapting { request in
            shown.withLock { $0.append(try? client.identifier(of: request)) }
            return Self.sign(request)
        }
        #expect(try await !client.send(request, hooks: signer).isFromCache)
        #expect(try await client.send(request, hooks: signer).isFromCache)
        #expect(try await client.send(request).isFromCache)
        #expect(shown.withLock { $0 } == [identifier, identifier])
        client.close()
    }

    @Test("R31 a request from the callback can be sent separately, with each parameter once")
    func resent() async throws {
        let kept = Guarded<Request?>(nil)
        _ = try await client.send(
            Request("echo", method: "GET"),
            hooks: .adapting { request in
                kept.withLock { $0 = request }
                return request
            })
        let shown = try #require(kept.withLock { $0 })
        #expect(try await client.echo(shown).rawQuery == "page=1&token=t")
        #expect(try client.url(of: shown) == shown.url)
        #expect(
            try client.identifier(of: shown)
                == client.identifier(of: Request("echo", method: "GET")))
    }
}
