// Wherry: parsing Content-Disposition.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// The file names in a Content-Disposition header (RFC 6266), as received and not sanitized.
///
/// The parser is lenient, like many servers: unquoted values may contain spaces, the disposition
/// type may be missing, and a quoted string may be unterminated.
package struct ContentDisposition: Hashable, Sendable {
    /// The first valid `filename*` (RFC 8187, in UTF-8 or ISO-8859-1).
    package private(set) var extendedFileName: String?
    /// The first `filename`: as UTF-8, or as ISO-8859-1 if it is not UTF-8. Not percent-decoded.
    package private(set) var fileName: String?

    package init(_ value: some Collection<UInt8>) {
        var scanner = FieldScanner(value)
        while !scanner.isAtEnd {
            let name = String(decoding: scanner.prefix { $0 != 0x3B && $0 != 0x3D }, as: UTF8.self)
            guard scanner.skip(0x3D) else {  // the type, or an empty parameter
                _ = scanner.skip(0x3B)
                continue
            }
            scanner.skipSpace()
            let raw = Self.value(&scanner)
            _ = scanner.prefix { $0 != 0x3B }
            _ = scanner.skip(0x3B)
            switch name.filter({ $0 != " " && $0 != "\t" }).lowercased() {
            case "filename": fileName = fileName ?? Self.text(raw)
            case "filename*": extendedFileName = extendedFileName ?? Self.extended(raw)
            default: break
            }
        }
    }

    /// Parses a quoted value, or everything up to the semicolon.
    private static func value(_ scanner: inout FieldScanner) -> [UInt8] {
        guard scanner.skip(0x22) else {
            var bare = Array(scanner.prefix { $0 != 0x3B })
            while let last = bare.last, last == 0x20 || last == 0x09 { bare.removeLast() }
            return bare
        }
        var bytes: [UInt8] = []
        while let byte = scanner.next, !scanner.skip(0x22) {
            _ = scanner.skip(byte)
            // Only \" and \\ are escapes: old servers send Windows paths.
            if byte == 0x5C, let pair = scanner.next, pair == 0x22 || pair == 0x5C {
                _ = scanner.skip(pair)
                bytes.append(pair)
            } else {
                bytes.append(byte)
            }
        }
        return bytes
    }

    private static func text(_ bytes: [UInt8]) -> String {
        String(validating: bytes, as: UTF8.self) ?? latin1(bytes)
    }

    private static func latin1(_ bytes: [UInt8]) -> String {
        String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }

    /// Parses `charset'language'percent-encoded` (RFC 8187, section 3.2.1); `nil` for other
    /// charsets, and for bytes that are invalid in the charset.
    private static func extended(_ bytes: [UInt8]) -> String? {
        let parts = bytes.split(separator: 0x27, maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let decoded = PercentCoding.decode(parts[2]) else { return nil }
        switch String(decoding: parts[0], as: UTF8.self).lowercased() {
        case "utf-8": return String(validating: decoded, as: UTF8.self)
        case "iso-8859-1": return latin1(decoded)
        default: return nil
        }
    }
}
