// Wherry: the CRC-32C checksum.
// SPDX-License-Identifier: Apache-2.0

internal import CLinux

/// CRC-32C (Castagnoli) as in RFC 3720. Detects every burst error of up to 32 bits.
package struct Checksum: Sendable {
    private var state: UInt32 = 0xFFFF_FFFF

    /// Creates the checksum of no bytes.
    package init() {}

    /// The checksum of all bytes so far.
    package var value: UInt32 { ~state }

    /// Adds bytes.
    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        update(bytes, usesProcessor: true)
    }

    /// Adds a range of `bytes`.
    package mutating func update(_ bytes: Bytes, _ part: Range<Int>) {
        bytes.withUnsafeBytes { update(UnsafeRawBufferPointer(rebasing: $0[part])) }
    }

    mutating func update(_ bytes: UnsafeRawBufferPointer, usesProcessor: Bool) {
        guard var cursor = bytes.baseAddress else { return }
        if usesProcessor, clinux_crc32c(&state, cursor, UInt64(bytes.count)) == 1 { return }
        var left = bytes.count
        state = Self.tables.withUnsafeBufferPointer { tables in
            var crc = state
            // Slicing by 8: each byte of a word has its own table.
            while left >= 8 {
                let word = UInt64(littleEndian: cursor.loadUnaligned(as: UInt64.self)) ^ UInt64(crc)
                crc =
                    tables[1792 &+ Int(word & 0xFF)] ^ tables[1536 &+ Int(word >> 8 & 0xFF)]
                    ^ tables[1280 &+ Int(word >> 16 & 0xFF)]
                    ^ tables[1024 &+ Int(word >> 24 & 0xFF)]
                    ^ tables[768 &+ Int(word >> 32 & 0xFF)] ^ tables[512 &+ Int(word >> 40 & 0xFF)]
                    ^ tables[256 &+ Int(word >> 48 & 0xFF)] ^ tables[Int(word >> 56)]
                cursor += 8
                left -= 8
            }
            while left > 0 {
                let byte = cursor.load(as: UInt8.self)
                crc = tables[Int((crc ^ UInt32(byte)) & 0xFF)] ^ crc >> 8
                cursor += 1
                left -= 1
            }
            return crc
        }
    }

    /// Returns the checksum of `bytes`.
    package static func of(_ bytes: Bytes) -> UInt32 {
        var checksum = Checksum()
        bytes.withUnsafeBytes { checksum.update($0) }
        return checksum.value
    }

    /// Returns the checksum of `bytes`.
    package static func of(_ bytes: [UInt8]) -> UInt32 {
        var checksum = Checksum()
        bytes.withUnsafeBytes { checksum.update($0) }
        return checksum.value
    }

    /// Eight tables of 256 entries: the effect of a byte at each distance from the end of a word.
    private static let tables: [UInt32] = {
        var tables = [UInt32](repeating: 0, count: 2048)
        for byte in 0..<256 {
            var crc = UInt32(byte)
            for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0x82F6_3B78 : crc >> 1 }
            tables[byte] = crc
        }
        for index in 256..<2048 {
            let before = tables[index - 256]
            tables[index] = before >> 8 ^ tables[Int(before & 0xFF)]
        }
        return tables
    }()
}
