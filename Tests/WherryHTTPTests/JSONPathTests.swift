// Wherry: tests of reading and writing JSON by paths.
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WherryHTTP

@Suite struct JSONPathTests {
    static let sample: JSON = [
        "data": ["items": [["name": "a"], ["name": "b"]], "": "unreachable"],
        "a/b": ["~": 1, "~1": 2, "x~y": 3], "big": .integer(9_007_199_254_740_993), "0": "zero",
    ]

    @Test(
        "O9 a path leads through names and indexes",
        arguments: [
            ("data/items/0/name", "a"), ("/data//items/1/name/", "b"), ("0", "zero"),
            ("a~1b/~0", 1), ("a~1b/~01", 2), ("a~1b/x~y", 3), ("a~1b/~", 1), ("a~1b/~~1", nil),
            ("data/items/2", nil), ("data/items/-", nil), ("data/items/00", nil),
            ("data/items/-1", nil), ("data/items/name", nil), ("data/nothing/x", nil),
            ("big/x", nil), ("data/items/99999999999999999999", nil),
        ] as [(String, JSON?)])
    func lookup(path: String, expected: JSON?) {
        #expect(Self.sample.value(at: path) == expected)
    }

    @Test("O9 the empty path is the value itself")
    func root() {
        for path in ["", "/", "//"] { #expect(Self.sample.value(at: path) == Self.sample) }
        #expect(JSON.integer(7).integer() == 7)
        #expect(Self.sample.count() == 4 && Self.sample.count(at: "data/items") == 2)
        #expect(Self.sample.count(at: "big") == 0 && Self.sample.count(at: "no") == 0)
        #expect(Self.sample.object()?.names == ["data", "a/b", "big", "0"])
        #expect(Self.sample.array(at: "data/items")?.count == 2)
        #expect(Self.sample.array(at: "data") == nil && Self.sample.object(at: "big") == nil)
        #expect(JSON.null.isNull && JSON.null.kind == .null && JSON(1.5).kind == .number)
    }

    @Test(
        "O9 bools: y, Y, t, T, and 1 start a true text",
        arguments: [
            (true, true), (false, false), (1, true), (0, false), (-2, true), (0.5, true),
            (0.0, false),
            ("yes", true), ("Y", true), ("true", true), ("T", true), ("1", true), ("12", true),
            ("no", false), ("false", false), ("0", false), ("", false), (" y", false),
            (nil, nil), ([], nil), ([:], nil),
        ] as [(JSON, Bool?)])
    func bools(value: JSON, expected: Bool?) {
        #expect(value.bool() == expected)
    }

    @Test(
        "O9 integers are exact or missing",
        arguments: [
            (12, 12), (.integer(.max), .max), (.unsigned(.max), nil), (2.0, 2), (2.5, nil),
            (.double(.nan), nil), (.double(1e300), nil), ("12", 12), ("-9223372036854775808", .min),
            ("9223372036854775808", nil), ("9007199254740993", 9_007_199_254_740_993),
            ("1e3", 1000), (.double(9_007_199_254_740_991), 9_007_199_254_740_991),
            // Another number may have been written.
            (.double(9_007_199_254_740_992), nil), (.double(-9_223_372_036_854_775_808), nil),
            ("-9223372036854775809", nil), ("9007199254740993.0", nil),
            ("9223372036854775807.5", nil),
            ("1.5", nil), ("", nil), ("x", nil), (" 1", nil), ("0x10", nil), ("nan", nil),
            (true, nil), (nil, nil), ([1], nil),
        ] as [(JSON, Int64?)])
    func integers(value: JSON, expected: Int64?) {
        #expect(value.integer() == expected)
    }

    @Test(
        "O9 numbers come from numbers and from text",
        arguments: [
            (12, 12), (.unsigned(.max), 18_446_744_073_709_551_616), (2.5, 2.5), ("2.5", 2.5),
            ("-1e3", -1000), ("inf", nil), ("infinity", nil), ("nan", nil), ("0x1p3", nil),
            ("1e999", nil), ("", nil), ("1 ", nil), (false, nil), (nil, nil),
        ] as [(JSON, Double?)])
    func numbers(value: JSON, expected: Double?) {
        #expect(value.number() == expected)
    }

    @Test(
        "O9 text comes from text and from numbers, integers exactly",
        arguments: [
            ("x", "x"), (12, "12"), (.integer(9_007_199_254_740_993), "9007199254740993"),
            (.unsigned(.max), "18446744073709551615"), (2.5, "2.5"), (5.0, "5"),
            (.double(.nan), nil), (true, nil), (nil, nil), ([], nil), ([:], nil),
        ] as [(JSON, String?)])
    func texts(value: JSON, expected: String?) {
        #expect(value.text() == expected)
    }

    @Test("Setting creates the containers of the path")
    func setting() throws {
        var value = JSON.null
        try value.set("a", at: "data/items/0/name")
        try value.set("b", at: "data/items/-/name")
        try value.set("c", at: "data/items/2")
        try value.set(true, at: "data/items/0/is~1new")
        try value.set(1, at: "data/items/1/name")
        try value.set(nil, at: "gone")
        #expect(
            value == [
                "data": ["items": [["name": "a", "is/new": true], ["name": 1], "c"]], "gone": nil,
            ])
        try value.set([1], at: "gone")
        try value.set(2, at: "gone/-")
        #expect(value.value(at: "gone") == [1, 2])
        try value.set(5, at: "")
        #expect(value == 5)
        var object: JSON = [:]
        try object.set(1, at: "0")
        try object.set(2, at: "-")
        #expect(object == ["0": 1, "-": 2])
    }

    @Test("An impossible set fails and changes nothing")
    func refused() {
        let before: JSON = ["a": [1], "t": "x", "n": nil]
        for path in [
            "a/2", "a/x", "a/-1", "a/01", "t/x", "a/0/x", "n/1", "n/7/x", "n/-/1", "a/-/5",
        ] {
            var value = before
            let error = #expect(throws: JSONError.self) { try value.set(1, at: path) }
            #expect(error?.reason == "bad_parameters" && value == before, "\(path)")
        }
        var value = before
        #expect(throws: JSONError.self) { try value.set(.double(.nan), at: "t") }
        let deep = String(repeating: "a/", count: 513)
        #expect(throws: JSONError.self) { try value.set(1, at: deep) }
        #expect(value == before)
        var nested = JSON.null
        #expect(throws: Never.self) { try nested.set(1, at: String(repeating: "a/", count: 512)) }
        #expect(throws: Never.self) { try JSON.parse(try nested.printed()) }
        #expect(throws: JSONError.self) { try value.set(nested, at: "x") }
        #expect(throws: Never.self) { try value.set(nested, at: "") }
    }

    @Test("Appending a thousand times keeps every element")
    func appending() throws {
        var value = JSON.null
        for index in 0..<1_000 { try value.set(JSON(index), at: "a/b/-") }
        #expect(value.count(at: "a/b") == 1_000 && value.integer(at: "a/b/999") == 999)
    }

    @Test("Members are removed by nil, and many stay findable")
    func removal() {
        var object = JSONObject()
        for index in 0..<100 { object["n\(index)"] = JSON(index) }
        for index in stride(from: 0, to: 100, by: 2) { object["n\(index)"] = nil }
        object["never"] = nil
        #expect(object.names == stride(from: 1, to: 100, by: 2).map { "n\($0)" })
        #expect(object["n51"] == 51 && object["n50"] == nil)
    }
}
