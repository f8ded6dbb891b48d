// Wherry: parsing the Link response header.
// SPDX-License-Identifier: Apache-2.0

import WherryCore
import WherryHTTP

/// A parser for Link headers (RFC 8288, section 3).
package enum LinkField {
    /// Returns the target of the first link with a relation, as written; `nil` if there is none.
    ///
    /// Ignores links about another resource (`anchor`), and skips malformed links up to the next
    /// comma.
    ///
    /// - Parameters:
    ///   - relation: In lower case, such as "next".
    ///   - values: The values of all Link headers, in order.
    package static func target(_ relation: String, in values: [String]) -> String? {
        for value in values {
            var scanner = FieldScanner(value.utf8)
            while !scanner.isAtEnd {
                scanner.skipSpace()
                if scanner.skip(0x2C) { continue }
                if let link = link(&scanner), link.relations.contains(relation), !link.isElsewhere {
                    return link.target
                }
                skipRest(&scanner)
            }
        }
        return nil
    }

    private struct Link {
        var target: String
        var relations: [String] = []
        var isElsewhere = false
    }

    /// Parses one link with its parameters. Returns `nil` if malformed, with the scanner at any
    /// position.
    private static func link(_ scanner: inout FieldScanner) -> Link? {
        guard scanner.skip(0x3C) else { return nil }
        let target = scanner.prefix { $0 != 0x3E }
        guard scanner.skip(0x3E) else { return nil }
        var link = Link(target: String(decoding: target, as: UTF8.self))
        var hasRelation = false
        while true {
            scanner.skipSpace()
            guard scanner.skip(0x3B) else { return link }
            scanner.skipSpace()
            guard let name = scanner.token()?.lowercased() else { continue }
            scanner.skipSpace()
            var value = ""
            if scanner.skip(0x3D) {
                scanner.skipSpace()
                guard let found = scanner.tokenOrQuoted() else { return link }
                value = found
            }
            switch name {
            case "rel" where !hasRelation:
                // Only the first one counts (section 3.3).
                hasRelation = true
                link.relations = value.lowercased().split { $0 == " " || $0 == "\t" }.map(
                    String.init)
            case "anchor": link.isElsewhere = true
            default: break
            }
        }
    }

    /// Skips to the comma that ends a link; commas in brackets and quotes do not count.
    private static func skipRest(_ scanner: inout FieldScanner) {
        while let byte = scanner.next, byte != 0x2C {
            if byte == 0x3C {
                _ = scanner.prefix { $0 != 0x3E }
            } else if byte == 0x22, scanner.quotedBytes() != nil {
                continue
            }
            // An unterminated bracket or quote counts as an ordinary byte.
            if !scanner.isAtEnd { _ = scanner.skip(scanner.next ?? 0) }
        }
    }
}
