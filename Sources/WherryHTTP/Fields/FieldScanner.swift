// Wherry: a scanner for header values.
// SPDX-License-Identifier: Apache-2.0

/// Scans a header value from left to right (RFC 9110, section 5.6).
package struct FieldScanner {
    private let bytes: [UInt8]
    /// The offset of the next byte.
    package private(set) var position = 0

    package init(_ bytes: some Collection<UInt8>) { self.bytes = Array(bytes) }

    package var isAtEnd: Bool { position == bytes.count }

    /// The next byte, not consumed.
    package var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    /// Consumes the next byte if it is `byte`.
    package mutating func skip(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        position += 1
        return true
    }

    /// Consumes spaces and tabs.
    package mutating func skipSpace() {
        while next == 0x20 || next == 0x09 { position += 1 }
    }

    /// Consumes the bytes up to the first one that fails the test.
    package mutating func prefix(while test: (UInt8) -> Bool) -> ArraySlice<UInt8> {
        let start = position
        while let byte = next, test(byte) { position += 1 }
        return bytes[start..<position]
    }

    /// Consumes a token; consumes nothing if none starts here.
    package mutating func token() -> String? {
        let taken = prefix(while: FieldRules.isTokenByte)
        return taken.isEmpty ? nil : String(decoding: taken, as: UTF8.self)
    }

    /// Consumes a quoted string and returns its content, with quoted pairs resolved. Consumes
    /// nothing if none starts here, or if it is unterminated or contains a control character other
    /// than the tab.
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

    /// Consumes a token or a quoted string; invalid UTF-8 becomes U+FFFD.
    package mutating func tokenOrQuoted() -> String? {
        if next == 0x22 { return quotedBytes().map { String(decoding: $0, as: UTF8.self) } }
        return token()
    }

    /// Consumes digits and returns their value; `nil` for no digits and on overflow.
    package mutating func number() -> Int64? {
        let digits = prefix { $0 >= 0x30 && $0 <= 0x39 }
        guard !digits.isEmpty else { return nil }
        return FieldScanner.number(digits)
    }

    /// Returns the value of ASCII digits; `nil` for none, for other characters and on overflow.
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

extension String {
    /// The text without surrounding spaces and tabs (RFC 9110, section 5.6.3).
    package var trimmingFieldSpace: String {
        let bytes = utf8.drop { $0 == 0x20 || $0 == 0x09 }
        guard let last = bytes.lastIndex(where: { $0 != 0x20 && $0 != 0x09 }) else { return "" }
        return String(decoding: bytes[...last], as: UTF8.self)
    }
}
