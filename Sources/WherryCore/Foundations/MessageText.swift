// Wherry: error messages of a bounded length.
// SPDX-License-Identifier: Apache-2.0

/// Shortens the values that a message repeats, such as a URL of many megabytes. Pure.
///
/// A value is what stands between two quotation marks, or a run of bytes without a space.
package enum MessageText {
    /// The most bytes of one value.
    static let longestValue = 200
    /// The most bytes of a message, which may repeat many values.
    static let longestMessage = 4000

    private static let ellipsis = Array("...".utf8)

    /// The message with each value cut to 200 bytes.
    package static func shortened(_ message: String) -> String {
        let count = message.utf8.count
        guard count > longestValue else { return message }
        var kept: [UInt8] = []
        kept.reserveCapacity(min(count, longestMessage) + longestValue)
        /// Bytes of the present value so far.
        var length = 0
        var isQuoted = false
        for byte in message.utf8 {
            // No more would fit; the end of a message is the least of it.
            if kept.count >= longestMessage, byte & 0xC0 != 0x80 {
                kept += ellipsis
                break
            }
            let isEnd = byte == 0x22 || (!isQuoted && byte <= 0x20)
            if byte == 0x22 { isQuoted.toggle() }
            if isEnd {
                length = 0
            } else {
                length += 1
                // A character is kept whole.
                if length > longestValue {
                    if length == longestValue + 1 {
                        trimCharacter(&kept, before: byte)
                        kept += ellipsis
                    }
                    continue
                }
            }
            kept.append(byte)
        }
        return String(decoding: kept, as: UTF8.self)
    }

    /// Removes the beginning of a character that is cut by what is left out.
    private static func trimCharacter(_ bytes: inout [UInt8], before next: UInt8) {
        guard next & 0xC0 == 0x80 else { return }
        while let last = bytes.last, last & 0xC0 == 0x80 { bytes.removeLast() }
        if let last = bytes.last, last >= 0xC0 { bytes.removeLast() }
    }
}
