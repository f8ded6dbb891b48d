// Wherry: tests that the fast path for URLs gives the parser's results.
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WherryTransport

@Suite struct HTTPURLTests {
    /// Every ASCII character at the positions where it might matter.
    static let tails: [String] =
        (0x20...0x7E).flatMap { byte -> [String] in
            let character = String(UnicodeScalar(UInt8(byte)))
            return [
                "a" + character, "a" + character + "b", "a/" + character, "a/" + character + "/b",
                "a/" + character + character + "/b", "a?x" + character,
                "a?x=" + character + character,
                "a/b" + character + ".", "a%2" + character,
            ]
        } + [
            "a", "a/b/c", "a//b", "..a", "a..", "a/..b", "é", "a/天?x", "a%zz", "a/./b", "a/../../b",
        ]

    @Test("A same-origin URL on the fast path equals the parser's result")
    func siblings() throws {
        let near = try HTTPURL("http://127.0.0.1:8080/v1/")
        var short = 0
        for tail in Self.tails {
            let text = "http://127.0.0.1:8080/" + tail
            guard let quick = near.sibling(text) else { continue }
            short += 1
            #expect(try HTTPURL(text).text == quick.text)
            #expect(quick.origin == near.origin)
        }
        #expect(short > 100, "the short way is taken by plain text")
    }

    @Test("A path below a base is joined as the parser joins it")
    func paths() throws {
        let base = try HTTPURL("http://127.0.0.1:8080/v1/")
        // With a colon in its first segment it is a scheme, not a path.
        for tail in Self.tails where !tail.prefix(while: { $0 != "/" && $0 != "?" }).contains(":") {
            let joined = try? base.resolving(tail).text
            // The parser's result for the two concatenated; it is the same for paths below.
            let parsed = try? HTTPURL("http://127.0.0.1:8080/v1/" + tail).text
            #expect(joined == parsed, "\(tail)")
        }
    }

    @Test(
        "The text of a URL in a message contains no secret",
        arguments: [
            ("https://h/a", "https://h/a"),
            ("https://h/a?token=secret", "https://h/a?..."),
            ("https://h/a#secret", "https://h/a#..."),
            ("https://h/a#secret?x", "https://h/a#..."),
            ("https://u:secret@h:99999/a", "https://...@h:99999/a"),
            ("https://u:se@cret@h/", "https://...@h/"),
            ("https://u:secret?b@h/", "https://...?..."),
            ("https://u:secret#b@h/", "https://...#..."),
            ("u:secret@h/a", "...@h/a"),
            ("//u:secret@h/a", "//...@h/a"),
            ("/a/b@c", "/a/b@c"),
            ("https://h/a?mail=a@b", "https://h/a?..."),
            ("", ""),
        ])
    func redacted(text: String, shown: String) {
        #expect(HTTPURL.redacted(text) == shown)
    }

    @Test(
        "No refusal of a URL shows a secret",
        arguments: [
            "https://u:secret@h:99999/", "https://u:secret@h/\\", "https://u:secret@/",
            "ftp://u:secret@h/",
            "https://u:secret@h/", "u:secret@h/a b", "https://h:99999/#secret",
            "https://[h/?secret",
            "/a?secret", "http://h%7Fsecret/", "http://h:x/?secret#secret",
        ])
    func refusals(text: String) {
        do throws(HTTPURL.Invalid) {
            _ = try HTTPURL(text)
            Issue.record("\(text) was taken")
        } catch {
            #expect(!error.message.contains("secret"), "\(error.message)")
            #expect(!error.message.isEmpty)
        }
    }

    @Test(
        "An escaped host that another parser could read as an address is refused",
        arguments: [
            "http://%31072/", "HTTP:/%31072", "http://%30x7f.1/", "http://1%2e2/",
        ])
    func escapedNumbers(text: String) throws {
        #expect(throws: HTTPURL.Invalid.self) { try HTTPURL(text) }
        #expect(throws: HTTPURL.Invalid.self) {
            try HTTPURL("http://h/").resolving("//" + text.split(separator: "/")[1] + "/")
        }
    }

    @Test(
        "One slash before a host, three, or none are parsed in two ways",
        arguments: [
            "http:/h/", "http:///h/", "HTTPS:h/", "http:h", "https:////h/", "http:", "http://",
        ])
    func slashes(text: String) throws {
        #expect(throws: HTTPURL.Invalid.self) { try HTTPURL(text) }
        #expect(throws: HTTPURL.Invalid.self) { try HTTPURL("http://h/").resolving(text) }
        #expect(try HTTPURL("http://h/").resolving("http://i/").text == "http://i/")
        #expect(try HTTPURL("http://h/").resolving("https").text == "http://h/https")
    }

    @Test(
        "An empty reference, and one that is a fragment, lead to the page itself",
        arguments: ["http://h/v1/a?x=1", "http://h/v1/", "https://h/?"])
    func sameDocument(text: String) throws {
        let page = try HTTPURL(text)
        for reference in ["", "#", "#top?x/../y"] {
            #expect(try page.resolving(reference).text == page.text)
        }
        #expect(try page.resolving("?y").text == "\(page.text.prefix { $0 != "?" })?y")
        // Without a scheme that libcurl recognizes, all of it is a path.
        for scheme in ["", String(repeating: "a", count: 64)] {
            let reference = "\(scheme)://a\"b"
            let whole = try page.resolving("x").text.dropLast() + "\(scheme)://a%22b"
            #expect(try page.resolving(reference).text == whole)
        }
    }

    @Test(
        "Escapes elsewhere, and in the name of a host, are allowed",
        arguments: [
            ("http://127.0.0.1/a%20b?c=%31", "http://127.0.0.1/a%20b?c=%31"),
            ("http://127.0.0.1?a b", "http://127.0.0.1/?a%20b"),
            (
                "http://127.0.0.1/<a>?u=http://h/\"b c",
                "http://127.0.0.1/%3Ca%3E?u=http://h/%22b%20c"
            ),
            ("http://1072/%61", "http://0.0.4.48/%61"),
            ("http://%65xample.com/", "http://example.com/"),
            ("http://[::1]/%61", "http://[::1]/%61"), ("http://%2531072/", "http://%2531072/"),
        ])
    func escapes(text: String, whole: String) throws {
        #expect(try HTTPURL(text).text == whole)
        #expect(try HTTPURL("http://h/").resolving(text).text == whole)
    }

    @Test(
        "Only same-origin URLs take the fast path",
        arguments: [
            "http://127.0.0.1:8081/a", "http://127.0.0.1:80800/a", "https://127.0.0.1:8080/a",
            "http://127.0.0.1:8080", "http://127.0.0.1:8080@evil/a", "http://127.0.0.1:8080.evil/a",
            "http://127.0.0.1:8080\\a", "http://127.0.0.1:8080?a", "HTTP://127.0.0.1:8080/a", "",
        ])
    func others(text: String) throws {
        #expect(try HTTPURL("http://127.0.0.1:8080/v1/").sibling(text) == nil)
    }

    @Test(
        "An international name becomes ASCII, whatever the locale",
        arguments: [
            ("http://bücher.example/ü", "http://xn--bcher-kva.example/%c3%bc"),
            ("http://BU\u{308}CHER.example/", "http://xn--bcher-kva.example/"),
            ("http://b%C3%BCcher.example/", "http://xn--bcher-kva.example/"),
            ("https://例え。テスト:8443/a", "https://xn--r8jz45g.xn--zckzah:8443/a"),
            ("http://straße.example/", "http://xn--strae-oqa.example/"),
        ])
    func internationalNames(text: String, whole: String) throws {
        #expect(try HTTPURL(text).text.lowercased() == whole)
        #expect(try HTTPURL("http://h/").resolving(text).text.lowercased() == whole)
        #expect(HTTPURL.hostName("bücher.example") == "xn--bcher-kva.example")
    }

    @Test(
        "A host with a port but without a scheme is refused with the URLs to write",
        arguments: ["localhost:80/a", "example.org:8080", "example.org:8443/a:b"])
    func missingScheme(text: String) throws {
        let absolute = #expect(throws: HTTPURL.Invalid.self) { try HTTPURL(text) }
        let base = try HTTPURL("http://h/")
        let joined = #expect(throws: HTTPURL.Invalid.self) { try base.resolving(text) }
        for error in [absolute, joined] {
            #expect(
                error?.message.contains("has no scheme. Write http://\(text) or https://") == true)
        }
    }

    @Test(
        "Other texts with a colon are not said to lack a scheme",
        arguments: [
            "http:", "https:80/a", "http:////a", "tel:555", "mailto:1@h.org", "h.org:123456/",
            "user:12345@h.org/", "h.org:80@x/",
        ])
    func otherColons(text: String) throws {
        let error = #expect(throws: HTTPURL.Invalid.self) { try HTTPURL(text) }
        #expect(error?.message.contains("no scheme") == false)
    }

    @Test(
        "A name with characters that represent a slash or a number is refused",
        arguments: [
            "http://a\u{2100}b.example/", "http://\u{FF11}27.1/", "http://xn--\u{FC}.example/",
        ])
    func treacherousNames(text: String) throws {
        #expect(throws: HTTPURL.Invalid.self) { try HTTPURL(text) }
    }
}
