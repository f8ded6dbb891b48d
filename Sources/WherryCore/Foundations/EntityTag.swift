// Wherry: entity tags, which tell one version of a resource from another.
// SPDX-License-Identifier: Apache-2.0

/// An entity tag (RFC 9110, section 8.8.3).
package struct EntityTag: Hashable, Sendable {
    /// The tag as it came and as it is sent back: `"abc"` or `W/"abc"`.
    package let text: String

    /// Whether it only promises the same meaning, not the same bytes.
    package var isWeak: Bool { text.utf8.first == 0x57 }

    /// The tag with its quotes and without `W/`.
    package var opaque: Substring { isWeak ? text.dropFirst(2) : text[...] }

    /// Reads one tag; `nil` for what is none, an unquoted one for instance.
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

    /// Whether both are strong and the same: good for ranges (RFC 9110, section 8.8.3.2).
    package func isStronglyEqual(to other: EntityTag) -> Bool {
        !isWeak && !other.isWeak && text == other.text
    }

    /// Whether both are the same but for weakness: good for caches.
    package func isWeaklyEqual(to other: EntityTag) -> Bool { opaque == other.opaque }
}

/// The value of If-Match or If-None-Match (RFC 9110, sections 13.1.1 and 13.1.2).
package enum EntityTagList: Hashable, Sendable {
    /// `*`
    case any
    case tags([EntityTag])

    /// Reads a list; empty elements are skipped, and `nil` is for what breaks the grammar and for
    /// a list without tags.
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

    /// Whether the list names the tag by the weak comparison, or any at all.
    package func containsWeakly(_ tag: EntityTag) -> Bool {
        switch self {
        case .any: true
        case .tags(let tags): tags.contains { $0.isWeaklyEqual(to: tag) }
        }
    }
}
