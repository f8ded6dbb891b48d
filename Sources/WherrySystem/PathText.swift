// Wherry: lossless conversion of file paths to text.
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Conversion between file paths and Swift strings.
///
/// Linux paths are bytes; Swift strings are valid Unicode. A byte `B` (0x80...0xFF) outside of a
/// valid UTF-8 sequence becomes one private-use character, U+EF00 + `B`. The bytes of a real
/// U+EF80...U+EFFF are escaped one by one in the same way, so each byte sequence has exactly one
/// text. Paths can be joined, split, compared, hashed, and written to JSON as text. Only system
/// calls and the C interface use bytes.
package enum PathText {
    /// The first UTF-8 byte of U+EF80...U+EFFF.
    private static let lead: UInt8 = 0xEE
    private static let low: UInt8 = 0xBE
    private static let high: UInt8 = 0xBF

    /// Returns the text of a path.
    package static func text(_ bytes: some Collection<UInt8>) -> String {
        let bytes = Array(bytes)
        if !bytes.contains(lead), let text = String(validating: bytes, as: UTF8.self) {
            return text
        }
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count + 16)
        var index = 0
        while index < bytes.count {
            let count = length(of: bytes[index...])
            if count > 0, !isEscape(bytes[index..<(index + count)]) {
                result += bytes[index..<(index + count)]
                index += count
            } else {
                let byte = bytes[index]
                result += [lead, byte < 0xC0 ? low : high, 0x80 | (byte & 0x3F)]
                index += 1
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// Returns the text of a NUL-terminated path.
    package static func text(_ path: UnsafePointer<CChar>) -> String {
        text(UnsafeRawBufferPointer(start: path, count: strlen(path)))
    }

    /// Returns the bytes of a path.
    package static func bytes(_ text: String) -> [UInt8] {
        let coded = Array(text.utf8)
        guard coded.contains(lead) else { return coded }
        var result: [UInt8] = []
        result.reserveCapacity(coded.count)
        var index = 0
        while index < coded.count {
            if index + 2 < coded.count, isEscape(coded[index...(index + 2)]) {
                result.append(coded[index + 1] == low ? coded[index + 2] : coded[index + 2] | 0x40)
                index += 3
            } else {
                result.append(coded[index])
                index += 1
            }
        }
        return result
    }

    /// Returns whether a path contains bytes that are not UTF-8.
    package static func hasRawBytes(_ text: String) -> Bool {
        guard text.utf8.contains(lead) else { return false }
        return text.unicodeScalars.contains { (0xEF80...0xEFFF).contains($0.value) }
    }

    /// Returns the text with each raw byte as `\xE9`, for messages.
    package static func shown(_ text: String) -> String {
        guard hasRawBytes(text) else { return text }
        var shown = ""
        for scalar in text.unicodeScalars {
            if (0xEF80...0xEFFF).contains(scalar.value) {
                shown += "\\x" + String(scalar.value - 0xEF00, radix: 16, uppercase: true)
            } else {
                shown.unicodeScalars.append(scalar)
            }
        }
        return shown
    }

    private static func isEscape(_ bytes: ArraySlice<UInt8>) -> Bool {
        guard bytes.count == 3, bytes.first == lead else { return false }
        let second = bytes[bytes.startIndex + 1]
        return second == low || second == high
    }

    /// Returns the length of the valid UTF-8 sequence at the start; 0 if there is none.
    private static func length(of bytes: ArraySlice<UInt8>) -> Int {
        guard let first = bytes.first else { return 0 }
        let count: Int
        switch first {
        case 0..<0x80: return 1
        case 0xC2...0xDF: count = 2
        case 0xE0...0xEF: count = 3
        case 0xF0...0xF4: count = 4
        default: return 0
        }
        guard bytes.count >= count else { return 0 }
        return String(validating: bytes.prefix(count), as: UTF8.self) == nil ? 0 : count
    }
}

extension String {
    /// Calls `body` with the NUL-terminated bytes of the path.
    package func withPath<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
        guard utf8.contains(0xEE) else { return withCString(body) }
        var bytes = PathText.bytes(self)
        bytes.append(0)
        return bytes.withUnsafeBytes { buffer in
            // Never empty: it contains the NUL.
            body(buffer.baseAddress!.assumingMemoryBound(to: CChar.self))
        }
    }
}
