// Wherry: an answer of the network on its way into the cache.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// An answer as it came from the origin.
package struct ArrivedResponse: Sendable {
    package let head: ResponseHead
    /// As it is handed over; empty where it was not collected.
    package let body: Bytes
    /// When the request was sent and when the head came, milliseconds since 1970.
    package let requestTime: Int64
    package let responseTime: Int64
    /// The transport has undone the content coding.
    package let isDecoded: Bool
    /// All of the body is there, and nothing but the end of the connection had to be believed
    /// for it (RFC 9112, section 8).
    package let isComplete: Bool
    package let control: ResponseCacheControl

    package init(
        head: ResponseHead, body: Bytes, requestTime: Int64, responseTime: Int64,
        isDecoded: Bool = false, isComplete: Bool = true
    ) {
        self.head = head
        self.body = body
        self.requestTime = requestTime
        self.responseTime = responseTime
        self.isDecoded = isDecoded
        self.isComplete = isComplete
        control = ResponseCacheControl(head.values("cache-control"))
    }

    package var freshness: Freshness {
        Freshness(head, control: control, requestTime: requestTime, responseTime: responseTime)
    }

    /// The answer in the form that is stored; `nil` where its Vary fits no request.
    func stored(for request: CacheRequest, secret: VarySecret, part: StoredPart? = nil)
        -> StoredResponse?
    {
        guard case .fields(let names) = VaryField(head.values("vary")) else { return nil }
        var block = StoredFields.stored(
            head, isDecoded: isDecoded, leavingOut: control.noCacheFields)
        if part != nil {
            block = StoredFields.setting("Content-Range", nil, in: block)
            block = StoredFields.setting("Content-Length", nil, in: block)
        }
        if head["date"] == nil {
            // A recipient that keeps an answer says when it came (RFC 9110, section 6.6.1).
            block = StoredFields.setting("Date", HTTPDate.format(responseTime / 1000), in: block)
        }
        return StoredResponse(
            status: part == nil ? head.status : 200, httpVersion: head.httpVersion, block: block,
            selecting: SelectingFields(names, of: request.headers, secret: secret),
            freshness: freshness, control: ReuseControl(control), etag: head["etag"],
            lastModified: head["last-modified"], part: part, isDecoded: isDecoded,
            leftOut: control.noCacheFields, body: body)
    }
}
