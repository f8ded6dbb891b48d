// Wherry: ASCII letters without regard to case.
// SPDX-License-Identifier: Apache-2.0

extension UInt8 {
    /// The small letter of an ASCII capital; every other byte as it is.
    @inlinable @inline(__always)
    package var asciiLowercased: UInt8 { self >= 0x41 && self <= 0x5A ? self | 0x20 : self }
}

extension StringProtocol {
    /// The text with ASCII capitals as small letters, and everything else as it is.
    package var asciiLowercased: String {
        String(decoding: utf8.map(\.asciiLowercased), as: UTF8.self)
    }
}
