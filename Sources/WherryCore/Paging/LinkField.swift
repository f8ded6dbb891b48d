// Wherry: the Link field of an answer.
// SPDX-License-Identifier: Apache-2.0

/// Reads Link fields (RFC 8288, section 3).
package enum LinkField {
    /// The target of the first link with a relation, as it was written; `nil` where there is none.
    ///
    /// Links about another resource (`anchor`) are passed over, and what is no link is skipped up to
    /// the next comma.
    ///
    /// - Parameters:
    ///   - relation: in lower case, such as "next".
    ///   - values: of all Link fields in order.
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

    /// Takes one link with its parameters; `nil` where there is none, and the place is any.
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
                // Only the first one counts (3.3).
                hasRelation = true
                link.relations = value.lowercased().split { $0 == " " || $0 == "\t" }.map(
                    String.init)
            case "anchor": link.isElsewhere = true
            default: break
            }
        }
    }

    /// Takes everything up to the comma that ends a link; commas in brackets and quotes do not.
    private static func skipRest(_ scanner: inout FieldScanner) {
        while let byte = scanner.next, byte != 0x2C {
            if byte == 0x3C {
                _ = scanner.prefix { $0 != 0x3E }
            } else if byte == 0x22, scanner.quotedBytes() != nil {
                continue
            }
            // A bracket or quote that never ends counts as any byte.
            if !scanner.isAtEnd { _ = scanner.skip(scanner.next ?? 0) }
        }
    }
}
