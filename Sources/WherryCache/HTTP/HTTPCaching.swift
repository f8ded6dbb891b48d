// Wherry: one request's use of the HTTP cache.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherrySystem
import WherryTransport

/// Reads and updates the HTTP cache for one request to one URL: each redirect is a separate lookup.
/// Calls documented to block may wait for the disk.
///
/// One thread at a time uses it: first the one that decides, then the transport thread until the
/// exchange ends, then the one that computes the outcome.
package final class HTTPCaching: @unchecked Sendable {
    package let store: HTTPCacheStore
    package let request: CacheRequest
    package let options: HTTPCacheOptions
    package let key: HTTPCacheStore.Key
    /// Whether stored responses may serve the request, and its response may be stored. Invalidation
    /// applies regardless.
    package let takesPart: Bool
    /// Whether the request uses the cache except for invalidation.
    private let isForCache: Bool
    private let clock: any Clock
    /// The key's moment before anything was read.
    private var beginning: EntryStore.Stamp?

    /// The plan for sending the request to the origin.
    package var plan = NetworkPlan()
    /// The times when the request was sent and the response headers arrived, in milliseconds since
    /// 1970.
    package var requestTime: Int64 = 0
    package var responseTime: Int64 = 0

    /// - Parameters:
    ///   - asked: The complete request.
    ///   - sent: Its headers.
    ///   - isGathered: Whether the response body is collected, instead of streamed.
    ///   - identity: The user's identity, in place of an `Authorization` header that changes each
    ///     time.
    ///   - cookies: The cookies for this URL that the program set in the cookie jar.
    ///   - isListed: Whether the URL may come from a list of entries, where secrets are digests.
    ///   - policy: `nil` for a request that does not use the cache, but may invalidate entries.
    package init(
        _ asked: borrowing ExchangeRequest, sent: SentFields, isGathered: Bool,
        caching: RequestCaching,
        policy: HTTPCachePolicy?, store: HTTPCacheStore, clock: any Clock,
        identity: String? = nil, cookies: String? = nil, isListed: Bool = false
    ) {
        self.store = store
        self.clock = clock
        options = HTTPCacheOptions(policy: policy ?? .reload, staleIfError: caching.staleIfError)
        request = CacheRequest(
            method: asked.method, target: asked.url, headers: sent.headers, control: sent.control,
            ignored: caching.ignored,
            decodes: asked.decoding != .identity)
        let hasBody = if case .none = asked.body { false } else { true }
        isForCache = policy != nil
        // Only the origin knows how the body of a GET affects the response (RFC 9110, section
        // 9.3.1).
        takesPart = isForCache && isGathered && !(request.isServable && hasBody)
        key = HTTPCacheStore.Key(
            url: request.url,
            partition: Self.partition(
                sent.headers, caching, store.secret, identity, cookies),
            isListed: isListed)
    }

    /// Returns digits that separate identities (SEC-C2); "" for the default partition.
    ///
    /// `Authorization` identifies the user: a program that changes its token or user must not
    /// receive the responses of another one. The same applies to cookies that the program set in
    /// the jar. Cookies set by servers do not count: they change all the time, and responses that
    /// depend on them say so in Vary.
    private static func partition(
        _ headers: Headers, _ caching: RequestCaching, _ secret: VarySecret, _ identity: String?,
        _ cookies: String?
    ) -> String {
        if caching.fields.isEmpty, caching.partition.isEmpty, cookies == nil,
            !headers.contains("authorization")
        {
            return ""
        }
        var counted: [(name: String, values: [String])] = []
        for name in ["authorization"] + caching.fields.map({ $0.asciiLowercased }) {
            var values = headers.values(name)
            if name == "authorization", let identity, isDigest(values) { values = [identity] }
            if !values.isEmpty, !counted.contains(where: { $0.name == name }) {
                counted.append((name, values))
            }
        }
        // No header has this name.
        if let cookies { counted.append(("cookie jar", [cookies])) }
        guard !counted.isEmpty || !caching.partition.isEmpty else { return "" }
        var writer = BinaryWriter()
        writer.text(caching.partition)
        for (name, values) in counted.sorted(by: { $0.name < $1.name }) {
            writer.text(name)
            writer.integer(UInt32(clamping: values.count))
            for value in values { writer.text(value) }
        }
        return String(secret.digest(Hex.encode(writer.bytes), of: "partition").prefix(32))
    }

    /// Returns whether the header that is sent changes each time. Until the server has sent a
    /// Digest challenge it may be another header.
    private static func isDigest(_ values: [String]) -> Bool {
        values.first?.hasPrefix("Digest ") == true
    }

    // MARK: Before the request

    /// Whether ``decide()`` reads the store.
    package var reads: Bool { takesPart && request.isServable && options.policy != .reload }

    private var lookup: CacheLookup {
        CacheLookup(request, options: options, secret: store.secret, now: clock.wallMilliseconds)
    }

    /// Begins a background validation of the stored response. May block.
    package func beginValidation() -> EntryStore.Validation {
        store.entries.beginValidation(of: store.place(key).key)
    }

    /// Decides how to respond to the request. May block if ``reads``.
    package func decide() -> CacheDecision {
        let lookup = lookup
        guard reads else {
            beginning = store.moment(key)
            return isForCache ? lookup.decide([]) : .network(NetworkPlan())
        }
        return lookup.decide(
            store.stored(for: request, key: key, now: lookup.now, beginning: &beginning))
    }

    /// Returns the stored response of any age, to show it before the request is sent. May block.
    package func shown() -> CachedResponse? {
        guard reads else { return nil }
        let lookup = lookup
        guard
            let selected = lookup.select(store.stored(for: request, key: key, now: lookup.now)),
            CachedResponse.Form(selected, for: request) == .whole
        else { return nil }
        return CachedResponse(selected, form: .whole, now: lookup.now)
    }

    /// Returns the request according to the plan.
    ///
    /// - Parameter asked: The request without a cache.
    package func planned(_ asked: ExchangeRequest) -> ExchangeRequest {
        guard !plan.fields.isEmpty else { return asked }
        var planned = asked
        let own = Headers(
            fields: asked.headers.fields.map { .init(name: $0.name, value: $0.value) })
        let fields = plan.applied(to: own).fields
        planned.headers = HeaderList(fields.map { ($0.name, $0.value) })
        return planned
    }

    /// Records the time of sending.
    package func noteSending() { requestTime = clock.wallMilliseconds }
    /// Records the arrival of the response headers.
    package func noteHead() { responseTime = clock.wallMilliseconds }

    /// Whether a stored response may still replace the origin's response.
    package var canServe: Bool { plan.stored != nil }

    // MARK: After the response

    /// Failures after which a stale response may be used: the origin was unreachable, or the
    /// connection was dropped. Rejected content and a failed identity check are not among them.
    private static let failures: Set<TransportError.Kind> = [
        .resolve, .connect, .connectTimeout, .firstByteTimeout, .idleTimeout, .totalTimeout,
        .stalled, .reset, .truncated, .badProtocol, .proxy,
    ]

    /// Failures that only the request for a missing range can have, which the caller did not ask
    /// for. A request for the whole response may succeed.
    private static let partFailures: Set<TransportError.Kind> = [
        .truncated, .reset, .badProtocol, .badEncoding, .tooLarge,
    ]

    /// Returns whether ``outcome(of:)`` may have an effect; otherwise no worker is needed.
    package func concerns(_ result: ExchangeResult) -> Bool {
        guard let error = result.error else { return true }
        return result.head.map { changesTarget($0) } ?? false
            || (canServe && Self.failures.contains(error.kind)) || isFailedCompletion(error)
    }

    private func isFailedCompletion(_ error: TransportError) -> Bool {
        plan.purpose == .completion && Self.partFailures.contains(error.kind)
    }

    /// Returns whether a response's headers invalidate stored responses, whatever happens to its
    /// body (RFC 9111, section 4.4).
    package func changesTarget(_ head: ResponseHead) -> Bool {
        !request.isSafe && (200..<400).contains(head.status)
    }

    /// Removes the responses that these headers invalidate, without waiting for a long body. May
    /// block.
    package func invalidate(by head: ResponseHead) {
        let arrived = ArrivedResponse(
            head: head, body: Bytes(), requestTime: requestTime, responseTime: responseTime,
            isComplete: false)
        apply(lookup.resolve(arrived, to: plan, stored: []))
    }

    /// Executes an outcome. May block.
    ///
    /// - Returns: Whether everything to be stored is stored.
    @discardableResult
    package func apply(_ outcome: CacheOutcome) -> Bool {
        store.apply(outcome, key: key, since: beginning, now: clock.wallMilliseconds)
    }

    /// Computes the outcome of an exchange. May block.
    package func outcome(of result: ExchangeResult) -> CacheOutcome {
        let lookup = lookup
        guard let head = result.head, result.error == nil || changesTarget(head) else {
            guard let error = result.error else { return CacheOutcome() }
            if isFailedCompletion(error) { return CacheOutcome(delivery: .resend(.withoutRange)) }
            guard Self.failures.contains(error.kind) else { return CacheOutcome() }
            return lookup.resolve(nil, to: plan, stored: [])
        }
        // A body that was not read to its end still has its content encoding.
        let agrees = result.isDecoded || !request.decodes || head["content-encoding"] == nil
        let arrived = ArrivedResponse(
            head: head, body: result.body, requestTime: requestTime, responseTime: responseTime,
            isDecoded: result.isDecoded,
            isComplete: takesPart && agrees && result.error == nil && result.isComplete
                && !result.isLengthUnverified)
        return lookup.resolve(arrived, to: plan, stored: concerned(by: head, now: lookup.now))
    }

    /// Returns the stored responses that the headers may refer to.
    private func concerned(by head: ResponseHead, now: Int64) -> [StoredResponse] {
        guard takesPart, request.isServable else { return [] }
        // A strong validator identifies every variant.
        if head.status == 304 || request.method == "HEAD" { return store.allStored(key: key) }
        return store.stored(for: request, key: key, now: now)
    }

    /// Returns the result with a stored response in place of the origin's.
    package static func replaced(_ result: ExchangeResult, by response: CachedResponse)
        -> ExchangeResult
    {
        var replaced = ExchangeResult()
        replaced.head = response.head
        replaced.body = response.body
        replaced.metrics = result.metrics
        // Cookies are not stored, but those of the confirming response are for this request.
        if response.isRevalidated, let head = result.head {
            let cookies = head.values("set-cookie").map { "Set-Cookie: \($0)\n" }.joined()
            if !cookies.isEmpty { replaced.head = response.head.adding(cookies) }
        }
        return replaced
    }
}

/// The headers of a request as sent, and their cache directives.
package struct SentFields: Sendable {
    package let headers: Headers
    package let control: RequestCacheControl

    /// Collects all headers that are sent, including those that the transport adds.
    package init(_ asked: borrowing ExchangeRequest) {
        var headers = Headers()
        var suppressed = Headers()
        for field in asked.headers.fields {
            if let value = field.value {
                headers.append(field.name, value)
            } else {
                suppressed.append(field.name, "")
            }
        }
        for field in asked.ownFields where !headers.contains(field.name) {
            if !suppressed.contains(field.name) { headers.append(field.name, field.value) }
        }
        self.headers = headers
        control = RequestCacheControl(headers)
    }
}

extension ResponseHead {
    /// Returns the headers with more lines, which end with line feeds.
    fileprivate func adding(_ lines: String) -> ResponseHead {
        var head = self
        head.block = block.appending(lines)
        return head
    }
}

extension CachedResponse {
    /// The cache marks of the response.
    package var marks: Response.CacheMarks {
        var marks: Response.CacheMarks = .stored
        // A response that requires revalidation is not fresh even then.
        if isStale && !isRevalidated { marks.insert(.stale) }
        if isRevalidated { marks.insert(.revalidated) }
        return marks
    }
}
