// Wherry: the effect of the origin's response on the cache.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherrySystem
import WherryTransport

/// The effect of the origin's response on the application and the cache.
package struct CacheOutcome: Sendable, Equatable {
    package enum Delivery: Sendable, Equatable {
        /// The origin's response or failure.
        case network
        /// A stored response: confirmed, completed, or used because the origin failed.
        case cached(CachedResponse)
        /// None yet: send another request, because the origin meant another response than the
        /// stored one.
        case resend(NetworkPlan)
    }

    package enum Change: Sendable, Equatable {
        /// Replaces the response with the same selecting headers, if any.
        case store(StoredResponse)
        /// Removes the response with the same selecting headers.
        case remove(StoredResponse)
    }

    package var delivery = Delivery.network
    /// The URLs, as ``HTTPURL/cacheText``, whose stored responses are removed before the changes.
    package var invalidated: [String] = []
    /// The changes in order, all for the request's own key.
    package var changes: [Change] = []
    /// The stored responses that matched the request so far, whatever they vary by. They are
    /// removed if the new one is not stored.
    package var superseded: [StoredResponse] = []
    /// The time when the request was sent, in milliseconds since 1970. A newer response stored
    /// since then is kept.
    package var askedAt = Int64.max
    /// Whether the changes only update other responses, and store no part of this one.
    package var isConfirmation = false

    package init(delivery: Delivery = .network) { self.delivery = delivery }

    /// Whether a network response is to be stored.
    package var storesResponse: Bool {
        delivery == .network && !isConfirmation
            && changes.contains { if case .store = $0 { true } else { false } }
    }

    /// Returns the outcome for a caller that wants nothing stored, or not all headers (K13). The
    /// responses that would have been replaced are removed nevertheless.
    ///
    /// - Parameter names: The headers to leave out, now and at every update. A response that needs
    ///   one of them is not stored at all.
    package func storing(_ isWanted: Bool, without names: [String]) -> CacheOutcome {
        let names = names.map { $0.asciiLowercased }
        let isWanted = isWanted && ResponseCacheControl.canBeLeftOut(names)
        var outcome = self
        outcome.changes = changes.map { change in
            guard case .store(var stored) = change else { return change }
            guard isWanted else { return .remove(stored) }
            stored.block = StoredFields.without(names, in: stored.block)
            stored.leftOut += names.filter { !stored.leftOut.contains($0) }
            return .store(stored)
        }
        if !isWanted { outcome.changes += superseded.map { .remove($0) } }
        return outcome
    }
}

extension CacheLookup {
    /// Computes the outcome of the origin's response.
    ///
    /// - Parameters:
    ///   - arrived: The response; `nil` if the origin was unreachable or dropped the connection.
    ///   - plan: How the request was sent.
    ///   - stored: All stored responses of the request's key.
    package func resolve(
        _ arrived: ArrivedResponse?, to plan: NetworkPlan, stored: [StoredResponse]
    ) -> CacheOutcome {
        guard let arrived else { return outcomeOfFailure(plan) ?? CacheOutcome() }
        var outcome = outcome(of: arrived, to: plan, stored)
        if !outcome.changes.isEmpty { outcome.askedAt = arrived.requestTime }
        return outcome
    }

    private func outcome(
        of arrived: ArrivedResponse, to plan: NetworkPlan, _ stored: [StoredResponse]
    ) -> CacheOutcome {
        switch arrived.head.status {
        case 500, 502, 503, 504:
            if let stale = outcomeOfFailure(plan) { return stale }
        case 304 where request.isServable:
            return notModified(arrived, plan, stored)
        case 206 where request.method == "GET":
            return partial(arrived, plan, stored)
        case 416 where plan.purpose == .completion:
            // The application requested no range: the representation has become shorter.
            return CacheOutcome(delivery: .resend(.withoutRange))
        default: break
        }
        if !request.isSafe { return unsafe(arrived) }
        if request.method == "HEAD" { return headOnly(arrived, stored) }
        return full(arrived, stored)
    }

    // MARK: Failures

    /// Uses a stale response in place of a failure (section 4.2.4; RFC 5861, section 4).
    private func outcomeOfFailure(_ plan: NetworkPlan) -> CacheOutcome? {
        guard let stored = plan.stored, plan.purpose != .completion,
            !stored.control.forbidsStale, !request.control.noCache,
            let form = CachedResponse.Form(stored, for: request)
        else { return nil }
        let granted = [
            stored.control.staleIfError, request.control.staleIfError?.millisecondsSaturating,
            options.staleIfError > 0 ? options.staleIfError : nil,
        ].compactMap { $0 }.max()
        guard let granted, stored.freshness.staleness(at: now) <= granted else { return nil }
        return CacheOutcome(delivery: .cached(CachedResponse(stored, form: form, now: now)))
    }

    // MARK: Confirmations

    private func notModified(
        _ arrived: ArrivedResponse, _ plan: NetworkPlan, _ stored: [StoredResponse]
    ) -> CacheOutcome {
        guard plan.purpose == .validation, let asked = plan.stored else {
            return named(by: arrived, stored)
        }
        let foreign = foreignTags(besides: asked)
        guard Self.confirms(arrived.head, asked) else {
            if let response = validated(arrived, asked) { return response }
            // The 304 confirms another response, so ours is outdated (section 4.3.4). Or it
            // confirms the response that the application has and named in its condition.
            var outcome = CacheOutcome(delivery: .resend(.unconditional))
            if let tag = EntityTag(arrived.head["etag"] ?? ""),
                foreign.contains(where: { $0.isWeaklyEqual(to: tag) })
            {
                outcome = named(by: arrived, stored)
            }
            outcome.isConfirmation = true
            outcome.changes.append(.remove(asked))
            return outcome
        }
        // With several tags sent, the 304 must name the one it confirms.
        if !foreign.isEmpty, arrived.head["etag"] == nil, arrived.head["last-modified"] == nil {
            return CacheOutcome(delivery: .resend(.unconditional))
        }
        var outcome = CacheOutcome()
        let fresh = updated(asked, by: arrived, &outcome)
        // A strong validator identifies every stored response that has it.
        if let tag = EntityTag(arrived.head["etag"] ?? ""), !tag.isWeak {
            for other in stored where other.selecting != asked.selecting {
                if other.strongTag == tag { _ = updated(other, by: arrived, &outcome) }
            }
        }
        guard let form = CachedResponse.Form(fresh, for: request) else {
            return CacheOutcome(delivery: .resend(.unconditional))
        }
        var response = CachedResponse(fresh, form: form, now: now)
        response.isRevalidated = true
        outcome.delivery = .cached(response)
        return outcome
    }

    /// Handles a 304 to the application's own condition. It updates the stored responses
    /// that it identifies (section 4.3.4): with a strong validator all that have it, with a weak
    /// one the newest that matches the request.
    private func named(by arrived: ArrivedResponse, _ stored: [StoredResponse]) -> CacheOutcome {
        var outcome = CacheOutcome()
        guard let tag = EntityTag(arrived.head["etag"] ?? "") else { return outcome }
        let meant =
            tag.isWeak
            ? select(stored).map { [$0] } ?? [] : stored.filter { $0.strongTag == tag }
        for entry in meant where Self.confirms(arrived.head, entry) {
            _ = updated(entry, by: arrived, &outcome)
        }
        outcome.isConfirmation = !outcome.changes.isEmpty
        return outcome
    }

    /// Handles a 304 that names the stored weak validator as a strong one, as servers do that
    /// compress on the fly. The weak comparison makes the response still valid (RFC 9110, section
    /// 13.1.2). But a strong validator must not update a response without one (section 4.3.4), so
    /// the next request validates again.
    private func validated(_ arrived: ArrivedResponse, _ asked: StoredResponse) -> CacheOutcome? {
        guard let tag = EntityTag(arrived.head["etag"] ?? ""), let own = asked.entityTag,
            own.isWeak, tag.isWeaklyEqual(to: own),
            let form = CachedResponse.Form(asked, for: request)
        else { return nil }
        var response = CachedResponse(asked, form: form, now: now)
        response.isRevalidated = true
        var outcome = CacheOutcome(delivery: .cached(response))
        outcome.isConfirmation = true
        return outcome
    }

    /// Returns whether a 304, or a 200 to HEAD, refers to a stored response. Without a validator it
    /// refers to the validated one. A strong validator never refers to a response with a weak one.
    private static func confirms(_ head: ResponseHead, _ stored: StoredResponse) -> Bool {
        if let text = head["etag"] {
            guard let tag = EntityTag(text), let own = stored.entityTag else {
                return text == stored.etag
            }
            return tag.isWeak ? tag.isWeaklyEqual(to: own) : tag.isStronglyEqual(to: own)
        }
        guard let modified = head["last-modified"], let own = stored.lastModified else {
            return true
        }
        return modified == own
    }

    /// Returns the response with updated headers and a restarted age (sections 3.2 and 4.3.4).
    private func updated(
        _ stored: StoredResponse, by arrived: ArrivedResponse, _ outcome: inout CacheOutcome
    ) -> StoredResponse {
        var fresh = stored
        fresh.block = StoredFields.updated(
            stored.block, by: arrived.head, isDecoded: stored.isDecoded,
            leavingOut: arrived.control.noCacheFields + stored.leftOut)
        if arrived.head["date"] == nil {
            fresh.block = StoredFields.setting(
                "Date", HTTPDate.format(arrived.responseTime / 1000), in: fresh.block)
        }
        let control = ResponseCacheControl(fresh.head.values("cache-control"))
        var timed = fresh.head
        for age in arrived.head.values("age") {
            timed.block = timed.block.appending("Age: \(age)\n")
        }
        fresh.freshness = Freshness(
            timed, control: control, requestTime: arrived.requestTime,
            responseTime: arrived.responseTime)
        fresh.control = ReuseControl(control)
        fresh.etag = fresh.head["etag"]
        fresh.lastModified = fresh.head["last-modified"]
        let vary = VaryField(fresh.head.values("vary"))
        var mayStay = !control.noStore && vary != .anything
        if case .fields(let names) = vary, names != stored.selecting.fields.map({ $0.name }) {
            // Only for the response to this request are the values of the request headers known.
            mayStay = mayStay && stored.matches(request, secret: secret)
            fresh.selecting = SelectingFields(names, of: request.headers, secret: secret)
        }
        if request.control.noStore { return fresh }
        if !mayStay || fresh.selecting != stored.selecting {
            outcome.changes.append(.remove(stored))
        }
        if mayStay { outcome.changes.append(.store(fresh)) }
        return fresh
    }

    // MARK: Other methods

    /// Computes the effect of an unsafe method: the response, then the invalidation (section 4.4).
    private func unsafe(_ arrived: ArrivedResponse) -> CacheOutcome {
        var outcome = CacheOutcome()
        guard (200..<400).contains(arrived.head.status) else { return outcome }
        // With and without ignored query pairs: others may have used either form as the key.
        func invalidate(_ url: HTTPURL) {
            for text in [url.cacheText(without: request.ignored), url.cacheText]
            where !outcome.invalidated.contains(text) {
                outcome.invalidated.append(text)
            }
        }
        invalidate(request.target)
        for name in ["location", "content-location"] {
            guard let text = arrived.head[name], let url = try? request.target.resolving(text),
                url.origin == request.target.origin
            else { continue }
            invalidate(url)
        }
        store(arrived, &outcome)
        return outcome
    }

    /// Handles a 200 to HEAD, which updates or invalidates the response to GET (section 4.3.5).
    private func headOnly(_ arrived: ArrivedResponse, _ stored: [StoredResponse]) -> CacheOutcome {
        var outcome = CacheOutcome()
        guard arrived.head.status == 200 else { return outcome }
        outcome.isConfirmation = true
        for entry in stored where entry.status == 200 && entry.matches(request, secret: secret) {
            let length = arrived.head.contentLength
            let own = entry.part.map { $0.total } ?? Int64(entry.body.count)
            let hasOtherLength = !entry.isDecoded && length != nil && own != nil && length != own
            if hasOtherLength || !Self.confirms(arrived.head, entry) {
                outcome.changes.append(.remove(entry))
            } else {
                _ = updated(entry, by: arrived, &outcome)
            }
        }
        return outcome
    }

    // MARK: Complete responses

    private func full(_ arrived: ArrivedResponse, _ stored: [StoredResponse]) -> CacheOutcome {
        var outcome = CacheOutcome()
        outcome.superseded = stored.filter { $0.matches(request, secret: secret) }
        if store(arrived, &outcome) { return outcome }
        // The resource differs from the stored response, even if the new one is not storable.
        switch arrived.head.status {
        case 200..<300, 300, 301, 302, 303, 307, 308, 404, 410:
            outcome.changes = outcome.superseded.map { .remove($0) }
        default: break
        }
        return outcome
    }

    @discardableResult
    private func store(_ arrived: ArrivedResponse, _ outcome: inout CacheOutcome) -> Bool {
        guard Storability.refusal(arrived, to: request) == nil,
            let stored = arrived.stored(for: request, secret: secret)
        else { return false }
        outcome.changes.append(.store(stored))
        return true
    }

    // MARK: Parts

    private func partial(
        _ arrived: ArrivedResponse, _ plan: NetworkPlan, _ stored: [StoredResponse]
    ) -> CacheOutcome {
        var outcome = CacheOutcome()
        let old = select(stored)
        let isStorable = Storability.refusal(arrived, to: request) == nil
        let part = Storability.part(of: arrived)
        if plan.purpose == .completion {
            guard let asked = plan.stored, let part,
                let joined = join(asked, arrived, part), joined.isComplete
            else { return CacheOutcome(delivery: .resend(.withoutRange)) }
            if isStorable { outcome.changes.append(.store(joined)) }
            outcome.delivery = .cached(CachedResponse(joined, form: .whole, now: now))
            return outcome
        }
        guard isStorable, let part,
            let new = arrived.stored(for: request, secret: secret, part: part)
        else { return outcome }
        outcome.superseded = stored.filter { $0.matches(request, secret: secret) }
        let isSame = old?.strongTag != nil && old?.strongTag == new.strongTag
        if let old, isSame, old.isComplete {
            _ = updated(old, by: arrived, &outcome)
        } else if let old, isSame, let joined = join(old, arrived, part) {
            if joined.selecting != old.selecting { outcome.changes.append(.remove(old)) }
            outcome.changes.append(.store(joined))
        } else {
            outcome.changes.append(.store(new))
        }
        return outcome
    }

    /// Joins two parts that touch and have the same strong validator (section 3.4).
    private func join(
        _ old: StoredResponse, _ arrived: ArrivedResponse, _ part: StoredPart
    ) -> StoredResponse? {
        guard let had = old.part, !old.isDecoded, let tag = old.strongTag,
            EntityTag(arrived.head["etag"] ?? "") == tag,
            had.total == nil || part.total == nil || had.total == part.total,
            part.first <= had.last + 1, had.first <= part.last + 1
        else { return nil }
        var ignored = CacheOutcome()
        var joined = updated(old, by: arrived, &ignored)
        let first = min(had.first, part.first)
        let last = max(had.last, part.last)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Int(last - first + 1))
        if had.first < part.first { bytes += old.body.prefix(Int(part.first - had.first)) }
        bytes += arrived.body
        if had.last > part.last { bytes += old.body.suffix(Int(had.last - part.last)) }
        joined.body = Bytes(bytes)
        let total = had.total ?? part.total
        joined.part = StoredPart(first: first, last: last, total: total)
        if first == 0, last + 1 == total {
            joined.part = nil
            joined.block = StoredFields.setting(
                "Content-Length", String(last + 1), in: joined.block)
        }
        return joined
    }
}

extension NetworkPlan {
    /// Requests the whole representation after the rest could not be joined.
    static let withoutRange = NetworkPlan(fields: [
        .init(name: "Range", value: nil), .init(name: "If-Range", value: nil),
    ])
}
