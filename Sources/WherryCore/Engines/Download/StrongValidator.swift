// Wherry: what proves that two answers are parts of one file
// SPDX-License-Identifier: Apache-2.0

/// A strong validator (RFC 9110, section 8.8): equal ones mean equal bytes.
package enum StrongValidator: Hashable, Sendable {
    /// An entity tag, quotes included, as it was sent. Never a weak one.
    case entityTag(String)
    /// A Last-Modified date, as it was sent.
    case lastModified(String)

    /// The longest value that is kept; a longer one is as good as none.
    package static let maximumBytes = 512

    /// The form for If-Range.
    package var fieldValue: String {
        switch self {
        case .entityTag(let text), .lastModified(let text): text
        }
    }

    /// The validator an answer offers, or `nil` if it has no strong one (DR2).
    ///
    /// Last-Modified counts only where no entity tag was sent at all, a weak one included, and
    /// where the answer's Date is at least 60 s later: within that time the file may have changed
    /// twice (RFC 9110, section 8.8.2.2, asks for 1 s, RFC 7232 for 60).
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

    /// Bytes beyond ASCII, though allowed in a tag, may not survive being read as text.
    private static func isStrongTag(_ text: String) -> Bool {
        guard let tag = EntityTag(text), !tag.isWeak else { return false }
        return text.utf8.count <= maximumBytes && text.utf8.allSatisfy { $0 < 0x80 }
    }
}
