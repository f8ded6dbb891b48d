// Wherry: whether an answer may be stored.
// SPDX-License-Identifier: Apache-2.0

import WherryTransport

/// Why an answer is not stored (RFC 9111, section 3).
package enum StoreRefusal: Hashable, Sendable {
    /// Neither GET nor a POST that says which resource its answer is.
    case method
    /// 1xx, which is no answer yet.
    case interim
    /// 304, which only changes what is stored, or 206 without a part that can be kept.
    case status
    /// `no-store` in the request or the answer.
    case noStore
    /// `must-understand` on a status that is not known here.
    case notUnderstood
    /// Nothing allows it: no lifetime, no heuristic for the status, no `public` or `private`.
    case notAllowed
    /// `Vary: *`, which no later request fits.
    case varyAnything
    /// The body was cut short.
    case incomplete
    /// Content-Range contradicts the body.
    case badRange
}

/// What may be stored by a private cache.
package enum Storability {
    /// Why the answer to a request may not be stored; `nil` where it may.
    package static func refusal(
        _ response: ArrivedResponse, to request: CacheRequest
    ) -> StoreRefusal? {
        let head = response.head
        let control = response.control
        if head.status < 200 { return .interim }
        if head.status == 304 || (head.status == 206 && request.method != "GET") { return .status }
        if request.control.noStore { return .noStore }
        if control.mustUnderstand {
            // It takes the place of no-store where the status is known (section 5.2.2.3).
            if !StatusRules.isUnderstood(head.status) { return .notUnderstood }
        } else if control.noStore {
            return .noStore
        }
        let isExplicit = control.maxAge != nil || head["expires"] != nil
        switch request.method {
        case "GET": break
        case "POST":
            guard isExplicit, head.status == 200 || head.status == 201,
                namesTarget(head, request)
            else { return .method }
        default: return .method
        }
        guard
            isExplicit || control.isPublic || control.isPrivate
                || StatusRules.isHeuristicallyCacheable(head.status)
        else { return .notAllowed }
        if VaryField(head.values("vary")) == .anything { return .varyAnything }
        if !response.isComplete { return .incomplete }
        return nil
    }

    /// Whether Content-Location says that the answer is what a GET would give (RFC 9110, 9.3.3).
    private static func namesTarget(_ head: ResponseHead, _ request: CacheRequest) -> Bool {
        guard let location = head["content-location"],
            let named = try? request.target.resolving(location)
        else { return false }
        return named.cacheText(without: request.ignored) == request.url
    }

    /// The part that a 206 holds; `nil` for several parts, other units, and for a range that
    /// contradicts the body (RFC 9110, section 14.4).
    package static func part(of response: ArrivedResponse) -> StoredPart? {
        guard response.head.status == 206, !response.isDecoded,
            let text = response.head["content-range"],
            case .part(let first, let last, let total) = ContentRange(text),
            last - first + 1 == Int64(response.body.count)
        else { return nil }
        return StoredPart(first: first, last: last, total: total)
    }
}
