// Wherry: a stored response.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherrySystem
import WherryTransport

/// A stored response with precomputed data for its reuse.
package struct StoredResponse: Sendable, Equatable {
    private struct Content: Equatable {
        var status: Int
        var httpVersion: Int
        var block: Bytes
        var selecting: SelectingFields
        var freshness: Freshness
        var control: ReuseControl
        var etag: String?
        var lastModified: String?
        var part: StoredPart?
        var isDecoded: Bool
        var leftOut: [String]
        var body: Bytes
        /// Whether the body has a content encoding. Computed once, because every lookup uses it.
        var isCoded = false
    }

    /// A hit copies the response several times: copy-on-write costs one reference count per copy.
    private var content: CopyOnWrite<Content>

    /// 200 for a part of a representation; see ``part``.
    package var status: Int {
        get { content.value.status }
        _modify { yield &content.value.status }
    }
    package var httpVersion: Int {
        get { content.value.httpVersion }
        _modify { yield &content.value.httpVersion }
    }
    /// The stored headers: one `name: value\n` per line, without Age.
    package var block: Bytes {
        get { content.value.block }
        set {
            content.value.block = newValue
            noteCoding()
        }
    }
    package var selecting: SelectingFields {
        get { content.value.selecting }
        _modify { yield &content.value.selecting }
    }
    package var freshness: Freshness {
        get { content.value.freshness }
        _modify { yield &content.value.freshness }
    }
    package var control: ReuseControl {
        get { content.value.control }
        _modify { yield &content.value.control }
    }
    /// As received, to be sent back unchanged.
    package var etag: String? {
        get { content.value.etag }
        _modify { yield &content.value.etag }
    }
    package var lastModified: String? {
        get { content.value.lastModified }
        _modify { yield &content.value.lastModified }
    }
    /// The range of the body in the whole representation, if incomplete.
    package var part: StoredPart? {
        get { content.value.part }
        _modify { yield &content.value.part }
    }
    /// Whether the body is stored without its content encoding.
    package var isDecoded: Bool {
        get { content.value.isDecoded }
        set {
            content.value.isDecoded = newValue
            noteCoding()
        }
    }
    /// The lower-case names of headers that are not stored, even after a 304.
    package var leftOut: [String] {
        get { content.value.leftOut }
        _modify { yield &content.value.leftOut }
    }
    package var body: Bytes {
        get { content.value.body }
        _modify { yield &content.value.body }
    }

    package init(
        status: Int, httpVersion: Int, block: Bytes, selecting: SelectingFields,
        freshness: Freshness, control: ReuseControl, etag: String?, lastModified: String?,
        part: StoredPart?, isDecoded: Bool, leftOut: [String] = [], body: Bytes
    ) {
        content = CopyOnWrite(
            Content(
                status: status, httpVersion: httpVersion, block: block, selecting: selecting,
                freshness: freshness, control: control, etag: etag, lastModified: lastModified,
                part: part, isDecoded: isDecoded, leftOut: leftOut, body: body))
        noteCoding()
    }

    package static func == (a: StoredResponse, b: StoredResponse) -> Bool {
        a.content.value == b.content.value
    }

    /// The stored status and headers, without Age.
    package var head: ResponseHead {
        ResponseHead(status: status, httpVersion: httpVersion, block: block)
    }

    /// The entity tag, if valid.
    package var entityTag: EntityTag? { etag.flatMap { EntityTag($0) } }

    /// A validator for joining parts (RFC 9111, section 3.4).
    package var strongTag: EntityTag? {
        guard let tag = entityTag, !tag.isWeak else { return nil }
        return tag
    }

    package var isComplete: Bool { part == nil }

    /// Whether the stored body has a content encoding.
    package var isCoded: Bool { content.value.isCoded }

    private mutating func noteCoding() {
        content.value.isCoded =
            !isDecoded
            && (head["content-encoding"].map { $0.asciiLowercased != "identity" } ?? false)
    }

    /// Returns whether the response matches a request according to Vary (section 4.1).
    package func matches(_ request: CacheRequest, secret: VarySecret) -> Bool {
        selecting.fields.isEmpty
            || SelectingFields(
                selecting.fields.map { $0.name }, of: request.headers, secret: secret) == selecting
    }
}

/// The stored range of a representation.
package struct StoredPart: Hashable, Sendable {
    /// The offset of the first byte.
    package var first: Int64
    /// The offset of the last byte.
    package var last: Int64
    /// The length of the representation, if known.
    package var total: Int64?

    package init(first: Int64, last: Int64, total: Int64?) {
        self.first = first
        self.last = last
        self.total = total
    }

    package var count: Int64 { last - first + 1 }
}

/// The directives of a stored response that affect its reuse.
package struct ReuseControl: Hashable, Sendable {
    package var noCache = false
    package var mustRevalidate = false
    package var isImmutable = false
    /// Milliseconds after the end of freshness; `nil` without the directive.
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

    /// Whether a stale response must never be used (section 4.2.4).
    package var forbidsStale: Bool { noCache || mustRevalidate }
}
