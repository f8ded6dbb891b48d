// Wherry: tests of media types.
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WherryHTTP

@Suite struct MediaTypeTests {
    @Test("A media type is parsed with its parameters, in any case and spacing")
    func read() throws {
        let html = try #require(MediaType(" Text/HTML ;Charset=\"UTF-8\" ;; q=1;"))
        #expect(html.essence == "text/html" && html.charset == "utf-8" && html["q"] == "1")
        #expect(html.parameters.map(\.name) == ["charset", "q"])
        let quoted = try #require(MediaType(#"multipart/mixed; boundary="a;b\"c=d""#))
        #expect(quoted["boundary"] == #"a;b"c=d"#)
        #expect(MediaType("text/html")?.charset == nil)
        let twice = try #require(MediaType("a/b;charset=x;charset=y"))
        #expect(twice.charset == "x")
    }

    @Test(
        "Invalid media types are refused",
        arguments: [
            "", " ", "text", "text/", "/plain", "text /plain", "text/ plain", "text/plain x",
            "text/plain; a", "text/plain; a=", "text/plain; a =b", "text/plain; a= b",
            "text/plain; a=\"b", "text/plain; a=\"b\"c", "text/plain, text/html", "te\u{0}xt/x",
            "text/plain; a=b c", "*",
        ])
    func refused(text: String) {
        #expect(MediaType(text) == nil)
    }

    @Test(
        "JSON is recognized by its subtype or suffix",
        arguments: [
            ("application/json", true), ("text/json;charset=utf-8", true),
            ("application/problem+json", true), ("application/xml", false),
            ("application/jsonp", false), ("text/javascript", false),
        ])
    func json(text: String, expected: Bool) throws {
        #expect(try #require(MediaType(text)).isJSON == expected)
    }
}
