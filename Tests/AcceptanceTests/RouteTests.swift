// Wherry: network routes: rows C19, SEC-U9
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry
import WherrySystem

@Suite("Network routes") struct RouteTests {
    /// The path of a URL in the test's scope of the server.
    private func path(_ scope: TestServer.Scope, _ path: String) throws -> String {
        String(try #require(URLComponents(string: scope.url(path))).path)
    }

    @Test("C19 a host with a given address is not looked up and keeps its name")
    func resolve() async throws {
        let server = try TestServer.shared
        let scope = server.scope()
        let client = try makeClient {
            $0.resolve = ["API.example:\(server.port):127.0.0.1", "six.example:80:::1"]
        }
        let url = "http://api.example:\(server.port)" + (try path(scope, "/echo"))
        let echo = try await client.echo(Request(url))
        #expect(echo.values("host") == ["api.example:\(server.port)"])
        let other = url.replacingOccurrences(of: "api.example", with: "other.invalid")
        #expect(
            await failure { () throws(WherryError) in try await client.send(Request(other)) }?
                .reason == "resolve")
        let any = try makeClient { $0.resolve = ["*:\(server.port):127.0.0.1"] }
        #expect(try await any.echo(Request(other)).connection > 0)
        #expect(
            try any.curlCommand(of: Request(other)).contains(
                "--resolve '*:\(server.port):127.0.0.1'"))
    }

    @Test(
        "C19 an invalid address is refused before anything is sent",
        arguments: [
            "a", "a:80", "a:80:", "a:80:b", ":80:127.0.0.1", "a:0:127.0.0.1", "a:65536:127.0.0.1",
            "a:x:127.0.0.1", "a:80:127.0.0.1,", "[::1]:80:127.0.0.1", "10.0.0.1:80:127.0.0.1",
            "a:80:[::1", "a:80:127.0.0.1:9",
        ])
    func malformedResolve(_ word: String) async throws {
        let error = await failure { () throws(WherryError) in try Client { $0.resolve = [word] } }
        #expect(error?.reason == "bad_value", "\(word)")
    }

    @Test("C19 a Unix socket serves every host, whatever the proxy")
    func unixSocket() async throws {
        let server = try TestServer.shared
        let scope = server.scope()
        let client = try makeClient {
            $0.unixSocket = server.unixSocket
            $0.proxy = "http://127.0.0.1:1"
        }
        let url = "http://container.invalid" + (try path(scope, "/echo"))
        let echo = try await client.echo(Request(url))
        #expect(echo.values("host") == ["container.invalid"])
        // The socket is named by path, so it is not an address from a name.
        let careful = try makeClient {
            $0.unixSocket = server.unixSocket
            $0.trust.deniedAddresses = .notPublic
        }
        #expect(try await careful.echo(Request(url)).connection > 0)
        #expect(
            try client.curlCommand(of: Request("http://a/")).contains(
                "--unix-socket \(server.unixSocket)"))
        let gone = try makeClient { $0.unixSocket = server.unixSocket + ".none" }
        #expect(
            await failure { () throws(WherryError) in try await gone.send(Request("http://a/")) }?
                .reason == "connect")
        for path in ["relative", "/" + String(repeating: "a", count: 107)] {
            let error = await failure { () throws(WherryError) in
                try Client { $0.unixSocket = path }
            }
            #expect(error?.reason == "bad_path")
        }
    }

    @Test("C19 connections use the given address or interface")
    func interface() async throws {
        let scope = try TestServer.shared.scope()
        for name in ["lo", "127.0.0.1"] {
            let client = try makeClient(scope) { $0.interface = name }
            #expect(try await client.echo(Request("echo")).connection > 0)
        }
        let other = try makeClient(scope) { $0.interface = "none0" }
        let error = await failure { () throws(WherryError) in try await other.send(Request("echo"))
        }
        #expect(error?.reason == "connect")
        #expect(error?.message.contains("interface") == true)
    }

    @Test("C19 SEC-U9 a proxy gets its credentials, and the origin never does")
    func proxyCredentials() async throws {
        let server = try TestServer(certificate: .good)
        let scope = server.scope()
        let through = server.scope()
        let client = try makeClient {
            $0.proxy = "http://127.0.0.1:\(server.port)"
            $0.proxyCredentials = "name:hunter:4"
            $0.caFile = server.ca
        }
        // The proxy is the server itself: over TLS it receives CONNECT, and then the origin's
        // requests.
        let origin = scope.url("/echo").replacingOccurrences(
            of: "http://127.0.0.1:\(server.port)", with: "https://localhost:\(server.tlsPort ?? 0)")
        let echo = try await client.echo(Request(origin))
        #expect(echo.values("proxy-authorization").isEmpty)
        let tunnels = try server.requests().filter { $0.method == "CONNECT" }
        #expect(tunnels.count == 1)
        let basic = "Basic " + Data("name:hunter:4".utf8).base64EncodedString()
        #expect(tunnels.first?.header("proxy-authorization") == basic)
        // Without TLS the proxy reads the request itself.
        let plain = try await client.echo(Request(through.url("/echo")))
        #expect(plain.target.hasPrefix("http://"))
        #expect(plain.values("proxy-authorization") == [basic])
        let direct = try makeClient(through) { $0.proxyCredentials = "name:hunter4" }
        #expect(try await direct.echo(Request("echo")).values("proxy-authorization").isEmpty)
        let command = try client.curlCommand(of: Request(origin))
        #expect(command.contains("--proxy-user 'name:") && !command.contains("hunter"))
        for bad in ["name", "a:b\r\nX: y"] {
            let error = await failure { () throws(WherryError) in
                try Client { $0.proxyCredentials = bad }
            }
            #expect(error?.reason == "bad_value" && error?.message.contains("X: y") == false)
        }
    }

    @Test("C19 each scheme has its own proxy, and none if it is empty")
    func proxiesByScheme() async throws {
        let server = try TestServer(certificate: .good)
        defer { server.stop() }
        let scope = server.scope()
        let proxy = "http://127.0.0.1:\(server.port)"
        let plain = scope.url("/echo")
        let secure = server.tlsURL("/@\(scope.key)/echo")
        func isProxied(_ configure: (inout Client.Configuration) -> Void) async throws -> [Bool] {
            let client = try makeClient {
                $0.proxy = "http://127.0.0.1:1"
                $0.caFile = server.ca
                configure(&$0)
            }
            let before = try server.requests().count { $0.method == "CONNECT" }
            let target = try await client.echo(Request(plain)).target
            _ = try await client.echo(Request(secure))
            let after = try server.requests().count { $0.method == "CONNECT" }
            client.close()
            return [target.hasPrefix("http://"), after > before]
        }
        #expect(
            try await isProxied { ($0.proxyHTTP, $0.proxyHTTPS) = (proxy, proxy) } == [true, true])
        #expect(
            try await isProxied { ($0.proxyHTTP, $0.proxyHTTPS) = (proxy, "") } == [true, false])
        #expect(
            try await isProxied { ($0.proxyHTTP, $0.proxyHTTPS) = ("", proxy) } == [false, true])
        #expect(try await isProxied { ($0.proxy, $0.proxyHTTP) = (proxy, "") } == [false, true])
        let client = try makeClient { $0.proxyHTTPS = "http://p:1" }
        #expect(try client.curlCommand(of: Request("https://h/")).contains("--proxy http://p:1"))
        #expect(try !client.curlCommand(of: Request("http://h/")).contains("http://p:1"))
        for word in ["ftp://h:1", "http://"] {
            let error = await failure { () throws(WherryError) in
                try Client { $0.proxyHTTPS = word }
            }
            #expect(
                error?.reason == "bad_value" && error?.message.hasPrefix("proxy_https ") == true)
        }
    }

    /// `resolve` only lowercased its hosts; proxies and exceptions were passed to libcurl
    /// unchanged.
    @Test("C19 international names work in resolve, proxies, and exceptions")
    func internationalNames() async throws {
        let server = try TestServer.shared
        let scope = server.scope()
        let host = "bücher.example:\(server.port)"
        let client = try makeClient { $0.resolve = ["\(host):127.0.0.1"] }
        let echo = try await client.echo(Request("http://\(host)" + (try path(scope, "/echo"))))
        #expect(echo.values("host") == ["xn--bcher-kva.example:\(server.port)"])
        let through = try makeClient {
            $0.resolve = ["\(host):127.0.0.1"]
            $0.proxy = "http://\(host)"
        }
        #expect(try await through.echo(Request(scope.url("/echo"))).target.hasPrefix("http://"))
        let without = try makeClient {
            $0.resolve = ["\(host):127.0.0.1"]
            $0.proxy = "http://127.0.0.1:1"
            $0.noProxy = ["bücher.example"]
        }
        #expect(
            try await without.echo(Request("http://\(host)" + (try path(scope, "/echo")))).target
                .hasPrefix("/"))
    }

    @Test("C19 an exception may have a port, and an invalid one is named")
    func exceptionPorts() async throws {
        let server = try TestServer.shared
        let scope = server.scope()
        let direct = try makeClient(scope) {
            $0.proxy = "http://127.0.0.1:1"
            $0.noProxy = ["127.0.0.1:\(server.port)"]
        }
        #expect(try await direct.echo(Request("echo")).connection > 0)
        let other = try makeClient(scope) {
            $0.proxy = "http://127.0.0.1:1"
            $0.noProxy = ["127.0.0.1:9"]
        }
        let failed = await failure { () throws(WherryError) in try await other.send(Request("echo"))
        }
        #expect(failed?.message.contains("the proxy http://127.0.0.1:1:") == true)
        let error = await failure { () throws(WherryError) in
            try Client { $0.noProxy = ["h.org", "http://h.org"] }
        }
        #expect(error?.reason == "bad_value" && error?.message.contains("\"http://h.org\"") == true)
    }

    @Test("C19 SEC-U9 hosts excluded from the proxy are contacted directly")
    func noProxy() async throws {
        let server = try TestServer.shared
        let scope = server.scope()
        for hosts in [["127.0.0.1"], ["*"], ["example.com", "127.0.0.0/8"]] {
            let client = try makeClient(scope) {
                $0.proxy = "http://127.0.0.1:1"
                $0.noProxy = hosts
            }
            #expect(try await client.echo(Request("echo")).connection > 0, "\(hosts)")
        }
        let other = try makeClient(scope) {
            $0.proxy = "http://127.0.0.1:1"
            $0.noProxy = ["example.com"]
        }
        let error = await failure { () throws(WherryError) in try await other.send(Request("echo"))
        }
        #expect(error?.code == .network)
    }

    @Test("C19 an unreachable or refusing proxy is named, and the origin is not")
    func failingProxy() async throws {
        let server = try TestServer.shared
        func failed(_ proxy: String, _ url: String, without hosts: [String] = []) async throws
            -> WherryError?
        {
            let client = try makeClient {
                $0.proxy = proxy
                $0.noProxy = hosts
                $0.connectTimeout = .zero
            }
            let error = await failure { () throws(WherryError) in
                try await client.send(Request(url))
            }
            client.close()
            return error
        }
        for (proxy, url, reason, named) in [
            (
                "http://me:hunter4@127.0.0.1:1", "http://h.invalid/", "connect",
                "http://127.0.0.1:1:"
            ),
            ("127.0.0.1:1", "https://h.invalid/", "connect", "http://127.0.0.1:1:"),
            ("socks5h://127.0.0.1:1", "http://h.invalid/", "connect", "socks5h://127.0.0.1:1:"),
            ("no-proxy.invalid:1", "http://h.invalid/", "proxy", "http://no-proxy.invalid:1:"),
            // It forwards only to this machine.
            (
                "http://127.0.0.1:\(server.port)", "https://h.invalid/", "proxy",
                "http://127.0.0.1:\(server.port):"
            ),
        ] {
            let error = try await failed(proxy, url)
            #expect(error?.reason == reason)
            let message = try #require(error?.message)
            #expect(message.contains("the proxy \(named)"), "\(message)")
            #expect(!message.contains("h.invalid") && !message.contains("hunter4"), "\(message)")
        }
        // A host that bypasses it fails without it; another one does not.
        let own = try await failed(
            "http://127.0.0.1:2", "http://127.0.0.1:1/", without: ["127.0.0.1"])
        #expect(own?.message.contains("http://127.0.0.1:1:") == true)
        #expect(own?.message.contains("proxy") == false)
        let other = try await failed(
            "http://127.0.0.1:2", "http://127.0.0.1:1/", without: ["other.invalid"])
        #expect(other?.message.contains("the proxy http://127.0.0.1:2:") == true)
    }

    @Test("C19 an invalid proxy is refused when it is set, and named")
    func noSuchProxy() async throws {
        for text in ["", "h", "h:8080", "https://h", "socks5h://u:p@h:1", "http://[::1]:3128/"] {
            try makeClient { $0.proxy = text }.close()
        }
        for text in ["ftp://h:1", "http://", "a b", "http://h:99999", "http://h:1:2", "h\n"] {
            let error = await failure { () throws(WherryError) in try Client { $0.proxy = text } }
            #expect(
                error?.reason == "bad_value" && error?.message.hasPrefix("proxy ") == true,
                "\(text)")
        }
        let error = await failure { () throws(WherryError) in
            try Client { $0.proxy = "gopher://me:hunter4@h:1" }
        }
        #expect(error?.message.contains("@h:1") == true)
        #expect(error?.message.contains("hunter4") == false)
    }

    @Test("C19 SEC-U2 an invalid base URL is reported as a base URL")
    func noBaseURL() async throws {
        for text in ["example.org", "ftp://example.org/", "http://a:99999/", "http://a b/"] {
            let error = await failure { () throws(WherryError) in try Client { $0.baseURL = text } }
            #expect(error?.reason == "bad_url")
            #expect(error?.message.hasPrefix("The base URL \"\(text)\"") == true, "\(text)")
        }
        let probe = await failure { () throws(WherryError) in try Reachability.Probe("h") }
        #expect(
            probe?.message
                == "The URL of a probe \"h\" is not absolute. Pass an absolute URL such as http://host/."
        )
    }
}
