// Wherry: acceptance tests of informational responses, connections that are closed, and descriptions
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry
import WherrySystem

@Suite struct ConnectionTests {
    private let scope: TestServer.Scope
    private let client: Client

    init() throws {
        scope = try TestServer.shared.scope()
        client = try makeClient(scope)
    }

    @Test("Informational responses are listed for the final response only")
    func informational() async throws {
        let head = #"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\nX-N: 1\r\n\r\n"#
        let raw =
            head + #"HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"#
        try scope.script("hints", #"[{"raw": [["send", "\#(raw)"], ["fin"]]}]"#)
        let response = try await client.get("s/hints")
        #expect(response.text == "ok" && response.informational.map(\.status) == [103, 102])
        #expect(response.informational[0].headers["link"] == "</a.css>")
        #expect(response.informational[0].headers["x-n"] == "1")
        #expect(response.informational[1].headers.isEmpty)
        // Those before the redirect do not count.
        let target = scope.url("/json?value=1&informational=103")
        let redirected = try await client.get(
            "redirect-to?url=\(target.replacingOccurrences(of: "&", with: "%26"))&informational=103,102"
        )
        #expect(redirected.redirects.count == 1)
        #expect(redirected.informational.map(\.status) == [103])
    }

    @Test("C15 without keep-alive each request closes its connection, with one Connection header")
    func keepAlive() async throws {
        let off = try makeClient(scope) { $0.keepsAlive = false }
        var request = Request("echo", method: "GET")
        for _ in 0..<3 { _ = try await off.send(request) }
        let folder = try TemporaryFolder()
        _ = try await off.download("bytes/1000", to: folder.file("file")).value
        #expect(try off.curlCommand(of: request).components(separatedBy: "Connection").count == 2)
        request.keepsAlive = true
        for _ in 0..<2 { _ = try await off.send(request) }
        let seen = try scope.requests()
        let sent = seen.map {
            $0.headers.filter { $0[0].lowercased() == "connection" }.map { $0[1] }
        }
        #expect(sent == Array(repeating: ["close"], count: 4) + [[], []])
        #expect(Set(seen.prefix(4).map(\.connection)).count == 4)
        #expect(Set(seen.suffix(2).map(\.connection)).count == 1)
    }

    @Test("C15 the error for a Connection header names the option", arguments: ["close", nil])
    func connectionHeader(value: String?) async throws {
        var request = Request("echo", method: "GET")
        if let value {
            request.headers["connection"] = value
        } else {
            request.headers.suppress("connection")
        }
        let error = await #expect(throws: WherryError.self) { try await client.send(request) }
        #expect(error?.reason == "bad_header" && error?.message.contains("keep_alive") == true)
        #expect(throws: WherryError.self) { try makeClient(scope) { $0.headers = request.headers } }
        #expect(try scope.requests().isEmpty)
    }

    @Test("C15 SEC-U3 a request of another origin closes its connection too")
    func redirected() async throws {
        let off = try makeClient(scope) { $0.keepsAlive = false }
        let away = scope.url("/echo", host: "localhost")
        _ = try await off.get("redirect-to?url=\(away)")
        #expect(try scope.requests().map { $0.header("connection") } == ["close", "close"])
    }

    @Test("L4 a handle has a short and a full description, without secrets")
    func describes() async throws {
        let handle = try client.start(Request("echo?token=hunter2", method: "GET"))
        _ = try await handle.value
        #expect(handle.describe(inFull: false) == "<Request: \(handle.transfer.id)>")
        let full = handle.describe()
        #expect(full.contains("   method:           GET\n"))
        #expect(full.contains("   task:             done\n"))
        #expect(!full.contains("hunter2") && full == handle.transfer.description(inFull: true))
    }
}
