// Wherry: one hop's dealings with the HTTP cache.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// What one request to one URL reads from the HTTP cache and writes to it: redirects are stored and
/// found hop by hop. The calls that say so may block for the disk.
///
/// One thread after the other has it: first the one that decides, then the transport's until the
/// exchange has ended, then the one that works out what follows.
package final class HTTPCaching: @unchecked Sendable {
    package let store: HTTPCacheStore
    package let request: CacheRequest
    package let options: HTTPCacheOptions
    package let key: HTTPCacheStore.Key
    /// Whether stored answers may serve it, and whether its answer may be stored. What it makes
    /// invalid goes in any case.
    package let takesPart: Bool
    /// Whether the request has anything to do with the cache but for what it changes.
    private let isForCache: Bool
    private let clock: any Clock
    /// The key's moment before anything was read.
    private var beginning: EntryStore.Stamp?

    /// How the origin is asked.
    package var plan = NetworkPlan()
    /// When the request went out and the head came, milliseconds since 1970.
    package var requestTime: Int64 = 0
    package var responseTime: Int64 = 0

    /// - Parameters:
    ///   - asked: the hop, complete.
    ///   - sent: its fields.
    ///   - isGathered: the answer's body is collected, and not handed over in pieces.
    ///   - identity: who asks, in place of an `Authorization` that changes each time.
    ///   - cookies: those that the program gave to the cookie jar for this URL.
    ///   - isListed: the URL may come from a list of entries, where secrets are digests.
    ///   - policy: `nil` for a request that has no part in the cache, and may change what it has.
    package init(
        _ asked: borrowing ExchangeRequest, sent: SentFields, isGathered: Bool, caching: RequestCaching,
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
        // What GET is given with a body only the origin knows (RFC 9110, section 9.3.1).
        takesPart = isForCache && isGathered && !(request.isServable && hasBody)
        key = HTTPCacheStore.Key(
            url: request.url, partition: Self.partition(
                sent.headers, caching, store.secret, identity, cookies),
            isListed: isListed)
    }

    /// Digits that tell identities apart (SEC-C2); "" for the usual one.
    ///
    /// `Authorization` says who asks, and a program that changes its token or user must not be
    /// given the answers of another. So do cookies that the program gave to the jar. Those of servers
    /// do not count: they change all the time, and what depends on them says so in Vary.
    private static func partition(
        _ headers: Headers, _ caching: RequestCaching, _ secret: VarySecret, _ identity: String?,
        _ cookies: String?
    ) -> String {
        if caching.fields.isEmpty, caching.partition.isEmpty, cookies == nil, !headers.contains("authorization") {
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
        // No header field has this name.
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

    /// Whether the field that goes out is the one that changes each time: until the server has asked
    /// for a digest it may be another one.
    private static func isDigest(_ values: [String]) -> Bool {
        values.first?.hasPrefix("Digest ") == true
    }

    // MARK: Before the origin is asked

    /// Whether ``decide()`` looks into the store.
    package var reads: Bool { takesPart && request.isServable && options.policy != .reload }

    private var lookup: CacheLookup {
        CacheLookup(request, options: options, secret: store.secret, now: clock.wallMilliseconds)
    }

    /// Begins a background validation of the stored response. May block.
    package func beginValidation() -> EntryStore.Validation {
        store.entries.beginValidation(of: store.place(key).key)
    }

    /// What becomes of the request. May block where it ``reads``.
    package func decide() -> CacheDecision {
        let lookup = lookup
        guard reads else {
            beginning = store.moment(key)
            return isForCache ? lookup.decide([]) : .network(NetworkPlan())
        }
        return lookup.decide(
            store.stored(for: request, key: key, now: lookup.now, beginning: &beginning))
    }

    /// The whole of what is stored, however old, to be shown before the origin is asked. May block.
    package func shown() -> CachedAnswer? {
        guard reads else { return nil }
        let lookup = lookup
        guard
            let selected = lookup.select(store.stored(for: request, key: key, now: lookup.now)),
            CachedAnswer.Form(selected, for: request) == .whole
        else { return nil }
        return CachedAnswer(selected, form: .whole, now: lookup.now)
    }

    /// The request that the plan asks for.
    ///
    /// - Parameter asked: as it would go out without a cache.
    package func planned(_ asked: ExchangeRequest) -> ExchangeRequest {
        guard !plan.fields.isEmpty else { return asked }
        var planned = asked
        let own = Headers(
            fields: asked.headers.fields.map { .init(name: $0.name, value: $0.value) })
        let fields = plan.applied(to: own).fields
        planned.headers = HeaderList(fields.map { ($0.name, $0.value) })
        return planned
    }

    /// The moment of sending.
    package func noteSending() { requestTime = clock.wallMilliseconds }
    /// The moment when a head came.
    package func noteHead() { responseTime = clock.wallMilliseconds }

    /// Whether something stored may yet take the place of what the origin answers.
    package var mayAnswer: Bool { plan.stored != nil }

    // MARK: After that

    /// Failures after which a stale answer may serve: the origin could not be reached, or broke off.
    /// What was refused for its content or its identity is another matter.
    private static let failures: Set<TransportError.Kind> = [
        .resolve, .connect, .connectTimeout, .firstByteTimeout, .idleTimeout, .totalTimeout,
        .stalled, .reset, .truncated, .badProtocol, .proxy,
    ]

    /// Failures of a completion, which nobody asked for, that a request for the whole may not have.
    private static let partFailures: Set<TransportError.Kind> = [
        .truncated, .reset, .badProtocol, .badEncoding, .tooLarge,
    ]

    /// Whether ``outcome(of:)`` could have anything to say; if not there is no need for a worker.
    package func concerns(_ result: ExchangeResult) -> Bool {
        guard let error = result.error else { return true }
        return result.head.map { changesTarget($0) } ?? false
            || (mayAnswer && Self.failures.contains(error.kind)) || isFailedCompletion(error)
    }

    private func isFailedCompletion(_ error: TransportError) -> Bool {
        plan.purpose == .completion && Self.partFailures.contains(error.kind)
    }

    /// Whether a head says that what is stored may no longer be true, whatever becomes of the body
    /// (RFC 9111, section 4.4).
    package func changesTarget(_ head: ResponseHead) -> Bool {
        !request.isSafe && (200..<400).contains(head.status)
    }

    /// Takes away what a head says may no longer be true, of a body that may go on for long. May
    /// block.
    package func invalidate(by head: ResponseHead) {
        let arrived = ArrivedResponse(
            head: head, body: Bytes(), requestTime: requestTime, responseTime: responseTime,
            isComplete: false)
        apply(lookup.resolve(arrived, to: plan, stored: []))
    }

    /// Carries out what follows. May block.
    ///
    /// - Returns: whether everything that was to be stored is.
    @discardableResult
    package func apply(_ outcome: CacheOutcome) -> Bool {
        store.apply(outcome, key: key, since: beginning, now: clock.wallMilliseconds)
    }

    /// What follows from the end of the exchange. May block.
    package func outcome(of result: ExchangeResult) -> CacheOutcome {
        let lookup = lookup
        guard let head = result.head, result.error == nil || changesTarget(head) else {
            guard let error = result.error else { return CacheOutcome() }
            if isFailedCompletion(error) { return CacheOutcome(answer: .askAgain(.withoutRange)) }
            guard Self.failures.contains(error.kind) else { return CacheOutcome() }
            return lookup.resolve(nil, to: plan, stored: [])
        }
        // A page that was only skimmed has its coding still.
        let agrees = result.isDecoded || !request.decodes || head["content-encoding"] == nil
        let arrived = ArrivedResponse(
            head: head, body: result.body, requestTime: requestTime, responseTime: responseTime,
            isDecoded: result.isDecoded,
            isComplete: takesPart && agrees && result.error == nil && result.isComplete
                && !result.isLengthUnverified)
        return lookup.resolve(arrived, to: plan, stored: concerned(by: head, now: lookup.now))
    }

    /// The stored answers that a head may speak of.
    private func concerned(by head: ResponseHead, now: Int64) -> [StoredResponse] {
        guard takesPart, request.isServable else { return [] }
        // A strong validator names every variant.
        if head.status == 304 || request.method == "HEAD" { return store.allStored(key: key) }
        return store.stored(for: request, key: key, now: now)
    }

    /// The result with a stored answer in place of what the origin sent.
    package static func replaced(_ result: ExchangeResult, by answer: CachedAnswer) -> ExchangeResult {
        var replaced = ExchangeResult()
        replaced.head = answer.head
        replaced.body = answer.body
        replaced.metrics = result.metrics
        // Cookies are not stored, but those that came with the confirmation are for this request.
        if answer.isRevalidated, let head = result.head {
            let cookies = head.values("set-cookie").map { "Set-Cookie: \($0)\n" }.joined()
            if !cookies.isEmpty { replaced.head = answer.head.adding(cookies) }
        }
        return replaced
    }
}

/// The fields of a request as they go out, and what they say to caches.
package struct SentFields: Sendable {
    package let headers: Headers
    package let control: RequestCacheControl

    /// All fields that go out with a request, those that the transport writes too.
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
    /// The head with more lines, which end with line feeds.
    fileprivate func adding(_ lines: String) -> ResponseHead {
        var head = self
        head.block = block.appending(lines)
        return head
    }
}

extension CachedAnswer {
    /// How the response is marked.
    package var marks: Response.CacheMarks {
        var marks: Response.CacheMarks = .stored
        // One that must always be asked about is not fresh even then.
        if isStale && !isRevalidated { marks.insert(.stale) }
        if isRevalidated { marks.insert(.revalidated) }
        return marks
    }
}
