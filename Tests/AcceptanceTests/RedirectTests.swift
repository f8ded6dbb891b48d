// Wherry: acceptance tests of redirects and of hostile texts
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry
import WherryCore

@Suite struct RedirectTests {
    private let scope: TestServer.Scope
    private let client: Client

    init() throws {
        scope = try TestServer.shared.scope()
        client = try makeClient(scope)
    }

    /// Escapes a text for a query of the test server.
    private func escaped(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    }

    @Test("R19 redirects are followed and listed")
    func followed() async throws {
        let response = try await client.get("redirect/3")
        #expect(response.status == 200)
        #expect(response.redirects.map(\.status) == [302, 302, 302])
        #expect(response.redirects.first?.url == scope.url("/redirect/3"))
        #expect(response.url == scope.server.url("/echo"))
    }

    @Test("R19 with redirects disabled the redirect is the response")
    func unfollowed() async throws {
        var request = Request("redirect/3")
        request.maxRedirects = 0
        request.acceptedStatus = [302]
        let response = try await client.send(request)
        #expect(response.status == 302)
        #expect(response.header("location")?.hasSuffix("/redirect/2") == true)
        #expect(try scope.requests().count == 1)
    }

    @Test("R19 a closure may refuse a redirect, end the request, or follow it")
    func decided() async throws {
        var request = Request("redirect/2")
        request.acceptedStatus = [302]
        let targets = Guarded<[String]>([])
        let kept = try await client.send(
            request,
            hooks: .redirecting { response, next in
                targets.withLock { $0.append(next.url) }
                return response.redirects.isEmpty ? next : nil
            })
        #expect(kept.status == 302 && kept.redirects.count == 1)
        #expect(targets.withLock { $0 } == ["/redirect/1", "/echo"].map { scope.server.url($0) })
        struct Unwanted: Error {}
        let error = await failure { [request] () throws(WherryError) in
            try await client.send(request, hooks: .redirecting { _, _ in throw Unwanted() })
        }
        #expect(error?.reason == "refused" && error?.code == .cancelled)
        let followed = try await client.send(request, hooks: .redirecting { $1 })
        #expect(followed.status == 200)
    }

    struct Hop: Decodable {
        struct Expected: Decodable {
            let method: String
            let credentials: Bool
            let custom: Bool
            let body: Bool
        }
        let status: Int
        let method: String
        let to: String
        let body: Bool?
        let keep: Bool?
        let expect: Expected?
        let error: String?
    }

    @Test("SEC-U3 credentials, headers, and bodies are sent only to their origin")
    func origins() async throws {
        let other = try TestServer()
        defer { other.stop() }
        for (index, hop) in try scenarios("redirects.json", of: Hop.self).enumerated() {
            let key = "hop\(index)-\(scope.key)"
            let server = hop.to == "port" ? other : try TestServer.shared
            let target = server.url(
                "/@\(key)/echo", host: hop.to == "host" ? "localhost" : "127.0.0.1")
            var request = Request(
                "redirect-to?status=\(hop.status)&url=\(escaped(target))", method: hop.method)
            request.headers = ["Authorization": "Bearer s", "Cookie": "a=b", "X-Secret": "s"]
            if hop.body == true { request.body = .json(Bytes(#"{"a":1}"#)) }
            request.keepsAuthAcrossHosts = hop.keep
            let sent = request
            let error = await failure { () throws(WherryError) in try await client.send(sent) }
            let seen = try server.requests(key: key)
            guard let expected = hop.expect else {
                #expect(error?.reason == hop.error, "\(hop)")
                #expect(seen.isEmpty, "\(hop)")
                continue
            }
            #expect(error == nil, "\(hop)")
            let last = try #require(seen.last)
            #expect(last.method == expected.method, "\(hop)")
            #expect((last.header("authorization") != nil) == expected.credentials, "\(hop)")
            #expect((last.header("cookie") != nil) == expected.credentials, "\(hop)")
            #expect((last.header("x-secret") != nil) == expected.custom, "\(hop)")
            #expect(last.received == (expected.body ? 7 : 0), "\(hop)")
            #expect((last.header("content-type") != nil) == expected.body, "\(hop)")
        }
    }

    @Test("SEC-U3 credentials given for another host by a hook belong to that host")
    func adaptedOrigin() async throws {
        let home = scope.url("/echo")
        let away = scope.url("/redirect-to?url=\(escaped(home))", host: "localhost")
        let attempts = Guarded(0)
        let response = try await client.send(
            Request("echo"),
            hooks: .adapting { request in
                var request = request
                guard
                    attempts.withLock({
                        $0 += 1; return $0
                    }) == 1
                else { return request }
                request.url = away
                request.headers["Authorization"] = "Bearer away"
                return request
            })
        let seen = try scope.requests()
        #expect(seen.first?.header("authorization") == "Bearer away")
        let answer = try JSONDecoder().decode(Echo.self, from: Data(response.body))
        #expect(answer.values("Authorization") == [])
    }

    @Test(
        "R19 the page of a redirect is not awaited and may be incomplete",
        arguments: [
            #"["send", "\r\n"], ["bytes", 50000000], ["keep"]"#,
            #"["send", "Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello"], ["fin"]"#,
            #"["send", "Content-Length: 500\r\n\r\nhello"], ["fin"]"#,
        ])
    func page(rest: String) async throws {
        let head = #"["send", "HTTP/1.1 302 Found\r\nLocation: \#(scope.url("/echo"))\r\n"]"#
        try scope.script("page", #"[{"raw": [\#(head), \#(rest)]}]"#)
        let response = try await client.get("s/page")
        #expect(response.status == 200 && response.redirects.count == 1)
    }

    @Test("R19 R18 a redirect page with an unverifiable encoding matters only as the response")
    func codedPage() async throws {
        var plain = Request("br")
        plain.contentCodings = .identity
        let page = Data(try await client.send(plain).body).base64EncodedString()
        let head =
            "HTTP/1.1 302 Found\\r\\nContent-Encoding: br\\r\\nLocation: \(scope.url("/echo"))\\r\\n\\r\\n"
        try scope.script(
            "br", #"[{"raw": [["send", "\#(head)"], ["send_base64", "\#(page)"], ["fin"]]}]"#)
        var request = Request("s/br")
        request.contentCodings = .all
        request.acceptedStatus = [302]
        #expect(try await client.send(request).status == 200)
        let followed = try await client.send(request, hooks: .redirecting { $1 })
        #expect(followed.status == 200 && followed.redirects.count == 1)
        let error = await failure { [request] () throws(WherryError) in
            try await client.send(request, hooks: .redirecting { _, _ in nil })
        }
        #expect(error?.reason == "bad_encoding" && error?.httpStatus == 302)
    }

    @Test("R19 a redirect that drops the body drops its headers")
    func bodyFields() async throws {
        var request = Request(
            "redirect-to?status=303&url=\(escaped(scope.url("/echo")))", method: "POST")
        request.headers = ["Content-Type": "text/x-note", "Content-Language": "de", "X-Mine": "1"]
        request.body = .bytes(Bytes("hallo"), contentType: nil)
        _ = try await client.send(request)
        let seen = try scope.requests()
        try #require(seen.count == 2)
        #expect(seen[0].header("content-type") == "text/x-note" && seen[0].received == 5)
        #expect(seen[1].method == "GET")
        #expect(seen[1].header("content-type") == nil)
        #expect(seen[1].header("content-language") == nil)
        #expect(seen[1].header("x-mine") == "1")
    }

    @Test("SEC-U3 the client's token stays with its origin too, and is sent there again")
    func clientToken() async throws {
        let client = try makeClient(scope) { $0.bearerToken = "token" }
        let home = escaped(scope.url("/echo"))
        let away = escaped(scope.url("/redirect-to?url=\(home)", host: "localhost"))
        let echo = try await client.get("redirect-to?url=\(away)", as: Echo.self)
        #expect(echo.values("authorization") == ["Bearer token"])
        let tokens = try scope.requests().map { $0.header("authorization") }
        #expect(tokens == ["Bearer token", nil, "Bearer token"])
    }

    @Test("SEC-U3 proxy credentials in a header stay with their origin as well")
    func proxyCredentials() async throws {
        let other = try TestServer()
        defer { other.stop() }
        for (server, host, stays) in [
            (try TestServer.shared, "127.0.0.1", true), (try TestServer.shared, "localhost", false),
            (other, "127.0.0.1", false),
        ] {
            let key = "proxy-\(host)-\(stays)-\(scope.key)"
            let target = escaped(server.url("/@\(key)/echo", host: host))
            for status in [302, 307] {
                var request = Request("redirect-to?status=\(status)&url=\(target)", method: "GET")
                request.headers = [
                    "Proxy-Authorization": "Basic cDpw", "Authorization": "Basic YTph",
                ]
                _ = try await client.send(request)
                let last = try #require(try server.requests(key: key).last)
                #expect((last.header("proxy-authorization") != nil) == stays, "\(host) \(status)")
                #expect((last.header("authorization") != nil) == stays, "\(host) \(status)")
            }
        }
    }

    @Test("SEC-U4 a redirect from https to http is not followed")
    func downgrade() async throws {
        let server = try TestServer(certificate: .good)
        defer { server.stop() }
        let client = try makeClient { $0.caFile = server.ca }
        let plain = escaped(scope.url("/echo"))
        let error = await failure { () throws(WherryError) in
            try await client.get(server.tlsURL("/redirect-to?url=\(plain)"))
        }
        #expect(error?.reason == "redirect_refused" && error?.httpStatus == 302)
        #expect(try scope.requests().isEmpty)
        // The opposite direction is allowed.
        let upgrade = server.url("/redirect-to?url=\(escaped(server.tlsURL("/echo")))")
        #expect(try await client.get(upgrade).status == 200)
    }

    @Test(
        "SEC-U5 other schemes are refused, and nothing is opened",
        arguments: [
            "file:///etc/passwd", "ftp://127.0.0.1/x", "gopher://127.0.0.1/", "ldap://127.0.0.1/",
            "javascript:alert(1)", "data:text/plain,x", "dict://127.0.0.1/",
            "http://user:pw@127.0.0.1/",
        ])
    func schemes(target: String) async throws {
        let path = "redirect-to?url=\(escaped(target))"
        let error = await failure { () throws(WherryError) in try await client.get(path) }
        #expect(error?.reason == "redirect_refused")
        #expect(error?.message.contains("pw@") == false)
        #expect(try scope.requests().count == 1)
    }

    @Test("SEC-U6 ten redirects are followed, the eleventh is not")
    func loops() async throws {
        #expect(try await client.get("redirect/10").redirects.count == 10)
        let error = await failure { () throws(WherryError) in try await client.get("redirect/11") }
        #expect(error?.reason == "too_many_redirects")
        try scope.reset()
        let endless = await failure { () throws(WherryError) in try await client.get("loop") }
        #expect(endless?.reason == "too_many_redirects")
        #expect(try scope.requests().count == 11)
    }

    @Test(
        "SEC-U6 a body that cannot be replayed is not sent again, and a file is",
        arguments: [307, 308])
    func replay(status: Int) async throws {
        let path = "redirect/2?status=\(status)"
        let folder = try TemporaryFolder()
        let bytes = TestPattern.bytes(count: 300_000)
        try Data(bytes).write(to: URL(fileURLWithPath: folder.file("body")))
        var request = Request(path, method: "POST")
        request.body = .file(path: folder.file("body"), contentType: nil)
        let echo = try await client.echo(request)
        #expect(Data(base64Encoded: echo.body) == Data(bytes))
        do {
            _ = try await client.send(Request(path, method: "POST"), body: Pieces(count: 3))
            Issue.record("A body from a sequence was sent twice")
        } catch let error as WherryError {
            #expect(error.reason == "redirect_refused")
        }
    }

    // MARK: Texts

    @Test("SEC-U2 a target in ISO-8859-1 is requested with its original bytes")
    func latin1Target() async throws {
        let head: [UInt8] =
            Array("HTTP/1.1 302 Found\r\nContent-Length: 0\r\n".utf8)
            + Array("Location: /@\(scope.key)/echo/caf".utf8) + [0xE9] + Array("\r\n\r\n".utf8)
        let bytes = Data(head).base64EncodedString()
        try scope.script("latin", #"[{"raw": [["send_base64", "\#(bytes)"], ["keep"]]}]"#)
        let echo = try await client.get("s/latin", as: Echo.self)
        #expect(echo.target.hasSuffix("/echo/caf%E9"))
    }

    @Test("SEC-U1 control bytes never reach a header, a method, a type, or a URL")
    func controlBytes() async throws {
        let server = StubServer()
        server.respond("*")
        var base = Client.Configuration()
        base.stubServer = server
        base.baseURL = "http://example.org/"
        let client = try Client(base)
        for byte in Array(0..<0x20) + [0x7F] where byte != 0x09 {
            let text = "a\(UnicodeScalar(byte).map { String($0) } ?? "")b"
            var requests: [String: Request] = [:]
            requests["method"] = Request("x", method: text)
            requests["url"] = Request("x\(text)")
            var request = Request("x")
            request.headers = [text: "v"]
            requests["name"] = request
            for name in ["X", "User-Agent", "Referer", "Cookie", "Range", "Authorization"] {
                request.headers = [name: text]
                requests["value of \(name)"] = request
            }
            request.headers = [:]
            request.body = .bytes(Bytes("x"), contentType: text)
            requests["content type"] = request
            request.body = .multipart([.bytes("a", Bytes("x"), fileName: "f", contentType: text)])
            requests["part's type"] = request
            request.body = .none
            request.bearerToken = text
            requests["token"] = request
            request.bearerToken = nil
            request.jpegContentType = text
            requests["type of pictures"] = request
            let picture = try Image.pixels([9, 9, 9], .rgb8, width: 1, height: 1)
            request.body = .multipart([.image("p", picture)])
            requests["type of a picture"] = request
            for (what, request) in requests {
                let error = await failure { () throws(WherryError) in try await client.send(request)
                }
                #expect(error?.code == .argument, "byte \(byte) in the \(what)")
            }
            var broken: [String: Client.Configuration] = [:]
            for what in ["agent", "token", "header", "base", "picture"] { broken[what] = base }
            broken["agent"]?.userAgent = text
            broken["token"]?.bearerToken = text
            broken["header"]?.headers = ["X": text]
            broken["base"]?.baseURL = "http://h/\(text)"
            broken["picture"]?.jpegContentType = text
            for (what, configuration) in broken {
                let error = await failure { () throws(WherryError) in try Client(configuration) }
                #expect(error?.code == .argument, "byte \(byte) in the client's \(what)")
            }
            let live = await failure { () throws(WherryError) in try client.setBearerToken(text) }
            #expect(live?.code == .argument)
            let changed = await failure { () throws(WherryError) in
                try client.configure { $0.jpegContentType = text }
            }
            #expect(changed?.code == .argument)
        }
        #expect(server.requests.isEmpty)
    }

    @Test("SEC-U1 names of form parts are escaped, not refused")
    func partNames() async throws {
        var request = Request("echo", method: "POST")
        let name = "a\"b\r\n\\天"
        request.body = .multipart([.bytes(name, Bytes("x"), fileName: name + ".txt")])
        let parts = try #require(try await client.echo(request).parts)
        #expect(parts.map(\.name) == ["a\"b\r\n\\天"])
        #expect(parts.map(\.filename) == ["a\"b\r\n\\天.txt"])
    }

    @Test("SEC-U2 a URL names one host, or is refused")
    func hostileURLs() async throws {
        let server = StubServer()
        server.respond("*")
        let client = try Client { $0.stubServer = server }
        let refused = [
            "http://good.example\\@evil.example/", "http://user@good.example/", "http://a:b@c/",
            "http://", "//x", "javascript:x", "http://good.example:port/",
            "http://good.example:0/", "http://[::1/", "http://good.example\u{0}.evil/",
            "http://good .example/", "ht tp://x/", "http//x", "",
        ]
        for url in refused {
            let error = await failure { () throws(WherryError) in try await client.get(url) }
            #expect(error?.reason == "bad_url", "\(url)")
        }
        #expect(server.requests.isEmpty)
        for (url, host) in [
            ("http://good.example#@evil.example/", "good.example"),
            ("http://good.example?@evil.example/", "good.example"),
            ("http://good.example/@evil.example", "good.example"),
            ("HTTP://GOOD.EXAMPLE/", "good.example"), ("http://[::1]:80/", "[::1]"),
        ] {
            let response = try await client.get(url)
            #expect(response.url.lowercased().hasPrefix("http://\(host)"), "\(url)")
        }
    }

    @Test("SEC-U2 no text causes a trap, and a request goes to the origin that was checked")
    func randomURLs() async throws {
        let server = StubServer()
        server.respond("*")
        let client = try Client { $0.stubServer = server }
        let words = [
            "http", "https", ":", "/", "//", "\\", "@", "#", "?", "a", "b.c", "127.1", "[", "]",
            "::1",
            "%", "%2f", "%00", "..", ".", "\u{7F}", "天", " ", "\t", "80", "99999", "&", "=", ";",
            "|",
        ]
        var generator = SystemRandomNumberGenerator()
        var sent = 0
        for turn in 0..<AcceptanceTests.loops(20_000) {
            var text = turn % 2 == 0 ? "http://" : ""
            for _ in 0..<Int.random(in: 1...8, using: &generator) {
                text += words.randomElement(using: &generator) ?? ""
            }
            let url = text
            let result = await failure { () throws(WherryError) in
                let response = try await client.get(url)
                #expect(response.url == server.requests.last?.url, "\(url)")
            }
            if let result {
                #expect(result.reason == "bad_url", "\(url)")
            } else {
                sent += 1
            }
        }
        #expect(sent > 0)
    }
}

/// A body that can be read once.
struct Pieces: AsyncSequence, Sendable {
    let count: Int
    var size = 10

    struct Iterator: AsyncIteratorProtocol {
        var left: Int
        let size: Int
        mutating func next() async -> [UInt8]? {
            guard left > 0 else { return nil }
            left -= 1
            return Array(repeating: UInt8(truncatingIfNeeded: left), count: size)
        }
    }
    func makeAsyncIterator() -> Iterator { Iterator(left: count, size: size) }
}
