// Wherry: strong validators of a file.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP

/// A strong validator (RFC 9110, section 8.8). Equal validators mean equal bytes.
package enum StrongValidator: Hashable, Sendable {
    /// An entity tag as it was sent, including quotes. Never a weak one.
    case entityTag(String)
    /// A Last-Modified date as it was sent.
    case lastModified(String)

    /// The maximum length in bytes. Longer values are ignored.
    package static let maximumBytes = 512

    /// The value for If-Range and If-Match.
    package var fieldValue: String {
        switch self {
        case .entityTag(let text), .lastModified(let text): text
        }
    }

    /// Returns the strong validator of a response, or `nil` if it has none (DR2).
    ///
    /// Last-Modified counts only if the response has no entity tag, not even a weak one, and if its
    /// Date is at least 60 s later. Within that time the file may have changed twice (RFC 9110,
    /// section 8.8.2.2, requires 1 s; RFC 7232 requires 60 s).
    package static func of(_ head: DownloadHead) -> StrongValidator? {
        if !head.entityTags.isEmpty {
            guard head.entityTags.count == 1, isStrongTag(head.entityTags[0]) else { return nil }
            return .entityTag(head.entityTags[0])
        }
        guard let text = head.lastModified, text.utf8.count <= maximumBytes,
            let modified = head.lastModifiedSeconds, let date = head.dateSeconds,
            date >= modified, date - modified >= 60
        else { return nil }
        return .lastModified(text)
    }

    /// Returns whether a tag is strong. Rejects non-ASCII bytes: a tag may have them, but they may
    /// not survive the conversion to text.
    private static func isStrongTag(_ text: String) -> Bool {
        guard let tag = EntityTag(text), !tag.isWeak else { return false }
        return text.utf8.count <= maximumBytes && text.utf8.allSatisfy { $0 < 0x80 }
    }
}
