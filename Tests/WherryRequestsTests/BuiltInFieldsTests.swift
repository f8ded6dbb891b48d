// Wherry: the identity that a client sends for itself and its user
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WherryHTTP
@testable import WherryRequests

@Suite("Built-in headers") struct BuiltInFieldsTests {
    @Test(
        "C10 an application's name and version are ASCII tokens",
        arguments: [
            ("Wherry Demo", "2.1", "Wherry-Demo/2.1"), ("Fähre", "1", "Fahre/1"),
            ("北", "1", "%E5%8C%97/1"), ("a/b(c)", "1 \"x\"", "a%2Fb%28c%29/1-%22x%22"),
            ("50%", "", "50%25"), ("a\r\nEvil: x", "1", "a%0D%0AEvil%3A-x/1"),
        ])
    func userAgent(_ name: String, _ version: String, _ product: String) {
        let field = BuiltInFields.userAgent(name, version: version)
        #expect(field.hasPrefix(product + " (Linux "))
        #expect(field.hasSuffix(") Wherry/\(WherryLibrary.version)"))
        #expect(FieldRules.violation(value: field, of: "it") == nil)
        #expect(field.utf8.allSatisfy { $0 < 0x80 })
    }

    @Test(
        "C10 languages come from the environment, by weight",
        arguments: [
            ([:], nil), (["LANG": "C"], nil), (["LANG": "C.UTF-8"], nil),
            (["LANG": "POSIX", "LANGUAGE": "de"], nil), (["LANG": "de_AT.UTF-8"], "de-AT"),
            (["LANG": "sr_RS@latin"], "sr-RS"), (["LANG": "de_DE", "LC_ALL": "fr_FR"], "fr-FR"),
            (["LANG": "de_DE", "LC_MESSAGES": "it_IT.utf8"], "it-IT"),
            (
                ["LANG": "de_AT", "LANGUAGE": "de_AT:de:en_GB:de:en"],
                "de-AT, de;q=0.9, en-GB;q=0.8, en;q=0.7"
            ),
            (
                ["LANG": "de", "LANGUAGE": "aa:bb:cc:dd:ee:ff:gg"],
                "aa, bb;q=0.9, cc;q=0.8, dd;q=0.7, ee;q=0.6, ff;q=0.5"
            ),
            (["LANG": "d"], nil), (["LANG": "de_AT_x"], nil), (["LANG": "de,en"], nil),
            (["LANG": "de", "LANGUAGE": "C"], "de"), (["LANG": "de_\r\nX"], nil),
        ] as [([String: String], String?)])
    func languages(_ environment: [String: String], _ expected: String?) {
        #expect(BuiltInFields.acceptLanguage { environment[$0] } == expected)
    }
}
