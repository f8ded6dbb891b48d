// Wherry: a network response before it is stored.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherrySystem
import WherryTransport

/// A response as it arrived from the origin.
package struct ArrivedResponse: Sendable {
    package let head: ResponseHead
    /// The body as delivered; empty if it was not collected.
    package let body: Bytes
    /// The times when the request was sent and the response headers arrived, in milliseconds since
    /// 1970.
    package let requestTime: Int64
    package let responseTime: Int64
    /// Whether the transport removed the content encoding.
    package let isDecoded: Bool
    /// Whether the whole body arrived, and its end was marked by more than the end of the
    /// connection (RFC 9112, section 8).
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

    /// Returns the response in its stored form; `nil` if its Vary matches no request.
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
            // A recipient that stores a response records its time of arrival as Date (RFC 9110,
            // section 6.6.1).
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
