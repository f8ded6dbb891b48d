// Wherry: rules for storing a response.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherryTransport

/// The reason why a response is not stored (RFC 9111, section 3).
package enum StoreRefusal: Hashable, Sendable {
    /// The method is neither GET nor a POST whose response names its resource.
    case method
    /// The status is 1xx: an interim response.
    case interim
    /// The status is 304, which only updates stored responses, or 206 without a storable part.
    case status
    /// `no-store` in the request or the response.
    case noStore
    /// `must-understand` with an unknown status.
    case notUnderstood
    /// Nothing permits it: no lifetime, no heuristic for the status, no `public` or `private`.
    case notAllowed
    /// `Vary: *`, which matches no later request.
    case varyAnything
    /// The body is incomplete.
    case incomplete
    /// Content-Range contradicts the body.
    case badRange
}

/// The rules of a private cache.
package enum Storability {
    /// Returns why the response may not be stored; `nil` if it may.
    package static func refusal(
        _ response: ArrivedResponse, to request: CacheRequest
    ) -> StoreRefusal? {
        let head = response.head
        let control = response.control
        if head.status < 200 { return .interim }
        if head.status == 304 || (head.status == 206 && request.method != "GET") { return .status }
        if request.control.noStore { return .noStore }
        if control.mustUnderstand {
            // Overrides no-store if the status is known (section 5.2.2.3).
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

    /// Returns whether Content-Location says that a GET would return the same response (RFC 9110,
    /// section 9.3.3).
    private static func namesTarget(_ head: ResponseHead, _ request: CacheRequest) -> Bool {
        guard let location = head["content-location"],
            let named = try? request.target.resolving(location)
        else { return false }
        return named.cacheText(without: request.ignored) == request.url
    }

    /// Returns the part in a 206; `nil` for several parts, other units, and a range that
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
