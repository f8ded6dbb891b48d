// Wherry: acceptance tests of a Host header set by the caller
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry
import WherrySystem

/// The header was refused, so that a request could not select another host of a server: a virtual
/// host of an address, or one that is not in DNS yet.
@Suite struct HostHeaderTests {
    private let scope: TestServer.Scope
    private let client: Client

    init() throws {
        scope = try TestServer.shared.scope()
        client = try makeClient(scope)
    }

    private func request(_ path: String, host: String) -> Request {
        var request = Request(path)
        request.headers = ["host": host]
        return request
    }

    private func escaped(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    }

    @Test("SEC-U11 a Host header replaces the URL's host, once, before the client's own headers")
    func sent() async throws {
        for host in ["a.example", "a.example:8080", "[::1]:8080", "192.0.2.1", "A_b.example."] {
            #expect(try await client.echo(request("echo", host: host)).values("host") == [host])
        }
        try client.setHeader("Host", "client.example")
        #expect(try await client.echo(Request("echo")).values("host") == ["client.example"])
        #expect(
            try await client.echo(request("echo", host: "own.example")).values("host")
                == ["own.example"])
        try client.setHeader("Host", nil)
        #expect(
            try await client.echo(Request("echo")).values("host").first?.hasPrefix("127.0.0.1:")
                == true)
        #expect(
            try client.curlCommand(of: request("echo", host: "a.example")).contains(
                "host: a.example"))
    }

    @Test("SEC-U11 a repeated, empty, or invalid Host is refused before anything is sent")
    func refused() async throws {
        var twice = request("echo", host: "a.example")
        twice.headers.append("Host", "b.example")
        var none = Request("echo")
        none.headers.suppress("Host")
        let bad = [
            "", "a b", "a/b", "a:0", "a:65536", "a:x", "a:", "user@a", "[::1", "ä.example", "a,b",
        ]
        for request in [twice, none] + bad.map({ request("echo", host: $0) }) {
            let error = await failure { [client] () throws(WherryError) in
                try await client.send(request)
            }
            #expect(error?.reason == "bad_header", "\(request.headers.fields)")
            #expect(error?.message.contains("Host") == true)
        }
        #expect(throws: WherryError.self) { try client.setHeader("Host", "a b") }
        try client.setHeader("Host", "a.example")
        #expect(throws: WherryError.self) { try client.addHeader("host", "b.example") }
        #expect(try scope.requests().isEmpty)
    }

    @Test("SEC-U11 SEC-U3 a redirect keeps the header within the origin, and drops it elsewhere")
    func redirects() async throws {
        for keepsAuth in [false, true] {
            for (host, isKept) in [("127.0.0.1", true), ("localhost", false)] {
                let there = scope.url("/echo", host: host)
                var asked = request("redirect-to?url=\(escaped(there))", host: "a.example")
                asked.keepsAuthAcrossHosts = keepsAuth
                let values = try await client.echo(asked).values("host")
                #expect((values == ["a.example"]) == isKept, "\(host) \(keepsAuth)")
                #expect(isKept || values.first?.hasPrefix("localhost:") == true)
            }
        }
    }

    @Test("SEC-U11 a request with a Host header neither sends nor stores cookies of the jar")
    func cookies() async throws {
        try client.cookies.set("a", "1", for: scope.url("/"))
        let own = request("cookies/set?b=2&attributes=Path%3D/", host: "a.example")
        _ = try await client.send(own)
        #expect(client.cookies.all.map(\.name) == ["a"])
        #expect(try scope.requests().map { $0.header("cookie") } == [nil])
        // The caller's own header is still sent.
        var given = request("echo", host: "a.example")
        given.headers["Cookie"] = "c=3"
        #expect(try await client.echo(given).values("cookie") == ["c=3"])
        #expect(try await client.echo(Request("echo")).values("cookie") == ["a=1"])
    }

    @Test("SEC-U11 SEC-C1 a request with a Host header bypasses every cache")
    func caches() async throws {
        let bench = try HTTPCacheBench()
        let client = try bench.client()
        bench.respond("1", times: nil)
        _ = try await client.send(cached())
        for policy in [nil, .use, .protocol, .anyAge] as [CachePolicy?] {
            for host in ["a.example", "b.example"] {
                var asked = cached(policy, ["Host": host])
                if policy == .use { asked.cacheDuration = .seconds(60) }
                #expect(try await !client.send(asked).isFromCache, "\(policy as Any) \(host)")
            }
        }
        #expect(bench.hits == 9)
        #expect(try await client.cache.entries().count == 1)
        // The entry of the URL still exists, and serves only requests without the header.
        #expect(try await client.send(cached()).isFromCache)
        for policy in [CachePolicy.only, .anyAgeOnly] {
            let error = await failure { () throws(WherryError) in
                try await client.send(cached(policy, ["Host": "a.example"]))
            }
            #expect(error?.code == .cacheMiss, "\(policy)")
        }
        #expect(bench.hits == 9)
        client.close()
    }

    @Test("SEC-U11 R33 requests for two hosts at one URL do not share a response")
    func sharing() async throws {
        let client = try makeClient(scope)
        try await withThrowingTaskGroup(of: (String, [String]).self) { group in
            for host in ["a.example", "b.example"] {
                group.addTask { [self] in
                    var asked = request("faulty-echo?gate=both", host: host)
                    asked.coalesces = true
                    return (host, try await client.echo(asked).values("host"))
                }
            }
            try await scope.wait("requests=2")
            try scope.open(gate: "both")
            for try await (host, values) in group { #expect(values == [host]) }
        }
        #expect(try scope.requests().count == 2)
    }

    @Test("SEC-U11 SEC-T4 TLS uses the host of the URL: for SNI, and for the certificate")
    func certificate() async throws {
        let server = try TestServer(certificate: .good)
        defer { server.stop() }
        let scope = server.scope()
        let client = try makeClient { $0.caFile = server.ca }
        let url = server.tlsURL("/@\(scope.key)/echo")
        #expect(
            try await client.echo(request(url, host: "other.example")).values("host") == [
                "other.example"
            ])
        // The certificate is that of localhost, whatever the header says.
        let wrong = url.replacingOccurrences(of: "localhost", with: "wrong.example")
        let port = server.tlsPort ?? 0
        let careful = try makeClient {
            $0.caFile = server.ca
            $0.resolve = ["wrong.example:\(port):127.0.0.1"]
        }
        let error = await failure { () throws(WherryError) in
            try await careful.send(request(wrong, host: "localhost"))
        }
        #expect(error?.reason == "wrong_name")
    }

    @Test("SEC-U11 a download for another host at the same URL restarts")
    func downloads() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("a.bin")
        func attempt(_ host: String) async -> WherryError? {
            var asked = request("bytes/300000?cut=100000&times=2&etag=same", host: host)
            asked.maxRetries = 0
            return await failure { [client, asked] () throws(WherryError) in
                _ = try await client.download(asked, to: path).value
            }
        }
        #expect(await attempt("a.example") != nil)
        #expect(await attempt("a.example") != nil)
        #expect(await attempt("b.example") == nil)
        let seen = try scope.requests()
        #expect(seen.map { $0.header("range") } == [nil, "bytes=100000-", nil])
        #expect(seen.map { $0.header("host") } == ["a.example", "a.example", "b.example"])
    }
}
