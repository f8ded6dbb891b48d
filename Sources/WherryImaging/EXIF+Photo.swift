// Wherry: the EXIF values that describe a photograph.
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// When, where, with which camera, and by whom a photograph was taken, as far as its EXIF data say.
/// Values that are malformed count as missing.
package struct PhotoInfo: Hashable, Sendable {
    /// The local time of the exposure in ISO 8601, such as "2024-05-01T12:34:56", with the offset from
    /// UTC if the camera recorded it: "2024-05-01T12:34:56+02:00".
    package var takenAt: String?
    /// The manufacturer of the camera.
    package var make: String?
    /// The model of the camera.
    package var model: String?
    package var copyright: String?
    /// The photographer.
    package var artist: String?
    /// The description of the image.
    package var description: String?
    /// The program that wrote the image, or the version of the camera's firmware.
    package var software: String?
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
        copyright = exif.text(Tag.copyright, in: main, hasLines: true)
        artist = exif.text(Tag.artist, in: main, hasLines: true)
        description = exif.text(Tag.description, in: main, hasLines: true)
        software = exif.text(Tag.software, in: main)
        if let details = exif.directory(Tag.details, in: main) {
            takenAt = exif.text(Tag.takenAt, in: details).flatMap { text in
                EXIFTime(text, offset: exif.text(Tag.takenAtOffset, in: details))?.iso
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
        static let description = 0x010E
        static let make = 0x010F
        static let model = 0x0110
        static let software = 0x0131
        static let artist = 0x013B
        static let copyright = 0x8298
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
}

extension EXIF {
    /// The length to which texts are cut; cameras write a few dozen bytes.
    private static let longestText = 1_000

    /// Returns the first text of a tag, without spaces at its ends; `nil` if there is none.
    ///
    /// - Parameter hasLines: Whether the text may contain tabs and line breaks.
    fileprivate func text(_ tag: Int, in directory: Int?, hasLines: Bool = false) -> String? {
        guard let value = value(tag, type: 2, in: directory) else { return nil }
        var bytes = self.bytes[value].prefix(Self.longestText).prefix { $0 != 0 }
        if bytes.count == Self.longestText {
            // The last character may be incomplete.
            let start = bytes.lastIndex { $0 & 0xC0 != 0x80 } ?? bytes.startIndex
            if String(validating: bytes[start...], as: UTF8.self) == nil { bytes = bytes[..<start] }
        }
        while bytes.last == 0x20 { bytes.removeLast() }
        while bytes.first == 0x20 { bytes.removeFirst() }
        let isValid: (UInt8) -> Bool = {
            $0 >= 0x20 && $0 != 0x7F || hasLines && [0x09, 0x0A, 0x0D].contains($0)
        }
        guard !bytes.isEmpty, bytes.allSatisfy(isValid) else { return nil }
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
