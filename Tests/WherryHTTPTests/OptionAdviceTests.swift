// Wherry: tests of sentences that advise the caller to set an option.
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WherryHTTP

struct OptionAdviceTests {
    @Test(
        "a front end replaces the advice of an error anywhere in it",
        arguments: OptionAdvice.allCases)
    func replaced(advice: OptionAdvice) {
        let own = "Use --own."
        func replaced(_ message: String) -> String {
            OptionAdvice.replaced(in: message) { $0 == advice ? own : "Wrong." }
        }
        #expect(replaced(advice.text) == own)
        #expect(replaced("It failed: é. " + advice.text) == "It failed: é. " + own)
        #expect(replaced("A: \(advice.text) B") == "A: \(own) B")
        #expect(replaced("") == "" && replaced("It failed.") == "It failed.")
        #expect(replaced(String(advice.text.dropLast())) == String(advice.text.dropLast()))
    }

    @Test("advice survives the shortening of a message", arguments: OptionAdvice.allCases)
    func shortened(advice: OptionAdvice) {
        let error = WherryError(.badPath, String(repeating: "x", count: 1000) + " " + advice.text)
        #expect(error.message.hasSuffix("... " + advice.text))
    }
}
