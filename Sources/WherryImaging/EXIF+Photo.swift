// Wherry: the EXIF values that describe a photograph.
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// When, where, and with which camera a photograph was taken, as far as its EXIF data say. Values that
/// are malformed count as missing.
package struct PhotoInfo: Hashable, Sendable {
    /// The local time of the exposure in ISO 8601, such as "2024-05-01T12:34:56", with the offset from
    /// UTC if the camera recorded it: "2024-05-01T12:34:56+02:00".
    package var takenAt: String?
    /// The manufacturer of the camera.
    package var make: String?
    /// The model of the camera.
    package var model: String?
    package var position: Position?
    /// Meters above sea level; negative below.
    package var altitude: Double?

    /// A place on Earth.
    package struct Position: Hashable, Sendable {
        /// Degrees north of the equator, -90...90.
        package let latitude: Double
        /// Degrees east of Greenwich, -180...180.
        package let longitude: Double
    }

    package init() {}
}

extension PhotoInfo {
    init(_ exif: EXIF) {
        let main = exif.mainDirectory
        make = exif.text(Tag.make, in: main)
        model = exif.text(Tag.model, in: main)
        if let details = exif.directory(Tag.details, in: main) {
            takenAt = exif.text(Tag.takenAt, in: details).flatMap(Self.time).map { time in
                time + (exif.text(Tag.takenAtOffset, in: details).flatMap(Self.offset) ?? "")
            }
        }
        guard let places = exif.directory(Tag.places, in: main) else { return }
        if let latitude = exif.degrees(Tag.latitude, in: places, negative: "S", positive: "N"),
            let longitude = exif.degrees(Tag.longitude, in: places, negative: "W", positive: "E"),
            abs(latitude) <= 90, abs(longitude) <= 180
        {
            position = Position(latitude: latitude, longitude: longitude)
        }
        if let height = exif.rationals(Tag.altitude, 1, in: places)?.first {
            altitude = exif.byte(Tag.altitudeSign, in: places) == 1 ? -height : height
        }
    }

    private enum Tag {
        static let make = 0x010F
        static let model = 0x0110
        static let details = 0x8769
        static let places = 0x8825
        static let takenAt = 0x9003
        static let takenAtOffset = 0x9011
        /// Its reference, N or S, has the number before; likewise for the longitude.
        static let latitude = 2
        static let longitude = 4
        static let altitudeSign = 5
        static let altitude = 6
    }

    /// Converts "2024:05:01 12:34:56"; `nil` for anything but a time.
    private static func time(_ text: String) -> String? {
        let bytes = Array(text.utf8)
        let pattern = Array("0000:00:00 00:00:00".utf8)
        guard let digits = digits(of: bytes, pattern) else { return nil }
        func number(_ range: Range<Int>) -> Int { digits[range].reduce(0) { $0 * 10 + $1 } }
        guard number(0..<4) > 0, (1...12).contains(number(4..<6)), (1...31).contains(number(6..<8)),
            number(8..<10) <= 23, number(10..<12) <= 59, number(12..<14) <= 60
        else { return nil }
        let dash = UInt8(ascii: "-")
        let date = bytes[..<4] + [dash] + bytes[5..<7] + [dash] + bytes[8..<10]
        return String(decoding: date + [UInt8(ascii: "T")] + bytes[11...], as: UTF8.self)
    }

    /// Returns an offset such as "+02:00"; `nil` for anything else.
    private static func offset(_ text: String) -> String? {
        let bytes = Array(text.utf8)
        guard let sign = bytes.first, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-"),
            let digits = digits(of: Array(bytes.dropFirst()), Array("00:00".utf8)),
            digits[0] * 10 + digits[1] <= 23, digits[2] <= 5
        else { return nil }
        return text
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

extension EXIF {
    /// The longest text that is read; cameras write a few dozen bytes.
    private static let longestText = 1_000

    /// Returns the first text of a tag, without spaces at its ends; `nil` if there is none.
    fileprivate func text(_ tag: Int, in directory: Int?) -> String? {
        guard let value = value(tag, type: 2, in: directory) else { return nil }
        var bytes = self.bytes[value].prefix(Self.longestText).prefix { $0 != 0 }
        while bytes.last == 0x20 { bytes.removeLast() }
        while bytes.first == 0x20 { bytes.removeFirst() }
        guard !bytes.isEmpty, bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { return nil }
        // EXIF requires ASCII. Cameras also write UTF-8, or Latin-1.
        return String(validating: bytes, as: UTF8.self)
            ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }

    fileprivate func byte(_ tag: Int, in directory: Int?) -> UInt8? {
        value(tag, type: 1, in: directory).flatMap { bytes[$0].first }
    }

    /// Returns `count` unsigned fractions; `nil` if a denominator is zero.
    fileprivate func rationals(_ tag: Int, _ count: Int, in directory: Int?) -> [Double]? {
        guard let value = value(tag, type: 5, in: directory), value.count >= 8 * count else {
            return nil
        }
        var numbers: [Double] = []
        for at in stride(from: value.lowerBound, to: value.lowerBound + 8 * count, by: 8) {
            guard let above = u32(at), let below = u32(at + 4), below != 0 else { return nil }
            numbers.append(Double(above) / Double(below))
        }
        return numbers
    }

    /// Returns an angle from degrees, minutes, and seconds, and the letter of the tag before.
    fileprivate func degrees(
        _ tag: Int, in directory: Int?, negative: String, positive: String
    ) -> Double? {
        guard let letter = text(tag - 1, in: directory), [negative, positive].contains(letter),
            let parts = rationals(tag, 3, in: directory)
        else { return nil }
        let angle = parts[0] + parts[1] / 60 + parts[2] / 3_600
        return letter == negative ? -angle : angle
    }
}
