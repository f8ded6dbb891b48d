// Wherry: tests of Content-Range and of entity tags.
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WherryHTTP

@Suite struct RangeAndTagTests {
    @Test(
        "Content-Range is parsed in its three forms",
        arguments: [
            ("bytes 0-0/1", .part(first: 0, last: 0, total: 1)),
            ("bytes 42-1233/1234", .part(first: 42, last: 1233, total: 1234)),
            ("BYTES 0-9/*", .part(first: 0, last: 9, total: nil)),
            ("bytes */47022", .unsatisfied(total: 47_022)), ("bytes */0", .unsatisfied(total: 0)),
            (
                "bytes 9223372036854775800-9223372036854775806/9223372036854775807",
                .part(first: 9_223_372_036_854_775_800, last: .max - 1, total: .max)
            ),
        ] as [(String, ContentRange)])
    func ranges(text: String, expected: ContentRange) {
        #expect(ContentRange(text) == expected)
    }

    @Test("Content-Range knows its count and total")
    func counts() {
        #expect(ContentRange("bytes 10-19/100")?.count == 10)
        #expect(ContentRange("bytes 0-9223372036854775806/*")?.count == .max)
        #expect(ContentRange("bytes */7")?.count == 0 && ContentRange("bytes */7")?.total == 7)
    }

    @Test(
        "Impossible ranges are refused",
        arguments: [
            "", "bytes", "bytes ", "bytes 0-9", "bytes 0-9/", "bytes 9-0/10", "bytes 0-10/10",
            "bytes 5-5/5", "bytes -5/10", "bytes 5-/10", "bytes 0-9/10x", "bytes 0 - 9/10",
            "bytes=0-9/10", "bytes0-9/10", "items 0-9/10", "bytes */*", "bytes *", "bytes 0-9/-1",
            "bytes +0-9/10", "bytes 0-99999999999999999999/*", "bytes 0-9223372036854775807/*",
            "bytes 0-9/99999999999999999999", "bytes 0-1/2, bytes 3-4/5",
        ])
    func refusedRanges(text: String) {
        #expect(ContentRange(text) == nil)
    }

    @Test("Entity tags are strong or weak, and sent back unchanged")
    func tags() throws {
        let strong = try #require(EntityTag("\"abc\""))
        let weak = try #require(EntityTag("W/\"abc\""))
        #expect(
            !strong.isWeak && weak.isWeak && weak.text == "W/\"abc\"" && weak.opaque == "\"abc\"")
        #expect(strong.isStronglyEqual(to: strong) && !weak.isStronglyEqual(to: weak))
        #expect(!strong.isStronglyEqual(to: weak) && strong.isWeaklyEqual(to: weak))
        let other = try #require(EntityTag("\"\""))
        #expect(!other.isWeaklyEqual(to: strong) && other.opaque == "\"\"")
        #expect(EntityTag("\"W/é!~\"")?.text == "\"W/é!~\"")
    }

    @Test(
        "Invalid entity tags are refused",
        arguments: [
            "", "abc", "\"", "\"a", "a\"", "w/\"a\"", "W/", "W/a", "W \"a\"", "\"a\"b", "\"a b\"",
            "\"a\u{7F}\"", "\"a\n\"", " \"a\"", "*",
        ])
    func refusedTags(text: String) {
        #expect(EntityTag(text) == nil)
    }

    @Test("Lists of tags are parsed, with a star for any")
    func lists() throws {
        let list = try #require(EntityTagList(" \"a\" ,W/\"b\",, \"c,d\" ,"))
        for tag in ["\"a\"", "W/\"a\"", "\"b\"", "\"c,d\""] {
            #expect(list.containsWeakly(try #require(EntityTag(tag))))
        }
        #expect(!list.containsWeakly(try #require(EntityTag("\"c\""))))
        #expect(try #require(EntityTagList(" * ")).containsWeakly(try #require(EntityTag("\"x\""))))
        for text in ["", " ", ",", "a", "\"a\" \"b\"", "*, \"a\"", "\"a\", *", "\"a"] {
            #expect(EntityTagList(text) == nil, "\(text)")
        }
    }
}
