// Wherry: safe file names for downloads.
// SPDX-License-Identifier: Apache-2.0

@_spi(_Unicode) import Swift
import WherrySystem

/// Chooses a file name from a response's headers and URL. Whatever a server sends, the result names
/// a direct child of a directory.
package enum SuggestedFileName {
    /// The name to use if neither the headers nor the URL has one.
    package static let fallback = "download"

    /// The maximum length of a name in bytes: 255, the limit of Linux, less the space for the names
    /// of partial files, `.<name>.<8 digits>.part.journal`.
    package static let defaultMaximum = 255 - 23

    /// Suffixes of the library's own files.
    private static let ownSuffixes = [".part", ".journal", ".lock"]

    /// Returns the first usable name: `filename*` or `filename` of Content-Disposition, the last
    /// segment of the URL, or "download". The name is sanitized.
    ///
    /// - Parameter maximum: The maximum length in bytes. Default: 232; limited to 32 through 255.
    package static func choose(
        contentDisposition: String?, url: String, maximum: Int = defaultMaximum
    ) -> String {
        let disposition = contentDisposition.map { Array($0.utf8) }
        return choose(contentDisposition: disposition, url: url, maximum: maximum)
    }

    /// Returns the first usable name, for a Content-Disposition header given as bytes, which may be
    /// ISO-8859-1.
    package static func choose(
        contentDisposition: [UInt8]?, url: String, maximum: Int = defaultMaximum
    ) -> String {
        if let disposition = contentDisposition.map({ ContentDisposition($0) }) {
            for name in [disposition.extendedFileName, disposition.fileName] {
                if let safe = name.flatMap({ clean($0, maximum: maximum) }) { return safe }
            }
        }
        return lastSegment(of: url).flatMap { clean($0, maximum: maximum) } ?? fallback
    }

    /// Returns the sanitized name, or `nil` if nothing remains.
    ///
    /// Keeps only the part after the last slash or backslash, even a percent-encoded one. Removes
    /// control characters and those that change the text direction. Then removes leading dots,
    /// dashes and spaces, and trailing dots and spaces. Normalizes the rest (NFC) and cuts it to
    /// `maximum` bytes, keeping the extension. Adds an underscore to device names and to suffixes
    /// of the library's own files.
    package static func clean(_ name: String, maximum: Int = defaultMaximum) -> String? {
        let maximum = min(255, max(32, maximum))
        var kept = String.UnicodeScalarView()
        kept.append(contentsOf: lastComponent(name).unicodeScalars.lazy.filter { !isDropped($0) })
        var composed = String.UnicodeScalarView()
        composed.append(contentsOf: String(kept)._nfc)
        var safe = trimmedEnd(String(composed.drop { $0 == "-" || isTrimmed($0) }))
        if safe.isEmpty { return nil }
        if isDevice(safe) { safe = "_" + safe }
        safe = shortened(safe, to: maximum)
        if ownSuffixes.contains(where: safe.lowercased().hasSuffix) {
            safe = shortened(safe, to: maximum - 1) + "_"
        }
        // PathText maps some private-use characters to raw bytes: escape those of the server.
        return PathText.text(safe.utf8)
    }

    /// Returns the last non-empty segment of a URL's path, percent-decoded if the escapes are valid
    /// UTF-8; `nil` for a URL without a path.
    package static func lastSegment(of url: String) -> String? {
        var path = url.utf8.prefix { $0 != 0x23 && $0 != 0x3F }
        if let colon = path.firstIndex(of: 0x3A), path[colon...].starts(with: "://".utf8) {
            let authority = path[colon...].dropFirst(3)
            path = authority.drop { $0 != 0x2F }
        }
        guard let segment = path.split(separator: 0x2F).last else { return nil }
        let decoded = PercentCoding.decode(segment).flatMap {
            String(validating: $0, as: UTF8.self)
        }
        return decoded ?? String(decoding: segment, as: UTF8.self)
    }

    // MARK: - Steps

    private static func lastComponent(_ name: String) -> String {
        let bytes = Array(name.utf8)
        var start = 0
        for (index, byte) in bytes.enumerated() {
            if byte == 0x2F || byte == 0x5C {
                start = index + 1
            } else if byte == 0x25, index + 2 < bytes.count {
                let escape = (bytes[index + 1], bytes[index + 2] | 0x20)
                if escape == (0x32, 0x66) || escape == (0x35, 0x63) { start = index + 3 }
            }
        }
        return String(decoding: bytes[start...], as: UTF8.self)
    }

    private static func isDropped(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0: true  // C0, DEL and C1
        case 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: true  // direction
        case 0x2028, 0x2029: true  // line and paragraph separators
        default: false
        }
    }

    private static func isTrimmed(_ scalar: Unicode.Scalar) -> Bool {
        scalar == "." || scalar.properties.isWhitespace
    }

    private static func trimmedEnd(_ name: String) -> String {
        var scalars = name.unicodeScalars
        while let last = scalars.last, isTrimmed(last) { scalars.removeLast() }
        return String(scalars)
    }

    /// Returns whether a name is CON, PRN, AUX, NUL, COM1-9 or LPT1-9, with any extension: devices
    /// on other systems.
    private static func isDevice(_ name: String) -> Bool {
        let stem = trimmedEnd(String(name.prefix { $0 != "." })).uppercased()
        if ["CON", "PRN", "AUX", "NUL"].contains(stem) { return true }
        return stem.utf8.count == 4 && (stem.hasPrefix("COM") || stem.hasPrefix("LPT"))
            && stem.utf8.last.map { $0 >= 0x31 && $0 <= 0x39 } == true
    }

    private static func shortened(_ name: String, to maximum: Int) -> String {
        guard name.utf8.count > maximum else { return name }
        if let dot = name.utf8.lastIndex(of: 0x2E), name[dot...].utf8.count <= 16 {
            let stem = cut(name[..<dot], to: maximum - name[dot...].utf8.count)
            if !stem.isEmpty { return stem + name[dot...] }
        }
        return cut(name[...], to: maximum)
    }

    /// Returns as many characters as fit, or code points if a single character is too large,
    /// without trailing dots and spaces.
    private static func cut(_ name: Substring, to maximum: Int) -> String {
        var room = maximum
        var fitting = name.prefix { character in
            room -= character.utf8.count
            return room >= 0
        }
        if fitting.isEmpty {
            room = maximum
            fitting = Substring(
                name.unicodeScalars.prefix { scalar in
                    room -= UTF8.width(scalar)
                    return room >= 0
                })
        }
        return trimmedEnd(String(fitting))
    }
}
