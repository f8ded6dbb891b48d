// Wherry: the Age header.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP

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
