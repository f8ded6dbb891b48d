// Wherry: times in EXIF.
// SPDX-License-Identifier: Apache-2.0

/// A local time, with its offset from UTC if it is known, in the forms of EXIF and ISO 8601.
struct EXIFTime: Hashable {
    /// "2024:05:01 12:34:56".
    let text: String
    /// "+02:00"; `nil` if it is unknown.
    let offset: String?

    /// Reads the texts of EXIF. An invalid offset counts as unknown.
    init?(_ text: String, offset: String?) {
        guard Self.isTime(text, "0000:00:00 00:00:00") else { return nil }
        self.text = text
        self.offset = offset.flatMap { Self.isOffset($0) ? $0 : nil }
    }

    /// Reads "2024-05-01T12:34:56", followed by nothing, an offset such as "+02:00", or "Z". A space may
    /// replace the T.
    init?(iso: String) {
        let bytes = Array(iso.utf8)
        let time = String(decoding: bytes.prefix(19), as: UTF8.self)
        let rest = String(decoding: bytes.dropFirst(19), as: UTF8.self)
        let isTime = ["T", " "].contains { Self.isTime(time, "0000-00-00\($0)00:00:00") }
        guard isTime, rest.isEmpty || rest == "Z" || Self.isOffset(rest) else { return nil }
        let colon = UInt8(ascii: ":")
        let date = bytes[..<4] + [colon] + bytes[5..<7] + [colon] + bytes[8..<10]
        text = String(decoding: date + [UInt8(ascii: " ")] + bytes[11..<19], as: UTF8.self)
        offset = rest.isEmpty ? nil : rest == "Z" ? "+00:00" : rest
    }

    /// "2024-05-01T12:34:56+02:00".
    var iso: String {
        let bytes = Array(text.utf8)
        let dash = UInt8(ascii: "-")
        let date = bytes[..<4] + [dash] + bytes[5..<7] + [dash] + bytes[8..<10]
        return String(decoding: date + [UInt8(ascii: "T")] + bytes[11...], as: UTF8.self)
            + (offset ?? "")
    }

    private static func isTime(_ text: String, _ pattern: String) -> Bool {
        guard let digits = digits(of: Array(text.utf8), Array(pattern.utf8)) else { return false }
        func number(_ range: Range<Int>) -> Int { digits[range].reduce(0) { $0 * 10 + $1 } }
        let (year, month) = (number(0..<4), number(4..<6))
        guard year > 0, (1...12).contains(month) else { return false }
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        let days = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]
        return (1...days).contains(number(6..<8)) && number(8..<10) <= 23
            && number(10..<12) <= 59 && number(12..<14) <= 60
    }

    private static func isOffset(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        guard let sign = bytes.first, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-"),
            let digits = digits(of: Array(bytes.dropFirst()), Array("00:00".utf8))
        else { return false }
        return digits[0] * 10 + digits[1] <= 23 && digits[2] <= 5
    }

    /// Returns the digits of a text that has the same characters as the pattern, but other digits.
    private static func digits(of bytes: [UInt8], _ pattern: [UInt8]) -> [Int]? {
        guard bytes.count == pattern.count else { return nil }
        let zero = UInt8(ascii: "0")
        var digits: [Int] = []
        for (byte, wanted) in zip(bytes, pattern) {
            if wanted == zero {
                guard (zero...zero + 9).contains(byte) else { return nil }
                digits.append(Int(byte - zero))
            } else if byte != wanted {
                return nil
            }
        }
        return digits
    }
}
