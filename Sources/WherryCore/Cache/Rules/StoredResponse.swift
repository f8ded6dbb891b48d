// Wherry: an answer that a cache keeps.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// A stored answer with what decides about its reuse, worked out beforehand.
package struct StoredResponse: Sendable, Equatable {
    /// 200 for a part of a representation, which ``part`` tells.
    package var status: Int
    package var httpVersion: Int
    /// The stored fields: `name: value\n` for each, without Age.
    package var block: Bytes
    package var selecting: SelectingFields
    package var freshness: Freshness
    package var control: ReuseControl
    /// As they came, to be sent back so.
    package var etag: String?
    package var lastModified: String?
    /// Where the bytes lie in the whole, of an answer that is not complete.
    package var part: StoredPart?
    /// The body is stored without its content coding.
    package var isDecoded: Bool
    package var body: Bytes

    package init(
        status: Int, httpVersion: Int, block: Bytes, selecting: SelectingFields,
        freshness: Freshness, control: ReuseControl, etag: String?, lastModified: String?,
        part: StoredPart?, isDecoded: Bool, body: Bytes
    ) {
        self.status = status
        self.httpVersion = httpVersion
        self.block = block
        self.selecting = selecting
        self.freshness = freshness
        self.control = control
        self.etag = etag
        self.lastModified = lastModified
        self.part = part
        self.isDecoded = isDecoded
        self.body = body
    }

    /// The stored head, without an age.
    package var head: ResponseHead {
        ResponseHead(status: status, httpVersion: httpVersion, block: block)
    }

    /// The entity tag, if it is one by its grammar.
    package var entityTag: EntityTag? { etag.flatMap { EntityTag($0) } }

    /// A validator under which bytes of two answers may be joined (RFC 9111, section 3.4).
    package var strongTag: EntityTag? {
        guard let tag = entityTag, !tag.isWeak else { return nil }
        return tag
    }

    package var isComplete: Bool { part == nil }

    /// Whether a request would be served by this answer as far as Vary goes (section 4.1).
    package func matches(_ request: CacheRequest, secret: VarySecret) -> Bool {
        selecting.fields.isEmpty
            || SelectingFields(
                selecting.fields.map { $0.name }, of: request.headers, secret: secret) == selecting
    }
}

/// Which bytes of a representation there are.
package struct StoredPart: Hashable, Sendable {
    /// Offset of the first byte.
    package var first: Int64
    /// Offset of the last byte.
    package var last: Int64
    /// The length of the whole, if it is known.
    package var total: Int64?

    package init(first: Int64, last: Int64, total: Int64?) {
        self.first = first
        self.last = last
        self.total = total
    }

    package var count: Int64 { last - first + 1 }
}

/// The directives of a stored answer that count when it is looked at again.
package struct ReuseControl: Hashable, Sendable {
    package var noCache = false
    package var mustRevalidate = false
    package var isImmutable = false
    /// Milliseconds past the end of freshness; `nil` without the directive.
    package var staleWhileRevalidate: Int64?
    package var staleIfError: Int64?

    package init() {}

    package init(_ control: ResponseCacheControl) {
        noCache = control.noCache
        mustRevalidate = control.mustRevalidate
        isImmutable = control.isImmutable
        staleWhileRevalidate = control.staleWhileRevalidate?.millisecondsSaturating
        staleIfError = control.staleIfError?.millisecondsSaturating
    }

    /// Whether a stale answer may never be given (section 4.2.4).
    package var forbidsStale: Bool { noCache || mustRevalidate }
}
