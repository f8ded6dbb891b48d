// Wherry: tests of parsing JSON text.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import WherrySystem

@testable import WherryHTTP

@Suite struct JSONParserTests {
    @Test(
        "Every kind of value is parsed",
        arguments: [
            ("null", .null), (" true\n", .bool(true)), ("false", .bool(false)), ("0", .integer(0)),
            ("\t-12\r", .integer(-12)), ("\"\"", .string("")), ("[]", .array([])), ("{}", [:]),
            ("[1,[2],{\"a\":null}]", [1, [2], ["a": nil]]), ("\u{FEFF}1", .integer(1)),
            (" { \"a\" : [ ] , \"b\" : { } } ", ["a": [], "b": [:]]),
        ] as [(String, JSON)])
    func values(text: String, expected: JSON) throws {
        #expect(try JSON.parse(text) == expected)
    }

    @Test(
        "Integers are exact to 64 bits, larger ones become doubles",
        arguments: [
            ("9007199254740993", .integer(9_007_199_254_740_993)),
            ("9223372036854775807", .integer(.max)), ("-9223372036854775808", .integer(.min)),
            ("9223372036854775808", .unsigned(9_223_372_036_854_775_808)),
            ("18446744073709551615", .unsigned(.max)),
            ("18446744073709551616", .double(18_446_744_073_709_551_616)),
            ("-9223372036854775809", .double(-9_223_372_036_854_775_808)),
            ("-0", .double(-0.0)),
        ] as [(String, JSON)])
    func integers(text: String, expected: JSON) throws {
        let value = try JSON.parse(text)
        #expect(value == expected)
        if case .double = value { return }
        #expect(String(decoding: try value.printed(), as: UTF8.self) == text)
    }

    @Test("Doubles are the nearest to the text, like strtod")
    func doubles() throws {
        let texts = [
            "0.1", "1.5", "-2.5e-3", "1E5", "1e+22", "1e23", "123456789012345678e-5", "5e-324",
            "2.2250738585072014e-308", "2.2250738585072011e-308", "1.7976931348623157e308",
            "9007199254740993.0", "0.3e-22", "0.000001", "1e-400", "0e999999999999999999999",
            "8.98846567431158e307", "3.141592653589793238462643383279502884197",
            "0." + String(repeating: "0", count: 400) + "1",
            "1" + String(repeating: "0", count: 300) + ".5",
        ]
        for text in texts {
            guard case .double(let value) = try JSON.parse(text) else {
                Issue.record("\(text) is no double")
                continue
            }
            #expect(value.bitPattern == strtod(text, nil).bitPattern, "\(text)")
        }
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<2_000 {
            let value = Double(bitPattern: generator.next())
            guard value.isFinite else { continue }
            #expect(try JSON.parse("\(value)").number() == value)
        }
    }

    @Test("Escapes and UTF-8 become text")
    func texts() throws {
        let escapes = #""\"\\\/\b\f\n\r\t\u0041\u00e9\u20AC\ud83d\ude00\u0000x""#
        #expect(try JSON.parse(escapes) == .string("\"\\/\u{8}\u{C}\n\r\tAé€😀\0x"))
        #expect(try JSON.parse("\"é€😀\u{7F}\u{10FFFF}\"") == .string("é€😀\u{7F}\u{10FFFF}"))
        #expect(try JSON.parse("\"é\\n😀\"") == .string("é\n😀"))
    }

    @Test("Of a repeated name the last value counts; equal-looking names are two")
    func names() throws {
        let twice = try JSON.parse(#"{"a":1,"b":2,"a":3}"#)
        #expect(twice.object()?.names == ["a", "b"])
        #expect(twice.integer(at: "a") == 3)
        let accents = try JSON.parse("{\"\u{E9}\":1,\"e\u{301}\":2}")
        #expect(accents.count() == 2)
        #expect(accents.integer(at: "\u{E9}") == 1 && accents.integer(at: "e\u{301}") == 2)
        let many = (0..<1_000).map { "\"n\($0 % 500)\":\($0)" }.joined(separator: ",")
        let object = try #require(try JSON.parse("{\(many)}").object())
        #expect(object.names == (0..<500).map { "n\($0)" })
        #expect(object.allSatisfy { object[$0.name] == $0.value })
        #expect(object["n7"] == 507)
    }

    @Test(
        "Invalid JSON text is refused at its byte",
        arguments: [
            ("", 0), ("  ", 2), ("nul", 3), ("nulL", 3), ("True", 0), ("1 2", 2), ("[", 1),
            ("[1", 2), ("[1,", 3), ("[1,]", 3), ("[,1]", 1), ("[1 2]", 3), ("]", 0), ("{", 1),
            ("{\"a\"", 4), ("{\"a\" 1}", 5), ("{\"a\":", 5), ("{\"a\":}", 5), ("{\"a\":1", 6),
            ("{\"a\":1,", 7), ("{\"a\":1,}", 7), ("{a:1}", 1), ("{1:1}", 1),
            ("{\"a\":1 \"b\":2}", 7),
            ("01", 1), ("-", 1), ("-a", 1), ("+1", 0), (".5", 0), ("1.", 2), ("1.e5", 2), ("1e", 2),
            ("1e+", 3), ("0x10", 1), ("-01", 2), ("NaN", 0), ("-Infinity", 1), ("1e400", 0),
            ("[-1e999]", 1), ("'a'", 0), ("\"a", 2), ("\"\\", 2), ("\"\\x\"", 1), ("\"\\u12\"", 6),
            ("\"\\u12g4\"", 5), ("\"a\nb\"", 2), ("\"\u{0}\"", 1), ("\"\u{1F}\"", 1),
            ("\"\\ud800\"", 1), ("\"\\udc00\"", 1), ("\"\\ud800\\u0041\"", 1),
            ("\"\\ud800x\"", 1), ("\"x\\ud83d\\ud83d\"", 2), ("\"\\u123", 6),
            ("/* */1", 0), ("1//", 1), ("\u{FEFF}\u{FEFF}1", 3), ("\u{A0}1", 0), ("1\u{0}", 1),
        ])
    func refused(text: String, offset: Int) {
        let error = #expect(throws: JSONError.self) { try JSON.parse(text) }
        #expect(error?.reason == "bad_json")
        #expect(error?.offset == offset, "\(error?.message ?? "")")
        #expect(error?.message.contains("at byte \(offset)") == true)
    }

    @Test(
        "Bytes that are not UTF-8 are refused at the first of them",
        arguments: [
            ([0x80], 0), ([0x61, 0xFF], 1), ([0xC0, 0xAF], 0), ([0xE0, 0x80, 0xAF], 0),
            ([0xED, 0xA0, 0x80], 0), ([0xF4, 0x90, 0x80, 0x80], 0), ([0x61, 0xE2, 0x82], 1),
            ([0x61, 0xC3], 1), ([0x5C, 0x6E, 0x62, 0xC3], 3),
        ] as [([UInt8], Int)])
    func notUTF8(bytes: [UInt8], offset: Int) {
        let error = #expect(throws: JSONError.self) { try JSON.parse([0x22] + bytes + [0x22]) }
        #expect(error?.reason == "bad_json" && error?.offset == offset + 1)
    }

    @Test("512 levels are parsed, 513 are refused, and a flood of brackets is harmless")
    func depth() throws {
        func nested(_ depth: Int) -> [UInt8] {
            [UInt8](repeating: 0x5B, count: depth) + [UInt8](repeating: 0x5D, count: depth)
        }
        let deepest = try JSON.parse(nested(512))
        #expect(try deepest.printed() == nested(512))
        #expect(!deepest.isDeeper(than: 512) && deepest.isDeeper(than: 511))
        for depth in [513, 2_000_000] {
            let error = #expect(throws: JSONError.self) { try JSON.parse(nested(depth)) }
            #expect(error?.reason == "bad_json" && error?.offset == 512)
        }
        let objects = String(repeating: "{\"a\":", count: 100_000)
        #expect(throws: JSONError.self) { try JSON.parse(objects) }
        #expect(throws: JSONError.self) { try JSON.array([deepest]).printed() }
    }

    @Test("512 levels fit into half of a usual stack, in a debug build too")
    func smallStack() throws {
        let text =
            String(repeating: "[{\"a\":", count: 256) + "1" + String(repeating: "}]", count: 256)
        let outcome = Lock(false)
        let done = DispatchSemaphore(value: 0)
        let runner = Thread {
            let value = try? JSON.parse(text)
            let printed = try? value?.printed(.pretty)
            let same = (try? JSON.parse(printed ?? [])) == value
            outcome.withLock { $0 = same && value?.removingNullMembers() == value }
            done.signal()
        }
        runner.stackSize = 4 << 20
        runner.start()
        #expect(done.wait(timeout: .now() + 60) == .success)
        #expect(outcome.withLock { $0 })
    }

    @Test("Text over the size limit is refused before it is parsed")
    func size() throws {
        let limits = JSONLimits(bytes: 4)
        #expect(try JSON.parse("1234", limits: limits) == 1234)
        let error = #expect(throws: JSONError.self) { try JSON.parse("12345", limits: limits) }
        #expect(error?.reason == "too_large")
    }

    @Test("R12 an empty body and a single space are null")
    func bodies() throws {
        #expect(try JSON.parse(body: Bytes()) == .null)
        #expect(try JSON.parse(body: Bytes(" ")) == .null)
        #expect(try JSON.parse(body: Bytes(#"{"a":null}"#)) == ["a": nil])
        #expect(throws: JSONError.self) { try JSON.parse(body: Bytes("  ")) }
        #expect(throws: JSONError.self) { try JSON.parse(body: Bytes("\n")) }
    }

    @Test("Every prefix of a text is refused, and no flipped byte does harm")
    func damage() throws {
        let text = Array(#"{"a":[1,-2.5e3,"x\u00e9\n€",true,null],"b":{"c":"d"}}"#.utf8)
        #expect(try JSON.parse(text).count() == 2)
        for count in 0..<text.count {
            #expect(throws: JSONError.self) { try JSON.parse(Array(text.prefix(count))) }
        }
        for place in text.indices {
            for byte in UInt8.min...UInt8.max {
                var damaged = text
                damaged[place] = byte
                guard let other = try? JSON.parse(damaged) else { continue }
                #expect(try JSON.parse(try other.printed()) == other)
            }
        }
    }

    /// Swift compares all of these names as equal, and they had one hash: 40,000 of them once took
    /// minutes.
    @Test func `names that differ in the order of their marks are different, and found fast`()
        throws
    {
        let marks: [UInt32] = [0x0316, 0x0334, 0x05B0, 0x0321, 0x0345, 0x3099, 0x094D, 0x0300]
        var text = "{"
        var names: [String] = []
        func permute(_ rest: [UInt32], _ name: String) {
            guard !rest.isEmpty else { return names.append(name) }
            for (index, mark) in rest.enumerated() {
                var rest = rest
                rest.remove(at: index)
                permute(rest, name + (Unicode.Scalar(mark).map { String($0) } ?? ""))
            }
        }
        permute(marks, "a")
        text += names.enumerated().map { "\"\($1)\":\($0)" }.joined(separator: ",") + "}"
        let value = try JSON.parse(Array(text.utf8))
        #expect(value.count() == 40_320)
        #expect(value.object()?[names[777]] == 777)
    }
}
