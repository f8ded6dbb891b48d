// Wherry: tests of the URLs that a rule of a stub matches
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WherryTransport

@Suite struct StubPatternTests {
    private func matches(_ pattern: String, _ url: String) throws -> Bool {
        StubPattern(pattern).matches(try #require(StubPattern.parts(url)))
    }

    @Test(
        "R39 a pattern matches URLs",
        arguments: [
            ("*", "http://h/"), ("http://h/a", "http://h/a"), ("HTTP://H/a", "http://h/a"),
            ("http://h", "http://h/"), ("http://h/a*", "http://h/abc?d=1"),
            ("https://*", "https://example.org:8080/a"), ("http*://h/*", "https://h/a/b"),
            ("https://*.Example.org/*", "https://a.b.example.org/"),
            ("http://*:8080/*", "http://h:8080/x"), ("http://h:*", "http://h:1/x"),
            ("*/a*c", "http://h/abcbc"), ("http://h/*b*b", "http://h/abab"),
        ])
    func matching(pattern: String, url: String) throws {
        #expect(try matches(pattern, url))
    }

    @Test(
        "R39 a pattern matches no other URLs",
        arguments: [
            ("http://h/a", "http://h/A"), ("http://h/a", "http://h/ab"),
            ("http://h/", "https://h/"),
            // A path that looks like the host.
            ("http://*.example.org/*", "http://evil/x.example.org/"),
            ("http://*:8080/*", "http://h/a:8080/b"),
            ("http://h/a*a", "http://h/a"), ("http://h/*b*b", "http://h/ab"),
        ])
    func differing(pattern: String, url: String) throws {
        #expect(try !matches(pattern, url))
    }
}
