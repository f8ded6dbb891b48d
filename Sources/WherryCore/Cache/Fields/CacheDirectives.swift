// Wherry: the list inside Cache-Control, read without knowing what it means.
// SPDX-License-Identifier: Apache-2.0

/// The members of a Cache-Control field, in order (RFC 9111, section 5.2).
///
/// What breaks the grammar is read so that it never makes an answer more reusable than it was
/// meant to be: the directive's name counts, and its argument is ``Argument/invalid``.
package struct CacheDirectives: Hashable, Sendable {
    /// What follows a directive's name.
    package enum Argument: Hashable, Sendable {
        /// No "=".
        case none
        /// A token, or what a quoted string means.
        case text(String)
        /// Neither, or something after it that does not belong there.
        case invalid

        /// Whole seconds, at most ``CacheDirectives/mostSeconds``; `nil` for what is no number.
        package var seconds: Int64? {
            guard case .text(let text) = self, CacheDirectives.isNumber(text) else { return nil }
            return min(FieldScanner.number(text.utf8) ?? .max, CacheDirectives.mostSeconds)
        }
    }

    /// A number of seconds that cannot be kept is this one: 34,000 years, of which sums and
    /// thousands still fit (section 1.2.2).
    package static let mostSeconds: Int64 = 1 << 40

    /// Names are in lower case.
    package private(set) var members: [(name: String, argument: Argument)] = []

    /// Reads the values of all lines of the field, in their order.
    package init(_ lines: [String]) {
        for line in lines {
            var scanner = FieldScanner(line.utf8)
            while !scanner.isAtEnd { readMember(&scanner) }
        }
    }

    /// The argument of the first directive of that name, given in lower case (section 4.2.1).
    package subscript(name: String) -> Argument? {
        members.first { $0.name == name }?.argument
    }

    /// Whether there is such a directive, whatever its argument.
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

    /// Goes past the next comma that is not inside of a quoted string. A quote that is never
    /// closed hides nothing, so that a directive after it is seen.
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
