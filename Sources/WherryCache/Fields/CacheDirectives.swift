// Wherry: parsing Cache-Control.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP

/// The directives of a Cache-Control header, in order (RFC 9111, section 5.2).
///
/// A malformed directive never makes a response more reusable: its name counts, and its argument is
/// ``Argument/invalid``.
package struct CacheDirectives: Hashable, Sendable {
    /// The argument of a directive.
    package enum Argument: Hashable, Sendable {
        /// No argument.
        case none
        /// A token, or the value of a quoted string.
        case text(String)
        /// Malformed.
        case invalid

        /// The number of whole seconds, at most ``CacheDirectives/mostSeconds``; `nil` if it is not
        /// a number.
        package var seconds: Int64? {
            guard case .text(let text) = self, CacheDirectives.isNumber(text) else { return nil }
            return min(FieldScanner.number(text.utf8) ?? .max, CacheDirectives.mostSeconds)
        }
    }

    /// The maximum number of seconds, which replaces larger ones (section 1.2.2): 34,000 years.
    /// Sums of it, and its value in milliseconds, do not overflow.
    package static let mostSeconds: Int64 = 1 << 40

    /// The directives, with names in lower case.
    package private(set) var members: [(name: String, argument: Argument)] = []

    /// Parses all lines of the header in order.
    package init(_ lines: [String]) {
        for line in lines {
            var scanner = FieldScanner(line.utf8)
            while !scanner.isAtEnd { readMember(&scanner) }
        }
    }

    /// The argument of the first directive with a lower-case name (section 4.2.1).
    package subscript(name: String) -> Argument? {
        members.first { $0.name == name }?.argument
    }

    /// Returns whether there is such a directive, with any argument.
    package func contains(_ name: String) -> Bool { members.contains { $0.name == name } }

    package var isEmpty: Bool { members.isEmpty }

    private mutating func readMember(_ scanner: inout FieldScanner) {
        scanner.skipSpace()
        if scanner.skip(Self.comma) { return }
        guard let name = scanner.token() else { return Self.skipRest(&scanner) }
        var argument = Argument.none
        if scanner.skip(0x3D) {
            argument = scanner.tokenOrQuoted().map { .text($0) } ?? .invalid
        }
        scanner.skipSpace()
        if !scanner.isAtEnd && scanner.next != Self.comma { argument = .invalid }
        members.append((name.lowercased(), argument))
        Self.skipRest(&scanner)
    }

    /// Skips to after the next comma outside of quoted strings. An unterminated quote does not hide
    /// directives after it.
    private static func skipRest(_ scanner: inout FieldScanner) {
        while !scanner.isAtEnd {
            _ = scanner.prefix { $0 != comma && $0 != 0x22 }
            if scanner.next == 0x22 {
                if scanner.quotedBytes() == nil { _ = scanner.skip(0x22) }
            } else if scanner.skip(comma) {
                return
            }
        }
    }

    private static let comma: UInt8 = 0x2C

    static func isNumber(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { $0 >= 0x30 && $0 <= 0x39 }
    }

    package static func == (a: CacheDirectives, b: CacheDirectives) -> Bool {
        a.members.elementsEqual(b.members) { $0 == $1 }
    }

    package func hash(into hasher: inout Hasher) {
        for member in members {
            hasher.combine(member.name)
            hasher.combine(member.argument)
        }
    }
}
