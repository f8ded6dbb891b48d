// Wherry: tests of the grammar of request headers.
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WherryHTTP

@Suite struct FieldRulesTests {
    static let everyByte = (UInt8.min...UInt8.max).map { $0 }
    static let tokenBytes = Set(
        "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)

    @Test("SEC-U1 a name accepts every token byte and no other, at any position")
    func everyByteInName() throws {
        for byte in Self.everyByte {
            for name in [[byte], [byte, 0x61], [0x61, byte, 0x62], [0x61, byte]] {
                let violation = FieldRules.violation(name: name)
                #expect((violation == nil) == Self.tokenBytes.contains(byte), "byte \(byte)")
                #expect(violation.map { $0.reason == "bad_header" } ?? true)
            }
        }
    }

    @Test("SEC-U1 a method accepts every token byte and no other, at any position")
    func everyByteInMethod() throws {
        for byte in Self.everyByte {
            for method in [[byte], [byte, 0x47], [0x47, byte, 0x45], [0x47, byte]] {
                let violation = FieldRules.violation(method: method)
                #expect((violation == nil) == Self.tokenBytes.contains(byte), "byte \(byte)")
                #expect(violation.map { $0.reason == "bad_method" } ?? true)
            }
        }
    }

    @Test("SEC-U1 a value accepts every byte except control characters; the tab is allowed")
    func everyByteInValue() {
        for byte in Self.everyByte {
            let allowed = byte == 9 || byte >= 0x20 && byte != 0x7F
            for value in [[byte], [byte, 0x61], [0x61, byte, 0x62], [0x61, byte]] {
                let violation = FieldRules.violation(name: "x-a".utf8, value: value)
                #expect((violation == nil) == allowed, "byte \(byte)")
            }
        }
    }

    @Test("SEC-U1 a media type accepts no control character and no broken grammar")
    func mediaTypes() {
        for byte in Self.everyByte where byte != 9 && (byte < 0x20 || byte == 0x7F) {
            let type = Array("text/plain; a=\"".utf8) + [byte] + Array("\"".utf8)
            #expect(FieldRules.violation(mediaType: type)?.reason == "bad_header", "byte \(byte)")
        }
        #expect(FieldRules.violation(mediaType: "text/plain; charset=utf-8".utf8) == nil)
        #expect(FieldRules.violation(mediaType: "text".utf8)?.reason == "bad_header")
    }

    @Test("Empty names and methods are refused, an empty value is not")
    func empty() {
        #expect(FieldRules.violation(name: "", value: "x")?.reason == "bad_header")
        #expect(FieldRules.violation(method: "")?.reason == "bad_method")
        #expect(FieldRules.violation(name: "x", value: "") == nil)
    }

    @Test(
        "Methods that open a tunnel or echo credentials are refused",
        arguments: ["CONNECT", "TRACE", "connect", "Trace"])
    func notSent(method: String) {
        #expect(FieldRules.violation(method: method)?.reason == "bad_method")
        #expect(FieldRules.violation(method: method + "S") == nil)
    }

    @Test(
        "SEC-U11 framing headers are refused in any case",
        arguments: [
            "Content-Length", "transfer-encoding", "Connection", "EXPECT",
        ])
    func reserved(name: String) {
        #expect(FieldRules.violation(name: name, value: "1")?.reason == "bad_header")
    }

    @Test(
        "SEC-U11 the value of Host is a host with an optional port",
        arguments: ["Host", "host", "HOST"])
    func hosts(name: String) {
        for value in [
            "example.org", "EXAMPLE.org.", "a_b-c.d", "example.org:1", "example.org:65535",
            "192.0.2.1:80",
            "[::1]", "[2001:db8::1]:443",
        ] {
            #expect(FieldRules.violation(name: name, value: value) == nil, "\(value)")
        }
        for value in [
            "", ":80", "a:", "a:0", "a:65536", "a:123456", "a:8a", "a b", "a,b", "a/b", "u@a",
            "a?b", "a#b",
            "a%41", "bücher.example", "::1", "[::1", "[]", "[::1]a", "[1.2.3.4]", "[fe80::1%eth0]",
            "a\r\nX: y",
            String(repeating: "a", count: 256),
        ] {
            #expect(
                FieldRules.violation(name: name, value: value)?.reason == "bad_header", "\(value)")
        }
    }

    @Test(
        "Names that only look reserved are allowed", arguments: ["Hosts", "X-Host", "Content-Type"])
    func notReserved(name: String) {
        #expect(FieldRules.violation(name: name, value: "1") == nil)
    }

    @Test("The message escapes the name, gives the position, and hides the value")
    func sentences() throws {
        let name = try #require(FieldRules.violation(name: "X-A\r\nB\"é", value: "v"))
        #expect(
            name.message
                == "The header name \"X-A\\x0D\\x0AB\\x22\\xC3\\xA9\" has a carriage return at position 3."
        )
        let value = try #require(FieldRules.violation(name: "Authorization", value: "secret\u{0}"))
        #expect(
            value.message
                == "The value of the header field \"Authorization\" has a NUL byte at position 6.")
        let method = try #require(
            FieldRules.violation(method: String(repeating: "A", count: 100) + "\u{1}"))
        #expect(method.message.contains("AAAA...\" has the byte 0x01 at position 100."))
        #expect(method.message.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F })
    }
}
