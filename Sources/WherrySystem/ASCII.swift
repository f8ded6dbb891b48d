// Wherry: case-insensitive ASCII.
// SPDX-License-Identifier: Apache-2.0

extension UInt8 {
    /// The byte with ASCII capitals mapped to lower case; other bytes are unchanged.
    @inlinable @inline(__always)
    package var asciiLowercased: UInt8 { self >= 0x41 && self <= 0x5A ? self | 0x20 : self }
}

extension StringProtocol {
    /// The text with ASCII capitals in lower case; other characters are unchanged.
    package var asciiLowercased: String {
        String(decoding: utf8.map(\.asciiLowercased), as: UTF8.self)
    }
}
