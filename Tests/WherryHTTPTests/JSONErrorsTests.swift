// Wherry: tests of JSON as programs use it.
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WherryHTTP

@Suite struct JSONErrorsTests {
    @Test("Programs read, change, and print JSON, and errors keep their text")
    func publicUse() throws {
        var value = try JSON(parsing: #"{"a":[1]}"#)
        try value.put("x", at: "a/-")
        #expect(try value.text(style: .compact) == #"{"a":[1,"x"]}"#)
        #expect(try JSON(parsing: Array("7".utf8)) == 7)
        let text = #expect(throws: WherryError.self) { try JSON(parsing: "[1,}") }
        #expect(text?.reason == "bad_json" && text?.message.contains("at byte 3") == true)
        let bytes = #expect(throws: WherryError.self) { try JSON(parsing: [0xFF]) }
        #expect(bytes?.reason == "bad_json")
        let number = #expect(throws: WherryError.self) {
            try JSON.double(.infinity).text(style: .pretty)
        }
        #expect(number?.reason == "bad_parameters")
        let path = #expect(throws: WherryError.self) { try value.put(1, at: "a/9") }
        #expect(path?.reason == "bad_parameters" && value.count(at: "a") == 2)
    }
}
