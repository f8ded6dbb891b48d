// Wherry: tests of parameters as queries and forms.
// SPDX-License-Identifier: Apache-2.0

import Testing
import WherryTransport

@testable import WherryHTTP

@Suite struct ParameterEncodingTests {
    @Test(
        "R6 pairs match AFNetworking's byte for byte",
        arguments: [
            ([:], ""), (nil, ""), (["key": "0c60", "type": "top"], "key=0c60&type=top"),
            (["b": 2, "a": 1, "B": 0], "B=0&a=1&b=2"),
            (["a": ["c": 2, "b": ["x": 1]]], "a%5Bb%5D%5Bx%5D=1&a%5Bc%5D=2"),
            (["a": [2, 1, "z"]], "a%5B%5D=2&a%5B%5D=1&a%5B%5D=z"),
            (["a": [["b": 1], [2, 3]]], "a%5B%5D%5Bb%5D=1&a%5B%5D%5B%5D=2&a%5B%5D%5B%5D=3"),
            (["a": nil, "b": [nil, 1], "c": ["d": nil]], "a&b%5B%5D&b%5B%5D=1&c%5Bd%5D"),
            (["a": "", "": "x"], "=x&a="), (["a": [], "b": [:], "c": 1], "c=1"),
            (["t": true, "f": false], "f=0&t=1"),
            (
                ["i": .integer(.min), "u": .unsigned(.max)],
                "i=-9223372036854775808&u=18446744073709551615"
            ),
            (["d": 1.5, "e": 5.0, "g": 0.1], "d=1.5&e=5&g=0.1"),
            (["q": "a+b&c=d e"], "q=a%2Bb%26c%3Dd%20e"),
            (["q": "-._~?/"], "q=-._~?/"),
            (
                ["q": "!\"#$%'()*,:;<>@[\\]^`{|}"],
                "q=%21%22%23%24%25%27%28%29%2A%2C%3A%3B%3C%3E%40%5B%5C%5D%5E%60%7B%7C%7D"
            ),
            (["q": "\u{0}\n\u{7F}"], "q=%00%0A%7F"),
            (["é": "天😀"], "%C3%A9=%E5%A4%A9%F0%9F%98%80"),
            (["f": "👨‍👩‍👧"], "f=%F0%9F%91%A8%E2%80%8D%F0%9F%91%A9%E2%80%8D%F0%9F%91%A7"),
        ] as [(JSON, String)])
    func defaults(parameters: JSON, expected: String) throws {
        #expect(try ParameterEncoding().encode(parameters) == expected)
    }

    @Test("R6 an emoji stays complete at any position")
    func emoji() throws {
        for count in 0..<120 {
            let text = String(repeating: "a", count: count)
            let encoded = try ParameterEncoding().encode(["k": .string(text + "🇪🇺" + text)])
            #expect(encoded == "k=\(text)%F0%9F%87%AA%F0%9F%87%BA\(text)")
        }
    }

    @Test("R7 arrays have three styles")
    func arrays() throws {
        let parameters: JSON = ["a": [1, ["b": 2]], "c": [[3]]]
        var encoding = ParameterEncoding()
        #expect(try encoding.encode(parameters) == "a%5B%5D=1&a%5B%5D%5Bb%5D=2&c%5B%5D%5B%5D=3")
        encoding.arrays = .repeated
        #expect(try encoding.encode(parameters) == "a=1&a%5Bb%5D=2&c=3")
        encoding.arrays = .indexed
        #expect(try encoding.encode(parameters) == "a%5B0%5D=1&a%5B1%5D%5Bb%5D=2&c%5B0%5D%5B0%5D=3")
    }

    @Test("R7 members and bools have two styles")
    func membersAndBools() throws {
        var encoding = ParameterEncoding()
        encoding.members = .dots
        encoding.bools = .words
        #expect(try encoding.encode(["a": ["b": ["c": true]], "d": false]) == "a.b.c=true&d=false")
    }

    @Test("R6 a set repeats its name, and its values are sorted")
    func sets() throws {
        var encoding = ParameterEncoding()
        encoding.sets = ["s", "o[t]"]
        #expect(
            try encoding.encode(["s": ["b", "a"], "o": ["t": [2, 1]], "l": ["b", "a"]])
                == "l%5B%5D=b&l%5B%5D=a&o%5Bt%5D=1&o%5Bt%5D=2&s=a&s=b")
    }

    @Test("R8 only objects and finite numbers are accepted")
    func refused() throws {
        for value: JSON in [[1], "a=b", 1, true, ["a": .double(.nan)], ["a": [.double(.infinity)]]]
        {
            let error = #expect(throws: JSONError.self) { try ParameterEncoding().encode(value) }
            #expect(error?.reason == "bad_parameters")
        }
        var deep = JSON.integer(1)
        for _ in 0..<600 { deep = .array([deep]) }
        #expect(throws: JSONError.self) { try ParameterEncoding().encode(["a": deep]) }
    }

    @Test("Fields are the same pairs before escaping, in member order")
    func fields() throws {
        let object = try #require(JSON(["b": ["x y", nil], "a": 1]).object())
        let fields = try ParameterEncoding().fields(object)
        #expect(fields.map(\.name) == ["b[]", "b[]", "a"])
        #expect(fields.map(\.value) == ["x y", nil, "1"])
    }

    @Test(
        "R6 a query is appended to the URL's with &, and a fragment is not sent",
        arguments: [
            ("http://h/p", "http://h/p?a=1"), ("http://h/p?", "http://h/p?a=1"),
            ("http://h/p?x=y", "http://h/p?x=y&a=1"), ("http://h/p?x&", "http://h/p?x&a=1"),
            ("http://h/p#f?g", "http://h/p?a=1"), ("http://h/p?x#f", "http://h/p?x&a=1"),
        ])
    func joining(url: String, expected: String) throws {
        #expect(try HTTPURL(url).appendingQuery("a=1").text == expected)
        #expect(try HTTPURL(url).appendingQuery("").text == HTTPURL(url).text)
    }
}
