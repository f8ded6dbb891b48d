// Wherry: tests of accepting and sending cookies
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import WherrySystem
import WherryTransport

@testable import WherryHTTP

@Suite struct CookieJarTests {
    private let clock = ManualClock()

    private func jar(_ from: String, _ fields: String...) throws -> CookieJar {
        let jar = CookieJar(clock: clock)
        try take(fields, from, into: jar)
        return jar
    }

    private func take(_ fields: [String], _ from: String, into jar: CookieJar) throws {
        let block = fields.map { "Set-Cookie: \($0)\n" }.joined()
        let url = try HTTPURL(from)
        jar.take(ResponseHead(status: 200, block: Bytes(block)), from: url)
    }

    private func sent(_ jar: CookieJar, _ url: String) throws -> String? {
        jar.field(for: try HTTPURL(url))
    }

    /// The server that set the cookie, the URL it is sent to, and the cookies sent.
    struct Case: Sendable, CustomTestStringConvertible {
        let from: String
        let field: String
        let to: String
        let sent: String?
        var testDescription: String { "\(from) \(field) \(to)" }

        init(_ from: String, _ field: String, _ to: String, _ sent: String?) {
            (self.from, self.field, self.to, self.sent) = (from, field, to, sent)
        }
    }

    @Test(
        "SEC-U8 a cookie is sent only as RFC 6265 allows",
        arguments: [
            // Names that would be sent as another cookie, whose rules they did not obey.
            Case("http://a.example.org/", "=__Host-sid=evil; Path=/", "http://a.example.org/", nil),
            Case("http://a.example.org/", "=sid", "http://a.example.org/", "sid"),
            // Host-only, and of a domain.
            Case("http://a.example.org/", "a=1", "http://a.example.org/x", "a=1"),
            Case("http://a.example.org/", "a=1", "http://b.a.example.org/", nil),
            Case(
                "http://a.example.org/", "a=1; Domain=example.org", "http://b.example.org/", "a=1"),
            Case("http://a.example.org/", "a=1; domain=.EXAMPLE.org", "http://example.org/", "a=1"),
            Case("http://a.example.org/", "a=1; Domain=example.org", "http://badexample.org/", nil),
            Case(
                "http://a.example.org/", "a=1; Domain=b.example.org", "http://b.example.org/", nil),
            Case("http://example.org/", "a=1; Domain=a.example.org", "http://a.example.org/", nil),
            Case("http://a.example.org/", "a=1; Domain=", "http://a.example.org/", "a=1"),
            // Public suffixes: not for others, but for themselves.
            Case("http://a.co.uk/", "a=1; Domain=co.uk", "http://b.co.uk/", nil),
            Case("http://a.github.io/", "a=1; Domain=github.io", "http://b.github.io/", nil),
            Case("http://a.org/", "a=1; Domain=org", "http://a.org/", nil),
            Case("http://A.CO.UK/", "a=1; Domain=Co.Uk", "http://b.co.uk/", nil),
            Case("http://github.io/", "a=1; Domain=github.io", "http://github.io/", "a=1"),
            Case("http://github.io/", "a=1; Domain=github.io", "http://a.github.io/", nil),
            // Addresses and trailing dots.
            Case("http://127.0.0.1/", "a=1; Domain=127.0.0.1", "http://127.0.0.1/", "a=1"),
            Case("http://127.0.0.1/", "a=1; Domain=0.0.1", "http://127.0.0.1/", nil),
            Case("http://[::1]/", "a=1", "http://[::1]:8080/", "a=1"),
            Case("http://example.org./", "a=1", "http://example.org./", nil),
            Case("http://example.org/", "a=1", "http://example.org./", nil),
            Case("http://a.example.org/", "a=1; Domain=example.org.", "http://a.example.org/", nil),
            // Ports do not count, schemes do.
            Case("http://h.example.org:81/", "a=1", "http://h.example.org:82/", "a=1"),
            Case("https://example.org/", "a=1; Secure", "http://example.org/", nil),
            Case("https://example.org/", "a=1; secure", "https://example.org/", "a=1"),
            Case("http://example.org/", "a=1; Secure", "https://example.org/", nil),
            Case(
                "https://example.org/", "__Host-a=1; Secure; Path=/", "https://example.org/",
                "__Host-a=1"),
            Case(
                "https://example.org/", "__Host-a=1; Secure; Path=/; Domain=example.org",
                "https://example.org/", nil),
            Case("https://example.org/", "__Secure-a=1", "https://example.org/", nil),
            // Paths.
            Case("http://h.org/a/b", "a=1", "http://h.org/a/c", "a=1"),
            Case("http://h.org/a/b", "a=1", "http://h.org/", nil),
            Case("http://h.org/", "a=1; Path=/a", "http://h.org/a", "a=1"),
            Case("http://h.org/", "a=1; Path=/a", "http://h.org/a/b?c", "a=1"),
            Case("http://h.org/", "a=1; Path=/a", "http://h.org/ab", nil),
            Case("http://h.org/x/y", "a=1; Path=a", "http://h.org/x/", "a=1"),
            // Expiry.
            Case("http://h.org/", "a=1; Max-Age=0", "http://h.org/", nil),
            Case(
                "http://h.org/", "a=1; Max-Age=-1; Expires=Wed, 01 Jan 2200 00:00:00 GMT",
                "http://h.org/", nil),
            Case(
                "http://h.org/", "a=1; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
                "http://h.org/", "a=1"),
            Case(
                "http://h.org/", "a=1; Expires=Thu, 01-Jan-1970 00:00:01 GMT", "http://h.org/", nil),
            Case("http://h.org/", "a=1; Expires=no date", "http://h.org/", "a=1"),
            Case("http://h.org/", "a=1; Max-Age=999999999999999999999", "http://h.org/", "a=1"),
            // Syntax.
            Case("http://h.org/", "  a = 1 2 ; Path=/", "http://h.org/", "a=1 2"),
            Case("http://h.org/", "a=b=c", "http://h.org/", "a=b=c"),
            Case("http://h.org/", "alone", "http://h.org/", "alone"),
            Case("http://h.org/", "=", "http://h.org/", nil),
            Case("http://h.org/", "a=\u{1}", "http://h.org/", nil),
            Case("http://h.org/", "a=" + String(repeating: "x", count: 4096), "http://h.org/", nil),
        ])
    func scope(_ row: Case) throws {
        #expect(try sent(jar(row.from, row.field), row.to) == row.sent)
    }

    @Test(
        "C14 longer paths are sent first, then older cookies; a newer cookie replaces an older one")
    func order() throws {
        let jar = try jar(
            "http://h.org/a/b", "x=1; Path=/", "y=2; Path=/", "z=3; Path=/a", "x=4; Path=/")
        #expect(try sent(jar, "http://h.org/a") == "z=3; x=4; y=2")
        try take(["x=; Path=/; Max-Age=0"], "http://h.org/", into: jar)
        #expect(try sent(jar, "http://h.org/a") == "z=3; y=2")
    }

    @Test("C14 a cookie is sent until it expires, and no longer")
    func ends() throws {
        let jar = try jar("http://h.org/", "a=1; Max-Age=60", "s=1")
        clock.advance(by: .milliseconds(59_000))
        #expect(try sent(jar, "http://h.org/") == "a=1; s=1")
        clock.advance(by: .milliseconds(2_000))
        #expect(try sent(jar, "http://h.org/") == "s=1" && jar.all.map(\.name) == ["s"])
    }

    @Test("SEC-U8 a plain connection does not change cookies set over TLS")
    func secureStays() throws {
        let jar = try jar("https://h.org/", "a=1; Secure; Path=/")
        try take(["a=2; Path=/", "a=; Max-Age=0; Path=/"], "http://h.org/", into: jar)
        #expect(try sent(jar, "https://h.org/") == "a=1")
    }

    /// A cookie of the parent domain, planted over a plain connection, was sent with it.
    @Test(
        "SEC-U8 a plain connection cannot set a cookie that shadows one of another domain over TLS",
        arguments: [
            (
                "https://h.org/", "a=1; Secure; Domain=h.org; Path=/", "http://b.h.org/", "a=2",
                false
            ),
            (
                "https://b.h.org/", "a=1; Secure; Path=/", "http://c.h.org/", "a=2;Domain=h.org",
                false
            ),
            ("https://b.h.org/", "a=1; Secure; Path=/", "http://h.org/", "a=2;Domain=h.org", false),
            ("https://h.org/", "a=1; Secure; Path=/x", "http://h.org/", "a=2; Path=/x/y", false),
            // Others are kept: by name, by domain, by path, plain ones, and expired ones.
            ("https://h.org/", "a=1; Secure; Domain=h.org; Path=/", "http://b.h.org/", "b=2", true),
            ("https://b.h.org/", "a=1; Secure; Path=/", "http://c.h.org/", "a=2", true),
            ("https://b.h.org/", "a=1; Secure; Path=/", "http://xb.h.org/", "a=2", true),
            ("https://h.org/", "a=1; Secure; Path=/x", "http://h.org/", "a=2; Path=/", true),
            ("https://h.org/", "a=1; Secure; Path=/x", "http://h.org/", "a=2; Path=/xy", true),
            ("https://h.org/", "a=1; Domain=h.org; Path=/", "http://b.h.org/", "a=2", true),
            ("https://h.org/", "a=1; Secure; Max-Age=5; Path=/", "http://h.org/", "a=2", true),
        ])
    func secureAround(
        secure: String, kept: String, plain: String, field: String, isTaken: Bool
    ) throws {
        let jar = try jar(secure, kept)
        if kept.contains("Max-Age") { clock.advance(by: .milliseconds(6000)) }
        try take([field], plain, into: jar)
        #expect(jar.all.contains { $0.value == "2" } == isTaken)
        // Over TLS any server of the domain may set it.
        try take([field], plain.replacingOccurrences(of: "http:", with: "https:"), into: jar)
        #expect(jar.all.contains { $0.value == "2" })
    }

    @Test(
        "SEC-U8 a domain has room for 50 cookies and the jar for 3,000; the least recently used go")
    func eviction() throws {
        let jar = CookieJar(clock: clock)
        for index in 0..<60 { try take(["c\(index)=1"], "http://h.org/", into: jar) }
        #expect(jar.all.count == 50 && jar.all.first?.name == "c10")
        for host in 0..<100 {
            for index in 0..<40 { try take(["c\(index)=1"], "http://h\(host).org/", into: jar) }
        }
        #expect(jar.all.count <= 3000 && jar.all.count > 2500)
        #expect(try sent(jar, "http://h99.org/") != nil && sent(jar, "http://h.org/") == nil)
        let many = (0..<200).map { "m\($0)=1; Path=/" }
        try take(many, "http://many.org/", into: jar)
        #expect(jar.all.filter { $0.domain == "many.org" }.count == 50)
    }

    @Test("SEC-U8 no header causes a trap")
    func garbage() throws {
        let pieces = [
            "", ";", "=", "a", "Domain=", "Path=", "Max-Age=", "Expires=", ".", "-", "9999999999",
            "é", " ", "\t", "Secure", "co.uk", "/", "1:2:3", "Jan", "31",
        ]
        let jar = CookieJar(clock: clock)
        for _ in 0..<20_000 {
            let text = (0..<Int.random(in: 0..<14)).map { _ in pieces.randomElement() ?? "" }
            try take([text.joined()], "http://a.co.uk/x", into: jar)
        }
        _ = try sent(jar, "http://a.co.uk/x")
        #expect(PublicSuffix.isKnown)
    }

    @Test("C14 a file that curl reads contains all cookies, and restores them")
    func file() throws {
        let path = NSTemporaryDirectory() + "wherry-cookies-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: path) }
        let jar = try jar(
            "https://a.example.org/x/y", "host=1",
            "wide=2; Domain=example.org; Path=/; Max-Age=600",
            "s=3; Secure; HttpOnly; Path=/", "empty=; Path=/")
        try jar.save(to: path)
        let about = try FileManager.default.attributesOfItem(atPath: path)
        #expect((about[.posixPermissions] as? NSNumber)?.intValue == 0o600)
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(text.contains("\n.example.org\tTRUE\t/\tFALSE\t"))
        #expect(text.contains("\n#HttpOnly_a.example.org\tFALSE\t/\tTRUE\t0\ts\t3\n"))
        let copy = CookieJar(clock: clock)
        try copy.load(from: path)
        #expect(copy.all.sorted { $0.name < $1.name } == jar.all.sorted { $0.name < $1.name })
        try jar.save(to: path, sessions: false)
        let kept = CookieJar(clock: clock)
        try kept.load(from: path)
        #expect(kept.all.map(\.name) == ["wide"])
        #expect(throws: WherryError.self) { try kept.load(from: path + ".none") }
        try Data("nonsense\n.co.uk\tTRUE\t/\tFALSE\t0\ta\t1\n\u{FF}\n".utf8).write(
            to: URL(fileURLWithPath: path))
        try kept.load(from: path)
        #expect(kept.all.count == 1)
    }
}
