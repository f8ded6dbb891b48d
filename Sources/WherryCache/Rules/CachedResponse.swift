// Wherry: a stored response in the form that a request needs.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherrySystem
import WherryTransport

/// The response that the cache returns for a request.
package struct CachedResponse: Sendable, Equatable {
    /// The form of the response.
    package enum Form: Hashable, Sendable {
        case whole
        /// The headers alone, for HEAD.
        case head
        /// 304: the application's condition says that it has this response.
        case notModified
        /// 206 with these bytes of the whole, both ends inclusive.
        case range(first: Int64, last: Int64)
        /// 416: the range is outside of the representation.
        case unsatisfiable
    }

    package let stored: StoredResponse
    package let form: Form
    /// In milliseconds.
    package let age: Int64
    package let isStale: Bool
    /// Whether the origin has just confirmed it.
    package var isRevalidated = false

    package init(_ stored: StoredResponse, form: Form, now: Int64) {
        self.stored = stored
        self.form = form
        age = stored.freshness.age(at: now)
        isStale = !stored.freshness.isFresh(at: now)
    }

    /// The headers with the current age (RFC 9111, section 4).
    package var head: ResponseHead {
        var head = stored.head
        let ageLine = "Age: \(age / 1000)\n"
        switch form {
        case .whole, .head: break
        case .notModified:
            head.status = 304
            head.block = StoredFields.withoutBodyFields(head.block)
        case .range(let first, let last):
            head.status = 206
            let total = stored.part.map { $0.total } ?? Int64(stored.body.count)
            setRange("bytes \(first)-\(last)/\(total.map { String($0) } ?? "*")", last - first + 1)
        case .unsatisfiable:
            head.status = 416
            setRange("bytes */\(stored.body.count)", 0)
        }
        head.block = head.block.appending(ageLine)
        return head

        func setRange(_ range: String, _ count: Int64) {
            head.block = StoredFields.setting("Content-Range", range, in: head.block)
            head.block = StoredFields.setting("Content-Length", String(count), in: head.block)
        }
    }

    /// The body for this form.
    package var body: Bytes {
        switch form {
        case .whole: return stored.body
        case .head, .notModified, .unsatisfiable: return Bytes()
        case .range(let first, let last):
            let start = Int(first - (stored.part?.first ?? 0))
            return Bytes(stored.body[start...(start + Int(last - first))])
        }
    }
}

extension CachedResponse.Form {
    /// Determines the form in which a stored response satisfies a request; `nil` if it cannot.
    ///
    /// The application's conditions precede its range (RFC 9110, section 13.2.2), and count only if
    /// the response would be a success (section 13.2.1).
    package init?(_ stored: StoredResponse, for request: CacheRequest) {
        if stored.status == 200, Self.isNotModified(stored, request) {
            self = .notModified
            return
        }
        if request.method == "HEAD" {
            guard stored.isComplete else { return nil }
            self = .head
            return
        }
        let range = RangeRequest(request.headers)
        if range == .other { return nil }
        if range == .whole || stored.status != 200 || !Self.rangeCounts(stored, request) {
            guard stored.isComplete else { return nil }
            self = .whole
            return
        }
        // Ranges count bytes of the encoded representation, which is not stored.
        if stored.isDecoded { return nil }
        let resolved =
            stored.part.map { range.resolved(in: $0) }
            ?? range.resolved(length: Int64(stored.body.count))
        switch resolved {
        case .bytes(let first, let last): self = .range(first: first, last: last)
        case .unsatisfiable: self = .unsatisfiable
        case .unknown: return nil
        }
    }

    private static func isNotModified(_ stored: StoredResponse, _ request: CacheRequest) -> Bool {
        let tags = request.headers.values("if-none-match")
        if !tags.isEmpty {
            guard let list = EntityTagList(tags.joined(separator: ",")) else { return false }
            if case .any = list { return true }
            return stored.entityTag.map { list.containsWeakly($0) } ?? false
        }
        let arrival = stored.freshness.responseTime / 1000
        guard let since = request.headers["if-modified-since"],
            let limit = HTTPDate.parse(since, now: arrival)
        else { return false }
        // Without Last-Modified the Date applies (RFC 9111, section 4.3.2).
        let modified = stored.lastModified.flatMap { HTTPDate.parse($0, now: arrival) }
        return (modified ?? stored.freshness.date) <= limit
    }

    /// Returns whether If-Range is missing or matches this representation (RFC 9110, section
    /// 13.1.5).
    private static func rangeCounts(_ stored: StoredResponse, _ request: CacheRequest) -> Bool {
        guard let condition = request.headers["if-range"] else { return true }
        if let tag = EntityTag(condition) {
            return stored.entityTag.map { $0.isStronglyEqual(to: tag) } ?? false
        }
        let arrival = stored.freshness.responseTime / 1000
        guard let asked = HTTPDate.parse(condition, now: arrival),
            let modified = stored.lastModified.flatMap({ HTTPDate.parse($0, now: arrival) })
        else { return false }
        // A date is a strong validator only if it is clearly older than the response (section
        // 8.8.2.2).
        return asked == modified && modified < stored.freshness.date
    }
}
