// Wherry: what becomes of a request that meets a cache.
// SPDX-License-Identifier: Apache-2.0

/// What is to be done with a request.
package enum CacheDecision: Sendable, Equatable {
    /// Answer it; the origin hears nothing.
    case answer(CachedAnswer)
    /// Answer it, and ask the origin in the background (RFC 5861, section 3).
    case answerAndRevalidate(CachedAnswer, NetworkPlan)
    /// Ask the origin.
    case network(NetworkPlan)
    /// 504: the request is `only-if-cached`, and nothing usable is stored (RFC 9111, 5.2.1.7).
    case gatewayTimeout
    /// The policy leaves the network alone, and nothing is stored.
    case miss
}

/// How the origin is asked.
package struct NetworkPlan: Sendable, Equatable {
    package enum Purpose: Sendable, Hashable {
        /// As the application asked.
        case plain
        /// Whether ``NetworkPlan/stored`` is still good.
        case validation
        /// For the bytes that ``NetworkPlan/stored`` lacks.
        case completion
    }

    package var purpose: Purpose
    /// The answer that is validated or completed, or may serve if the origin fails.
    package var stored: StoredResponse?
    /// Fields to set in the request; those without a value are to be taken out.
    package var fields: [Headers.Field]

    package init(
        _ purpose: Purpose = .plain, stored: StoredResponse? = nil, fields: [Headers.Field] = []
    ) {
        self.purpose = purpose
        self.stored = stored
        self.fields = fields
    }

    /// The request's fields with the plan's in place of theirs.
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

    /// For a stored answer that the origin did not mean: once more, without any condition of ours.
    static let unconditional = NetworkPlan(fields: [
        .init(name: "If-None-Match", value: nil), .init(name: "If-Modified-Since", value: nil),
    ])
}

/// Decides about requests (RFC 9111, section 4). Pure: the time is handed in.
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

    /// Decides what to do, given every answer stored under the request's key.
    package func decide(_ stored: [StoredResponse]) -> CacheDecision {
        guard request.isServable, !request.hasOriginConditions, options.policy != .reload else {
            return missing(NetworkPlan())
        }
        guard let selected = select(stored) else { return missing(NetworkPlan()) }
        let form = CachedAnswer.Form(selected, for: request)
        if options.policy == .anyAge || options.policy == .anyAgeOnly {
            guard let form else { return missing(completion(of: selected)) }
            return .answer(CachedAnswer(selected, form: form, now: now))
        }
        let staleness = selected.freshness.staleness(at: now)
        guard let form else {
            let isUsable = staleness < 0 && !needsValidation(selected)
            return missing(isUsable ? completion(of: selected) : NetworkPlan())
        }
        let answer = CachedAnswer(selected, form: form, now: now)
        if !needsValidation(selected) {
            let mostStale = request.control.maxStale?.millisecondsSaturating ?? -1
            let margin = request.control.minFresh?.millisecondsSaturating
            if staleness < 0 {
                if staleness <= -(margin ?? 0) { return .answer(answer) }
            } else if margin == nil, !selected.control.forbidsStale {
                if staleness <= mostStale { return .answer(answer) }
                if staleness <= selected.control.staleWhileRevalidate ?? -1 {
                    return request.control.onlyIfCached
                        ? .answer(answer)
                        : .answerAndRevalidate(answer, validation(of: selected))
                }
            }
        }
        return missing(validation(of: selected))
    }

    /// The stored answer that fits the request; of several the newest (section 4.1). One whose body
    /// has a coding that the transport would have undone is none.
    package func select(_ stored: [StoredResponse]) -> StoredResponse? {
        var newest: StoredResponse?
        for answer in stored
        where answer.matches(request, secret: secret) && !(request.decodes && answer.isCoded) {
            guard let known = newest?.freshness else {
                newest = answer
                continue
            }
            let own = answer.freshness
            // A response from the future, of a clock that was ahead, is not the newest.
            guard known.isFromFuture(at: now) == own.isFromFuture(at: now) else {
                if known.isFromFuture(at: now) { newest = answer }
                continue
            }
            if (known.date, known.responseTime) <= (own.date, own.responseTime) { newest = answer }
        }
        return newest
    }

    /// The network, unless the request may not use it.
    private func missing(_ plan: NetworkPlan) -> CacheDecision {
        if options.policy == .anyAgeOnly { return .miss }
        return request.control.onlyIfCached ? .gatewayTimeout : .network(plan)
    }

    /// Whether the answer, however fresh, may not be given without asking.
    private func needsValidation(_ stored: StoredResponse) -> Bool {
        if stored.control.noCache || request.control.noCache || options.policy == .validate {
            return true
        }
        guard let maxAge = request.control.maxAge else { return false }
        // A reload of what never changes while it is fresh is no reason to ask (RFC 8246).
        if stored.control.isImmutable, stored.freshness.isFresh(at: now) { return false }
        return maxAge == 0 || stored.freshness.age(at: now) > maxAge.millisecondsSaturating
    }

    /// Asks whether the answer is still good (section 4.3.1), in place of what the application
    /// asked: its own conditions are judged afterwards, by what comes back. Its own entity tags go
    /// with ours, so that it is told, too, that what it has itself is good (section 4.3.2).
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

    /// The application's own entity tags that a validation asks about beside the stored one.
    func foreignTags(besides stored: StoredResponse) -> [EntityTag] {
        guard let own = stored.entityTag else { return [] }
        return request.ownTags.filter { !$0.isWeaklyEqual(to: own) }
    }

    /// Asks for the rest of a part that has the beginning or the end, under a strong validator
    /// (section 3.4).
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
