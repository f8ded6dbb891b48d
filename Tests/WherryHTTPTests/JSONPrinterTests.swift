// Wherry: tests of writing JSON text.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import WherryHTTP

@Suite struct JSONPrinterTests {
    private func text(_ value: JSON, _ style: JSONStyle = .compact) throws -> String {
        String(decoding: try value.printed(style), as: UTF8.self)
    }

    @Test("Compact text has no spaces and keeps the order of names")
    func compact() throws {
        let value: JSON = ["b": [1, 2.5, true, nil, "x/y"], "a": ["c": [:], "d": []], "e": 5.0]
        #expect(
            try text(value) == #"{"b":[1,2.5,true,null,"x/y"],"a":{"c":{},"d":[]},"e":5.0}"#)
        #expect("\(value)" == (try text(value)))
    }

    @Test("Control characters, quotes, and backslashes are escaped, and no other character")
    func escapes() throws {
        let all = String(String.UnicodeScalarView((0..<0x21).compactMap { Unicode.Scalar($0) }))
        #expect(
            try text(.string(all))
                == #""\u0000\u0001\u0002\u0003\u0004\u0005\u0006\u0007\b\t\n\u000b\f\r\u000e\u000f"#
                + #"\u0010\u0011\u0012\u0013\u0014\u0015\u0016\u0017\u0018\u0019\u001a\u001b\u001c"#
                + #"\u001d\u001e\u001f ""#)
        #expect(try text("\"\\/\u{7F}é\u{2028}😀") == "\"\\\"\\\\/\u{7F}é\u{2028}😀\"")
        #expect(try text(["a\"\n": 1]) == #"{"a\"\n":1}"#)
    }

    @Test("Pretty text has two spaces per level, sorted names, and escaped slashes")
    func pretty() throws {
        let value: JSON = ["type": "a/b", "key": ["x": [1, 2.0], "w": [:], "v": []], "Z": nil]
        #expect(
            try text(value, .pretty) == """
                {
                  "Z" : null,
                  "key" : {
                    "v" : [

                    ],
                    "w" : {

                    },
                    "x" : [
                      1,
                      2
                    ]
                  },
                  "type" : "a\\/b"
                }
                """)
        #expect(try text([:], .pretty) == "{\n\n}")
        #expect(try text([], .pretty) == "[\n\n]")
        #expect(try text("a/b", .pretty) == "\"a\\/b\"")
    }

    @Test("Pretty text matches Foundation's output")
    func likeFoundation() throws {
        let texts = [
            "[]", "{}", "[[],{}]", #"{"a":{"b":[{}]},"c":[[[]]]}"#,
            #"{"key":"0c60","type":"top"}"#, #"[1,-5,0.5,5.25,1e21,true,false,null]"#,
            #"{"u":"http://h/ü€😀\"\\\b\f\n\r\t\u0001\u001f\u007f"}"#,
            #"{"b":1,"a":2,"c":[{"z":1,"y":"x"}],"d":"","e":9007199254740993}"#,
        ]
        for source in texts {
            let object = try JSONSerialization.jsonObject(with: Data(source.utf8))
            let expected = try JSONSerialization.data(
                withJSONObject: object, options: [.prettyPrinted, .sortedKeys])
            #expect(
                try text(try JSON.parse(source), .pretty)
                    == String(decoding: expected, as: UTF8.self))
        }
    }

    @Test("Names are sorted by their bytes")
    func order() throws {
        let value: JSON = ["ä": 1, "a10": 2, "B": 3, "a2": 4, "a": 5, "": 6, "\u{FFFD}": 7, "😀": 8]
        let names = try text(value, .pretty).split(separator: "\n").compactMap {
            $0.split(separator: "\"", omittingEmptySubsequences: false).dropFirst().first
        }
        #expect(names == ["", "B", "a", "a10", "a2", "ä", "\u{FFFD}", "😀"])
    }

    @Test("R8 NaN and the infinities are refused", arguments: [Double.nan, .infinity, -.infinity])
    func notFinite(number: Double) {
        for value: JSON in [.double(number), [1, .double(number)], ["a": .double(number)]] {
            for style in [JSONStyle.compact, .pretty] {
                let error = #expect(throws: JSONError.self) { try value.printed(style) }
                #expect(error?.reason == "bad_parameters")
            }
        }
    }

    @Test("Printed text parses back as the same value")
    func roundTrip() throws {
        let value: JSON = [
            "i": .integer(.min), "u": .unsigned(.max), "d": 0.1, "e": 1e300, "f": -0.0,
            "z": .double(.leastNonzeroMagnitude),
            "s": "\u{0}\"\\/é\u{10FFFF}", "a": [[], [[:]], nil, true], "": ["": ""],
        ]
        #expect(try JSON.parse(try value.printed()) == value)
    }

    @Test("R12 null members are removed at every depth, nulls in arrays stay")
    func nulls() throws {
        let value: JSON = ["a": nil, "b": ["c": nil, "d": 1], "e": [nil, ["f": nil]], "g": [:]]
        #expect(value.removingNullMembers() == ["b": ["d": 1], "e": [nil, [:]], "g": [:]])
        #expect(JSON.null.removingNullMembers() == .null)
    }

    @Test("Objects are equal whatever the order of their names")
    func equality() {
        let a: JSON = ["x": 1, "y": [2, 3]]
        let b: JSON = ["y": [2, 3], "x": 1]
        #expect(a == b && a.hashValue == b.hashValue)
        #expect(a != ["x": 1, "y": [3, 2]] && a != ["x": 1] && a != ["x": 1, "z": [2, 3]])
    }
}
