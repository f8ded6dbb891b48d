// Wherry: tests of the stub server
// SPDX-License-Identifier: Apache-2.0

import Testing
import Wherry

@Suite struct StubServerTests {
    private let stub = StubServer()
    private let client: Client

    init() throws {
        let stub = stub
        client = try Client { $0.stubServer = stub }
    }

    private func failure<Result>(
        _ body: () async throws(WherryError) -> Result
    ) async -> WherryError? {
        do {
            _ = try await body()
            return nil
        } catch {
            return error
        }
    }

    @Test("R39 rules match in order, up to their count")
    func rules() async throws {
        stub.respond("http://h/a", times: 2, status: 201)
        try stub.respond("http://h/*", method: "POST", json: ["ok": true])
        stub.respond("http://h/*", headers: ["X-A": "1"], body: Bytes("rest"))
        #expect(try await client.get("http://h/a").status == 201)
        #expect(try await client.post("http://h/a").status == 201)
        #expect(try await client.post("http://h/a").json() == ["ok": true])
        let rest = try await client.get("http://h/a")
        #expect(rest.text == "rest" && rest.header("x-a") == "1")
        let error = await failure { () throws(WherryError) in try await client.get("http://other/")
        }
        #expect(error?.reason == "connect")
        #expect(stub.requests.map(\.method) == ["GET", "POST", "POST", "GET", "GET"])
    }

    @Test("R39 a stub fails like a network")
    func failures() async throws {
        try stub.fail("http://h/reset", reason: "connection_reset")
        try stub.fail("http://h/cut", reason: "truncated", afterBytes: 1000)
        let reset = await failure { () throws(WherryError) in try await client.get("http://h/reset")
        }
        #expect(reset?.reason == "connection_reset" && reset?.isRetryable == true)
        let stream = try await client.stream(Request("http://h/cut"))
        var count = 0
        let cut = await failure { () throws(WherryError) in
            for try await piece in stream.body { count += piece.count }
        }
        #expect(count == 1000 && cut?.reason == "truncated")
        let word = await failure { () throws(WherryError) in
            try stub.fail("http://h/", reason: "no_such_reason")
        }
        #expect(word?.reason == "bad_value")
    }

    @Test("R39 the test moves the clock")
    func time() async throws {
        stub.respond("http://h/*", delay: .seconds(60))
        var request = Request("http://h/a")
        request.idleTimeout = .zero
        request.firstByteTimeout = .zero
        let patient = try client.start(request)
        let hasty = try client.start(Request("http://h/b"))
        stub.advance(by: .seconds(20))
        let error = await failure { () throws(WherryError) in try await hasty.value }
        #expect(error?.reason == "idle_timeout")
        #expect(patient.state == .running)
        stub.advance(by: .seconds(40))
        #expect(try await patient.value.status == 200)
    }

    @Test("R39 bodies are recorded, and several clients share one stub")
    func bodies() async throws {
        stub.respond("*")
        let other = try Client { [stub] in $0.stubServer = stub }
        var request = Request("http://h/", method: "PUT")
        request.body = .multipart([.bytes("a", Bytes("content"))])
        _ = try await other.send(request)
        other.close()
        _ = try await client.get("http://h/")
        #expect(stub.requests.count == 2)
        let put = stub.requests[0]
        #expect(put.body.text.contains("content") && put.bodyLength == Int64(put.body.count))
        #expect(put.headers["Content-Length"] == "\(put.body.count)")
    }
}

/// Requests that the program responds to, and requests that a stub passes to the network.
@Suite struct StubResponderTests {
    private let stub = StubServer()

    @Test("R39 a closure responds to complete requests, also of uploads and downloads")
    func closure() async throws {
        stub.respond("https://*.example.org/*") { request in
            .init(
                status: 201,
                headers: ["X-Method": request.method, "X-Size": "\(request.body.count)"],
                body: Bytes("\(request.url) \(request.headers["x-a"] ?? "-")"))
        }
        let client = try Client { $0.stubServer = stub }
        var request = Request("https://a.EXAMPLE.org/b", method: "POST")
        request.headers["X-A"] = "1"
        request.body = .bytes(Bytes("hello"), contentType: "text/plain")
        let response = try await client.send(request)
        #expect(response.status == 201)
        #expect(response.text == "https://a.EXAMPLE.org/b 1")
        #expect(response.header("x-method") == "POST" && response.header("x-size") == "5")
        #expect(stub.requests.isEmpty)
    }

    @Test("R39 an error of the closure fails the request with its reason")
    func errors() async throws {
        struct Oops: Error {}
        let behind = StubServer()
        try behind.fail("*", reason: "idle_timeout")
        let inner = try Client { $0.stubServer = behind }
        stub.respond("http://h/network") { _ in
            _ = try await inner.get("http://behind/")
            return .init()
        }
        stub.respond("http://h/bug") { _ in throw Oops() }
        let client = try Client { $0.stubServer = stub }
        for (path, reason) in [("network", "idle_timeout"), ("bug", "refused")] {
            do {
                _ = try await client.get("http://h/\(path)")
                Issue.record("\(path) succeeded")
            } catch {
                #expect(error.reason == reason)
            }
        }
    }
}
