// Wherry: the cache's decision about a request.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP

/// How the cache responds to a request.
package enum CacheDecision: Sendable, Equatable {
    /// Return the stored response without contacting the origin.
    case serve(CachedResponse)
    /// Return the stored response, and revalidate it in the background (RFC 5861, section 3).
    case serveAndRevalidate(CachedResponse, NetworkPlan)
    /// Send the request to the origin.
    case network(NetworkPlan)
    /// Return 504: the request is `only-if-cached` and nothing usable is stored (RFC 9111, section
    /// 5.2.1.7).
    case gatewayTimeout
    /// Fail: the policy forbids the network, and nothing is stored.
    case miss
}

/// The plan for sending the request to the origin.
package struct NetworkPlan: Sendable, Equatable {
    package enum Purpose: Sendable, Hashable {
        /// As the application wrote it.
        case plain
        /// To validate ``NetworkPlan/stored``.
        case validation
        /// To fetch the bytes that ``NetworkPlan/stored`` lacks.
        case completion
    }

    package var purpose: Purpose
    /// The response to validate or complete, or to use if the origin fails.
    package var stored: StoredResponse?
    /// The headers to set in the request, or to remove if they have no value.
    package var fields: [Headers.Field]

    package init(
        _ purpose: Purpose = .plain, stored: StoredResponse? = nil, fields: [Headers.Field] = []
    ) {
        self.purpose = purpose
        self.stored = stored
        self.fields = fields
    }

    /// Returns the request's headers with the plan's headers applied.
    package func applied(to headers: Headers) -> Headers {
        var headers = headers
        for field in fields {
            if field.value == nil {
                headers.remove(field.name)
            } else {
                headers.set(field.name, field.value)
            }
        }
        return headers
    }

    /// Repeats the request without our conditions, after the origin confirmed another response than
    /// the stored one.
    static let unconditional = NetworkPlan(fields: [
        .init(name: "If-None-Match", value: nil), .init(name: "If-Modified-Since", value: nil),
    ])
}

/// Decides about requests (RFC 9111, section 4). Pure: the time is a parameter.
package struct CacheLookup: Sendable {
    package let request: CacheRequest
    package let options: HTTPCacheOptions
    package let secret: VarySecret
    /// Milliseconds since 1970.
    package let now: Int64

    package init(
        _ request: CacheRequest, options: HTTPCacheOptions, secret: VarySecret, now: Int64
    ) {
        self.request = request
        self.options = options
        self.secret = secret
        self.now = now
    }

    /// Decides how to respond to the request, given all stored responses of its key.
    package func decide(_ stored: [StoredResponse]) -> CacheDecision {
        guard request.isServable, !request.hasOriginConditions, options.policy != .reload else {
            return missing(NetworkPlan())
        }
        guard let selected = select(stored) else { return missing(NetworkPlan()) }
        let form = CachedResponse.Form(selected, for: request)
        if options.policy == .anyAge || options.policy == .anyAgeOnly {
            guard let form else { return missing(completion(of: selected)) }
            return .serve(CachedResponse(selected, form: form, now: now))
        }
        let staleness = selected.freshness.staleness(at: now)
        guard let form else {
            let isUsable = staleness < 0 && !needsValidation(selected)
            return missing(isUsable ? completion(of: selected) : NetworkPlan())
        }
        let response = CachedResponse(selected, form: form, now: now)
        if !needsValidation(selected) {
            let mostStale = request.control.maxStale?.millisecondsSaturating ?? -1
            let margin = request.control.minFresh?.millisecondsSaturating
            if staleness < 0 {
                if staleness <= -(margin ?? 0) { return .serve(response) }
            } else if margin == nil, !selected.control.forbidsStale {
                if staleness <= mostStale { return .serve(response) }
                if staleness <= selected.control.staleWhileRevalidate ?? -1 {
                    return request.control.onlyIfCached
                        ? .serve(response)
                        : .serveAndRevalidate(response, validation(of: selected))
                }
            }
        }
        return missing(validation(of: selected))
    }

    /// Selects the newest stored response that matches the request (section 4.1). A body with a
    /// content encoding that the transport would have removed does not match.
    package func select(_ stored: [StoredResponse]) -> StoredResponse? {
        var newest: StoredResponse?
        for response in stored
        where response.matches(request, secret: secret) && !(request.decodes && response.isCoded) {
            guard let known = newest?.freshness else {
                newest = response
                continue
            }
            let own = response.freshness
            // A response from the future, stored while the clock was ahead, is not the newest.
            guard known.isFromFuture(at: now) == own.isFromFuture(at: now) else {
                if known.isFromFuture(at: now) { newest = response }
                continue
            }
            if (known.date, known.responseTime) <= (own.date, own.responseTime) {
                newest = response
            }
        }
        return newest
    }

    /// Returns the network plan, unless the request forbids the network.
    private func missing(_ plan: NetworkPlan) -> CacheDecision {
        if options.policy == .anyAgeOnly { return .miss }
        return request.control.onlyIfCached ? .gatewayTimeout : .network(plan)
    }

    /// Returns whether even a fresh response needs validation.
    private func needsValidation(_ stored: StoredResponse) -> Bool {
        if stored.control.noCache || request.control.noCache || options.policy == .validate {
            return true
        }
        guard let maxAge = request.control.maxAge else { return false }
        // Reloading an immutable response needs no validation while it is fresh (RFC 8246).
        if stored.control.isImmutable, stored.freshness.isFresh(at: now) { return false }
        return maxAge == 0 || stored.freshness.age(at: now) > maxAge.millisecondsSaturating
    }

    /// Returns a plan to validate the stored response (section 4.3.1).
    ///
    /// Our conditions replace the application's, which are evaluated afterwards against the result.
    /// The application's entity tags are sent together with ours, so that the origin can also
    /// confirm the application's response (section 4.3.2).
    private func validation(of stored: StoredResponse) -> NetworkPlan {
        guard stored.etag != nil || stored.lastModified != nil else {
            return NetworkPlan(stored: stored)
        }
        return NetworkPlan(
            .validation, stored: stored,
            fields: [
                .init(
                    name: "If-None-Match",
                    value: stored.etag.map { own in
                        ([own] + foreignTags(besides: stored).map { $0.text })
                            .joined(separator: ", ")
                    }),
                .init(name: "If-Modified-Since", value: stored.lastModified),
            ])
    }

    /// Returns the application's entity tags to send besides the stored one.
    func foreignTags(besides stored: StoredResponse) -> [EntityTag] {
        guard let own = stored.entityTag else { return [] }
        return request.ownTags.filter { !$0.isWeaklyEqual(to: own) }
    }

    /// Returns a plan to fetch the rest of a part that has the beginning or the end, with a strong
    /// validator (section 3.4).
    private func completion(of stored: StoredResponse) -> NetworkPlan {
        guard let part = stored.part, let tag = stored.strongTag, request.method == "GET",
            !request.isConditional, RangeRequest(request.headers) == .whole
        else { return NetworkPlan() }
        let range: String
        if part.first == 0 {
            range = "bytes=\(part.last + 1)-"
        } else if part.last + 1 == part.total {
            range = "bytes=0-\(part.first - 1)"
        } else {
            return NetworkPlan()
        }
        return NetworkPlan(
            .completion, stored: stored,
            fields: [
                .init(name: "Range", value: range), .init(name: "If-Range", value: tag.text),
            ])
    }
}
