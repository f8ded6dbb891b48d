// Wherry: error messages of a bounded length.
// SPDX-License-Identifier: Apache-2.0

/// Shortens values in messages, such as a URL of several megabytes. Stateless.
///
/// A value is the text between two quotation marks, or a run of bytes without a space.
package enum MessageText {
    /// The maximum length of a value in bytes.
    static let longestValue = 200
    /// The maximum length of a message in bytes.
    static let longestMessage = 4000

    private static let ellipsis = Array("...".utf8)

    /// Returns the message with each value cut to 200 bytes.
    package static func shortened(_ message: String) -> String {
        let count = message.utf8.count
        guard count > longestValue else { return message }
        var kept: [UInt8] = []
        kept.reserveCapacity(min(count, longestMessage) + longestValue)
        /// The length of the current value so far, in bytes.
        var length = 0
        var isQuoted = false
        for byte in message.utf8 {
            // The message is full. Its end is the least important part.
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
                // Do not split a character.
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

    /// Removes an incomplete character at the end.
    private static func trimCharacter(_ bytes: inout [UInt8], before next: UInt8) {
        guard next & 0xC0 == 0x80 else { return }
        while let last = bytes.last, last & 0xC0 == 0x80 { bytes.removeLast() }
        if let last = bytes.last, last >= 0xC0 { bytes.removeLast() }
    }
}
