// Wherry: tests of forms, headers, and queries: sent in the caller's order and as written
// SPDX-License-Identifier: Apache-2.0

import TestServer
import Testing
import Wherry

@Suite struct AsWrittenTests {
    private let scope: TestServer.Scope
    private let client: Client

    init() throws {
        scope = try TestServer.shared.scope()
        client = try makeClient(scope)
    }

    @Test("a form has its parameters, then its fields, then its parts, each in the caller's order")
    func formOrder() async throws {
        var request = Request("echo", method: "POST")
        request.body = .form([Request.Pair("policy", "p"), Request.Pair("key", "k")])
        request.add(.bytes("file", Bytes("1"), fileName: "a.txt"))
        request.add(.field("caption", "c"))
        request.add(.bytes("other", Bytes("2"), fileName: "b.txt"))
        request.parameters = ["z": 1, "y": ["d": 1, "c": 2], "a": 3]
        let parts = try #require(try await client.echo(request).parts)
        #expect(
            parts.map(\.name) == [
                "z", "y[d]", "y[c]", "a", "policy", "key", "file", "caption", "other",
            ])
    }

    @Test("repeated headers of request and client are all sent")
    func repeatedHeaders() async throws {
        try client.addHeader("X-Client", "1")
        try client.addHeader("x-client", "2")
        var request = Request("echo")
        request.headers.append("X-Own", "1")
        request.headers.append("X-Own", "2")
        let echo = try await client.echo(request)
        #expect(echo.values("X-Client") == ["1", "2"])
        #expect(echo.values("X-Own") == ["1", "2"])
        #expect(throws: WherryError.self) { try client.addHeader("X-A", "b\r\nc") }
    }

    @Test("the text of a query is sent as written")
    func queryText() async throws {
        var request = Request("echo")
        request.query = [Request.Pair("first", "a b")]
        request.addQuery("a+b&q=%E4&&x y=ä#")
        #expect(try client.url(of: request).hasSuffix("first=a%20b&a+b&q=%E4&&x%20y=%C3%A4%23"))
        #expect(request.query.map(\.name) == ["first", "a b", "q", "", "x y"])
        let raw = try await client.echo(request).rawQuery
        #expect(raw.hasSuffix("first=a%20b&a+b&q=%E4&&x%20y=%C3%A4%23"))
    }

    @Test("the redirects of a response have their headers")
    func redirectHeaders() async throws {
        let response = try await client.get("redirect/1")
        #expect(response.redirects.first?.headers.contains("location") == true)
    }
}
