// Wherry: a reader for the small grammars inside header fields.
// SPDX-License-Identifier: Apache-2.0

/// Walks through a field's value from left to right (RFC 9110, section 5.6).
package struct FieldScanner {
    private let bytes: [UInt8]
    /// The offset of the next byte.
    package private(set) var position = 0

    package init(_ bytes: some Collection<UInt8>) { self.bytes = Array(bytes) }

    package var isAtEnd: Bool { position == bytes.count }

    /// The next byte, without taking it.
    package var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    /// Takes the next byte if it is `byte`.
    package mutating func skip(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        position += 1
        return true
    }

    /// Takes spaces and tabs.
    package mutating func skipSpace() {
        while next == 0x20 || next == 0x09 { position += 1 }
    }

    /// Takes the bytes up to the first one that fails the test.
    package mutating func prefix(while test: (UInt8) -> Bool) -> ArraySlice<UInt8> {
        let start = position
        while let byte = next, test(byte) { position += 1 }
        return bytes[start..<position]
    }

    /// Takes a token, or nothing where none starts here.
    package mutating func token() -> String? {
        let taken = prefix(while: FieldRules.isTokenByte)
        return taken.isEmpty ? nil : String(decoding: taken, as: UTF8.self)
    }

    /// Takes a quoted string and gives the bytes it means: quotes off, quoted pairs resolved.
    /// Nothing is taken where none starts, where it never ends or where it holds a control
    /// character other than the tab.
    package mutating func quotedBytes() -> [UInt8]? {
        guard next == 0x22 else { return nil }
        var meant: [UInt8] = []
        var index = position + 1
        while index < bytes.count {
            var byte = bytes[index]
            index += 1
            if byte == 0x22 {
                position = index
                return meant
            }
            if byte == 0x5C {
                guard index < bytes.count else { return nil }
                byte = bytes[index]
                index += 1
            }
            guard byte >= 0x20 && byte != 0x7F || byte == 0x09 else { return nil }
            meant.append(byte)
        }
        return nil
    }

    /// Takes a token or a quoted string; text that is not UTF-8 is repaired with U+FFFD.
    package mutating func tokenOrQuoted() -> String? {
        if next == 0x22 { return quotedBytes().map { String(decoding: $0, as: UTF8.self) } }
        return token()
    }

    /// Takes one or more digits as a number; `nil` for none, and for more than fits.
    package mutating func number() -> Int64? {
        let digits = prefix { $0 >= 0x30 && $0 <= 0x39 }
        guard !digits.isEmpty else { return nil }
        return FieldScanner.number(digits)
    }

    /// The value of ASCII digits; `nil` for none, for anything else and for more than fits.
    package static func number(_ digits: some Collection<UInt8>) -> Int64? {
        guard !digits.isEmpty else { return nil }
        var value: Int64 = 0
        for digit in digits {
            guard digit >= 0x30, digit <= 0x39 else { return nil }
            let (shifted, overflowed) = value.multipliedReportingOverflow(by: 10)
            let (sum, exceeded) = shifted.addingReportingOverflow(Int64(digit - 0x30))
            guard !overflowed, !exceeded else { return nil }
            value = sum
        }
        return value
    }
}
