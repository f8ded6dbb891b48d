// Wherry: entity tags.
// SPDX-License-Identifier: Apache-2.0

/// An entity tag (RFC 9110, section 8.8.3).
package struct EntityTag: Hashable, Sendable {
    /// The tag as received, to be sent back unchanged: `"abc"` or `W/"abc"`.
    package let text: String

    /// Whether equal tags promise only equal meaning, not equal bytes.
    package var isWeak: Bool { text.utf8.first == 0x57 }

    /// The tag with quotes and without `W/`.
    package var opaque: Substring { isWeak ? text.dropFirst(2) : text[...] }

    /// Parses one tag; `nil` if malformed, such as an unquoted one.
    package init?(_ text: some StringProtocol) {
        var scanner = FieldScanner(text.utf8)
        guard let tag = EntityTag(&scanner), scanner.isAtEnd else { return nil }
        self = tag
    }

    fileprivate init?(_ scanner: inout FieldScanner) {
        let isWeak = scanner.next == 0x57
        if isWeak { guard scanner.skip(0x57), scanner.skip(0x2F) else { return nil } }
        guard scanner.skip(0x22) else { return nil }
        let inside = scanner.prefix { $0 == 0x21 || $0 >= 0x23 && $0 != 0x7F }
        guard scanner.skip(0x22) else { return nil }
        text = (isWeak ? "W/\"" : "\"") + String(decoding: inside, as: UTF8.self) + "\""
    }

    /// Returns whether both tags are strong and equal, as ranges require (RFC 9110, section
    /// 8.8.3.2).
    package func isStronglyEqual(to other: EntityTag) -> Bool {
        !isWeak && !other.isWeak && text == other.text
    }

    /// Returns whether the tags are equal apart from weakness, which is enough for caches.
    package func isWeaklyEqual(to other: EntityTag) -> Bool { opaque == other.opaque }
}

/// The value of If-Match or If-None-Match (RFC 9110, sections 13.1.1 and 13.1.2).
package enum EntityTagList: Hashable, Sendable {
    /// `*`.
    case any
    case tags([EntityTag])

    /// Parses a list and skips empty elements; `nil` if malformed or without tags.
    package init?(_ text: some StringProtocol) {
        var scanner = FieldScanner(text.utf8)
        var tags: [EntityTag] = []
        scanner.skipSpace()
        if scanner.skip(0x2A) {
            scanner.skipSpace()
            guard scanner.isAtEnd else { return nil }
            self = .any
            return
        }
        while !scanner.isAtEnd {
            if scanner.next != 0x2C {
                guard let tag = EntityTag(&scanner) else { return nil }
                tags.append(tag)
                scanner.skipSpace()
            }
            guard scanner.isAtEnd || scanner.skip(0x2C) else { return nil }
            scanner.skipSpace()
        }
        guard !tags.isEmpty else { return nil }
        self = .tags(tags)
    }

    /// Returns whether the list contains the tag by weak comparison, or is `*`.
    package func containsWeakly(_ tag: EntityTag) -> Bool {
        switch self {
        case .any: true
        case .tags(let tags): tags.contains { $0.isWeaklyEqual(to: tag) }
        }
    }
}
