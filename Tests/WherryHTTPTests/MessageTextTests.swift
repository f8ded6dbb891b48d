// Wherry: tests of the length of error messages
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WherryHTTP

@Suite struct MessageTextTests {
    @Test("A value in a message is truncated to 200 bytes, and the text around it stays")
    func values() {
        let long = String(repeating: "a", count: 1_000_000)
        let cut = String(repeating: "a", count: 200) + "..."
        #expect(
            MessageText.shortened("The URL \(long) is bad. Change it.")
                == "The URL \(cut) is bad. Change it.")
        #expect(
            MessageText.shortened("The name \"\(long)\" is bad.") == "The name \"\(cut)\" is bad.")
        let spaced = String(repeating: "a b ", count: 1000)
        #expect(MessageText.shortened("The value \"\(spaced)\" is bad.").utf8.count < 240)
        #expect(WherryError(.badURL, long).message == cut)
        let same = String(repeating: "word ", count: 100)
        #expect(MessageText.shortened(same) == same)
        #expect(MessageText.shortened(String(repeating: "word ", count: 10_000)).utf8.count <= 4010)
    }

    @Test("A character is never cut")
    func characters() {
        for shift in 0..<4 {
            let text =
                String(repeating: "a", count: shift) + String(repeating: "\u{1F600}", count: 300)
            let cut = MessageText.shortened(text)
            #expect(!cut.unicodeScalars.contains("\u{FFFD}") && cut.hasSuffix("..."))
            #expect(cut.utf8.count > 190 && cut.utf8.count <= 203)
        }
    }
}
