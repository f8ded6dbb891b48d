// Wherry: tests of .netrc files
// SPDX-License-Identifier: Apache-2.0

import Testing
import WherrySystem
import WherryTransport

@testable import WherryHTTP

@Suite struct NetrcTests {
    private func found(_ text: String, _ url: String, isRequestedOrigin: Bool = true) throws
        -> String?
    {
        let known = try Netrc(Array(text.utf8)).credentials(
            at: try HTTPURL(url).origin, isRequestedOrigin: isRequestedOrigin)
        return known.map { "\($0.user):\($0.password)" }
    }

    @Test("R20 a host is found in every form that curl reads")
    func forms() throws {
        let text = """
            # machine h.org login comment password no
            machine h.org login skye password p1
            machine\tOther.ORG
              login "two words"
              account unused
              password "q\\"\\\\uote"

            macdef init
            machine h.org login macro password no
            put a b

            machine ::1 login six password p6
            machine [2001:db8::1] login seven password p7
            machine bücher.example login machine password login
            machine h.org login second password no
            machine nobody.org
            machine only.org password alone
            default login anonymous password me@h.org
            """
        for (url, expected) in [
            ("http://h.org/", "skye:p1"), ("https://H.org.:8443/a", "skye:p1"),
            ("http://other.org/", #"two words:q"\uote"#), ("http://[::1]:9/", "six:p6"),
            ("http://[2001:db8:0::1]/", "seven:p7"),
            ("http://xn--bcher-kva.example/", "machine:login"), ("http://only.org/", ":alone"),
            ("http://sub.h.org/", "anonymous:me@h.org"),
        ] {
            #expect(try found(text, url) == expected, "\(url)")
        }
    }

    @Test("R20 SEC-U3 default applies to the host of the URL, and not after a redirect")
    func fallback() throws {
        let text = "machine h.org login a password b default login c password d"
        #expect(try found(text, "http://x.org/") == "c:d")
        #expect(try found(text, "http://x.org/", isRequestedOrigin: false) == nil)
        #expect(try found(text, "http://h.org/", isRequestedOrigin: false) == "a:b")
        #expect(try found("", "http://h.org/") == nil && Netrc([]).isEmpty)
    }

    @Test(
        "R20 an error names the line, and never a word of the file",
        arguments: [
            ("machine h.org\nlogin a\npasword s3cret", 3), ("login a password s3cret", 1),
            ("machine h.org login a password", 1), ("\n\nmachine", 3),
            ("machine h.org\n login \"a\n password s3cret\"", 2),
            ("machine h.org login s3:cret password p", 1), ("machine a/b login a password p", 1),
            ("machine h.org:80 login a password p", 1),
            ("machine h.org login a password \"s3cret\\n\"", 1),
            ("# c\nmachine h.org login a password s3cret s3cret2", 2),
            ("macdef m\nx\n\nmachine h.org login a passwd s3cret", 4),
        ])
    func errors(text: String, line: Int) throws {
        let error = try #require(throws: Netrc.Failure.self) { try Netrc(Array(text.utf8)) }
        #expect(error.line == line)
        #expect(!error.cause.contains("s3") && error.cause.hasSuffix("."), "\(error.cause)")
    }

    @Test("R20 no bytes cause a trap")
    func garbage() {
        let words: [String] = [
            "machine", "default", "login", "password", "macdef", "\"", "\\", "\n", "\n\n", " ", "#",
            "h.org", "é",
        ]
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<5_000 {
            let text = (0..<Int.random(in: 0..<20)).map { _ in
                words.randomElement(using: &generator)!
            }
            _ = try? Netrc(Array(text.joined(separator: Bool.random() ? " " : "").utf8))
        }
        _ = try? Netrc([0xEF, 0xBB, 0xBF, 0xFF, 0x22])
        #expect(throws: Netrc.Failure.self) {
            try Netrc(Array("machine h.org login ".utf8) + [0xFF])
        }
    }
}
