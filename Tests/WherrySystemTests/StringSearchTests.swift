// Wherry: tests of searches in strings
// SPDX-License-Identifier: Apache-2.0

import Testing
@testable import WherrySystem

@Suite struct StringSearchTests {
    @Test(
        "the first occurrence of a text is found",
        arguments: [
            ("abcabc", "bc", 1, 3), ("aaab", "aab", 1, 4), ("abc", "abc", 0, 3), ("abc", "", 0, 0),
            ("", "", 0, 0), ("naïve café", "café", 7, 12), ("a\u{0}b", "\u{0}", 1, 2),
        ])
    func found(text: String, wanted: String, from: Int, to: Int) throws {
        let range: Range<String.Index> = try #require(text.firstRange(of: wanted))
        #expect(text.utf8.distance(from: text.startIndex, to: range.lowerBound) == from)
        #expect(text.utf8.distance(from: text.startIndex, to: range.upperBound) == to)
        #expect(text.contains(wanted))
    }

    @Test(
        "a text that does not occur is not found",
        arguments: [
            ("abc", "abcd"), ("", "a"), ("aab", "aac"), ("caf\u{e9}", "cafe\u{301}"),
            ("abab", "bb"),
        ])
    func missing(text: String, wanted: String) {
        let range: Range<String.Index>? = text.firstRange(of: wanted)
        #expect(range == nil)
    }

    @Test func `a part of a string has the indices of the whole string`() throws {
        let text = "key: value"
        let part = text.dropFirst(2)
        let range: Range<String.Index> = try #require(part.firstRange(of: "val"))
        #expect(text[range] == "val" && !part.contains("ke"))
    }
}
