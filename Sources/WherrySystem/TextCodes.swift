// Wherry: hexadecimal, percent and Base64 encoding.
// SPDX-License-Identifier: Apache-2.0

/// Hexadecimal encoding, two digits for each byte.
package enum Hex {
    /// Returns the digits of `bytes` in lower case.
    package static func encode(_ bytes: [UInt8]) -> String {
        let (count, overflow) = bytes.count.multipliedReportingOverflow(by: 2)
        precondition(!overflow, "too many bytes to encode")
        return String(unsafeUninitializedCapacity: count) { text in
            for (index, byte) in bytes.enumerated() {
                text[2 &* index] = digit(byte >> 4)
                text[2 &* index &+ 1] = digit(byte & 15)
            }
            return count
        }
    }

    /// Returns the digits of `bytes` in lower case.
    package static func encode(_ bytes: some Sequence<UInt8>) -> String { encode(Array(bytes)) }

    /// Decodes digits in either case; `nil` for an odd count or any other character.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 2)
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = value(digits[index]), let low = value(digits[index + 1]) else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    /// Returns the lower-case ASCII digit of a value below 16.
    package static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? 0x30 &+ value : 0x57 &+ value
    }

    /// Returns the value of one ASCII digit in either case, or `nil`.
    package static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case 0x30...0x39: digit &- 0x30
        case 0x41...0x46: digit &- 0x37
        case 0x61...0x66: digit &- 0x57
        default: nil
        }
    }
}

/// Percent-encoding (RFC 3986, section 2.1).
package enum PercentCoding {
    /// Decodes the escapes once. `nil` if a percent sign does not start an escape.
    package static func decode(_ bytes: some Collection<UInt8>) -> [UInt8]? {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(bytes.count)
        var iterator = bytes.makeIterator()
        while let byte = iterator.next() {
            guard byte == 0x25 else {
                decoded.append(byte)
                continue
            }
            guard let high = iterator.next().flatMap(Hex.value),
                let low = iterator.next().flatMap(Hex.value)
            else { return nil }
            decoded.append(high << 4 | low)
        }
        return decoded
    }

    /// Appends the escape of one byte, with upper-case digits.
    @inlinable package static func append(_ byte: UInt8, to bytes: inout [UInt8]) {
        bytes.append(0x25)
        bytes.append(digit(byte >> 4))
        bytes.append(digit(byte & 15))
    }

    @inlinable package static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? 0x30 &+ value : 0x37 &+ value
    }
}

/// Base64 by RFC 4648, section 4, with padding and no line breaks.
package enum Base64 {
    private static let alphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// Returns the Base64 text of `bytes`; empty for no bytes.
    package static func encode(_ bytes: some Collection<UInt8>) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count / 3 * 4 + 4)
        var group: UInt32 = 0
        var held = 0
        for byte in bytes {
            group = group << 8 | UInt32(byte)
            held += 1
            guard held == 3 else { continue }
            for shift: UInt32 in [18, 12, 6, 0] { text.append(alphabet[Int(group >> shift & 63)]) }
            (group, held) = (0, 0)
        }
        if held > 0 {
            group <<= held == 1 ? 16 : 8
            text.append(alphabet[Int(group >> 18 & 63)])
            text.append(alphabet[Int(group >> 12 & 63)])
            text.append(held == 2 ? alphabet[Int(group >> 6 & 63)] : 0x3D)
            text.append(0x3D)
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Decodes `text`; `nil` unless it is exactly the output of ``encode(_:)``: whole groups,
    /// padding, no other characters, unused bits zero.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        var digits = Array(text.utf8)
        guard digits.count.isMultiple(of: 4) else { return nil }
        var padding = 0
        while padding < 2, digits.last == 0x3D {
            digits.removeLast()
            padding += 1
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 4 * 3 + 3)
        var group: UInt32 = 0
        var bits = 0
        for digit in digits {
            guard let six = value(digit) else { return nil }
            group = (group << 6 | six) & 0xFFFF
            bits += 6
            guard bits >= 8 else { continue }
            bits -= 8
            bytes.append(UInt8(truncatingIfNeeded: group >> UInt32(bits)))
        }
        let unused = group & ((1 << UInt32(bits)) - 1)
        return unused == 0 ? bytes : nil
    }

    private static func value(_ digit: UInt8) -> UInt32? {
        switch digit {
        case 0x41...0x5A: UInt32(digit) - 0x41
        case 0x61...0x7A: UInt32(digit) - 0x47
        case 0x30...0x39: UInt32(digit) + 4
        case 0x2B: 62
        case 0x2F: 63
        default: nil
        }
    }
}
