// Wherry: decoding text in charsets other than UTF-8.
// SPDX-License-Identifier: Apache-2.0

import Glibc

extension Bytes {
    /// Returns the bytes decoded from a charset, such as "iso-8859-1". Undecodable bytes become
    /// U+FFFD. `nil` if the system does not support the charset.
    package func text(charset: String) -> String? {
        let name = charset.asciiLowercased
        if name == "utf-8" || name == "utf8" { return text }
        // Rejects iconv suffixes such as "//translit".
        let isName = name.utf8.allSatisfy { byte in
            (0x61...0x7A).contains(byte) || (0x30...0x3A).contains(byte)
                || [0x2D, 0x2E, 0x5F].contains(byte)
        }
        guard isName, !name.isEmpty, let converter = Converter(from: name) else { return nil }
        return converter.convert(self)
    }
}

/// A conversion to UTF-8 with iconv(3).
private final class Converter {
    private let handle: iconv_t
    /// U+FFFD.
    private static let replacement: [UInt8] = [0xEF, 0xBF, 0xBD]

    /// The size of the smallest code unit in bytes.
    private let unit: Int

    init?(from charset: String) {
        // Servers also send "latin-1" and "utf_16", which iconv knows without the separator.
        let plain = charset.filter { $0 != "-" && $0 != "_" }
        guard let opened = Self.open(charset) ?? Self.open(plain) else { return nil }
        handle = opened
        unit =
            ["utf16", "ucs2", "unicode", "csunicode", "iso10646ucs2"].contains {
                plain.hasPrefix($0)
            }
            ? 2 : ["utf32", "ucs4", "csucs4", "iso10646"].contains { plain.hasPrefix($0) } ? 4 : 1
    }

    private static func open(_ charset: String) -> iconv_t? {
        let opened = iconv_open("UTF-8", charset)
        return opened == iconv_t(bitPattern: -1) ? nil : opened
    }

    deinit { iconv_close(handle) }

    func convert(_ bytes: Bytes) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count + bytes.count / 2)
        bytes.withUnsafeBytes { buffer in
            guard let start = buffer.baseAddress else { return }
            var next: UnsafeMutablePointer<CChar>? = UnsafeMutablePointer(
                mutating: start.assumingMemoryBound(to: CChar.self))
            var left = buffer.count
            withUnsafeTemporaryAllocation(byteCount: 16_384, alignment: 1) { room in
                while left > 0 {
                    let failure = step(&next, &left, room, into: &text)
                    guard left > 0, failure != E2BIG else { continue }
                    text += Self.replacement
                    // An incomplete sequence at the end is one character. Otherwise the next unit
                    // may start one.
                    let skipped = failure == EINVAL ? left : min(left, unit)
                    next = next.map { $0 + skipped }
                    left -= skipped
                }
                // Resets the shift state of stateful charsets.
                _ = step(nil, nil, room, into: &text)
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Converts as much as fits into `room`. Returns the errno that stopped it, or 0.
    private func step(
        _ next: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?,
        _ left: UnsafeMutablePointer<Int>?, _ room: UnsafeMutableRawBufferPointer,
        into text: inout [UInt8]
    ) -> Int32 {
        var out = room.baseAddress?.assumingMemoryBound(to: CChar.self)
        var space = room.count
        let isDone = iconv(handle, next, left, &out, &space) != Int(bitPattern: UInt.max)
        let failure = isDone ? 0 : errno
        text.append(contentsOf: UnsafeRawBufferPointer(rebasing: room[..<(room.count - space)]))
        return failure
    }
}
