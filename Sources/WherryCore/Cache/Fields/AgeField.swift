// Wherry: the Age header.
// SPDX-License-Identifier: Apache-2.0

/// The Age header: the time that a response spent in caches (RFC 9111, section 5.1).
package enum AgeField {
    /// Parses the first member of the first line: whole seconds, at most
    /// ``CacheDirectives/mostSeconds``. `nil` if it is not a number; the header is then ignored.
    package static func seconds(_ lines: [String]) -> Int64? {
        guard let first = lines.first else { return nil }
        let member = first.utf8.prefix { $0 != 0x2C }
        let text = String(decoding: member, as: UTF8.self).trimmingFieldSpace
        guard CacheDirectives.isNumber(text) else { return nil }
        return min(FieldScanner.number(text.utf8) ?? .max, CacheDirectives.mostSeconds)
    }
}

extension String {
    /// The text without surrounding spaces and tabs (RFC 9110, section 5.6.3).
    package var trimmingFieldSpace: String {
        let bytes = utf8.drop { $0 == 0x20 || $0 == 0x09 }
        guard let last = bytes.lastIndex(where: { $0 != 0x20 && $0 != 0x09 }) else { return "" }
        return String(decoding: bytes[...last], as: UTF8.self)
    }
}
