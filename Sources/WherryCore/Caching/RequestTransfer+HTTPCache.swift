// Wherry: the HTTP cache in a request transfer.
// SPDX-License-Identifier: Apache-2.0

import WherryCache
import WherryRequests
import WherrySystem
import WherryTransport

extension RequestTransfer {
    /// Looks up the HTTP cache, then sends the request if needed.
    ///
    /// Runs on the calling thread if the caller waits for the response there; otherwise on a
    /// worker, so that a starting call never waits for the disk (K6).
    func consult(_ caching: TransferCaching, for exchange: Exchange, wake: Wake) {
        let request = hops.withLock { $0.edited } ?? request
        guard
            let http = caching.http(
                for: request, exchange.request, settings, client,
                identity: hops.withLock { $0.follower.authentication?.identity })
        else { return pass(caching, request, exchange, wake: wake) }
        guard http.reads else {
            // The disk is not needed, but the end must still not be reported inside the starting
            // call.
            let decision = http.decide()
            if case .network = decision { return carryOut(decision, http, exchange, wake: wake) }
            return after(wake) { [self] in carryOut(decision, http, exchange, wake: .now) }
        }
        if case .never = wake { return decide(http, caching, exchange, wake: wake) }
        client.workers.submit { [self] in decide(http, caching, exchange, wake: .now) }
    }

    /// Runs code that may end the transfer: on a worker, unless the starting call waits for the
    /// response.
    private func after(_ wake: Wake, _ body: @escaping @Sendable () -> Void) {
        if case .never = wake { return body() }
        client.workers.submit(body)
    }

    /// Continues without the HTTP cache.
    private func pass(
        _ caching: TransferCaching, _ request: Request, _ exchange: Exchange, wake: Wake
    ) {
        guard request.cachePolicy == .anyAgeOnly else { return dispatch(exchange, nil, wake: wake) }
        after(wake) { [self] in
            end(TransferOutcome(error: caching.failure ?? TimedRefusal.missing.error))
        }
    }

    private func decide(
        _ http: HTTPCaching, _ caching: TransferCaching, _ exchange: Exchange, wake: Wake
    ) {
        guard !isCancelled else { return end(TransferOutcome(error: Self.cancelledError)) }
        if http.options.policy == .validate { show(http, caching) }
        carryOut(http.decide(), http, exchange, wake: wake)
    }

    private func carryOut(
        _ decision: CacheDecision, _ http: HTTPCaching, _ exchange: Exchange, wake: Wake
    ) {
        guard !isCancelled else { return end(TransferOutcome(error: Self.cancelledError)) }
        switch decision {
        case .answer(let answer): give(answer)
        case .answerAndRevalidate(let answer, let plan):
            // A background revalidation cannot ask the program whether to store the response.
            if decisions.contains(.store) { return ask(plan, http, exchange, wake: wake) }
            guard Revalidation.start(http, exchange.request, client, options) else {
                return ask(plan, http, exchange, wake: wake)
            }
            give(answer)
        case .network(let plan): ask(plan, http, exchange, wake: wake)
        case .gatewayTimeout:
            // Create the response for a request that allows only the cache (RFC 9111, 5.2.1.7).
            var result = ExchangeResult()
            result.head = ResponseHead(status: 504, block: Bytes())
            hops.withLock { $0.attempts.isLast = true }
            deferCachedHeaders(result)
            arrive(result)
        case .miss: end(TransferOutcome(error: TimedRefusal.missing.error))
        }
    }

    private func ask(
        _ plan: NetworkPlan, _ http: HTTPCaching, _ exchange: Exchange, wake: Wake
    ) {
        note(.debug, .missed, [.everybody(Self.asksNetwork)])
        http.plan = plan
        let isPlain = plan.fields.isEmpty
        dispatch(
            isPlain ? exchange : Exchange(http.planned(exchange.request), receiver: self), http,
            wake: wake)
    }

    /// Reports the cached response before the network request, if the caller would accept its
    /// status and body (K16).
    private func show(_ http: HTTPCaching, _ caching: TransferCaching) {
        guard caching.shown.withLock({ $0 == nil }), hops.withLock({ !$0.follower.isRedirected }),
            let answer = http.shown()
        else { return }
        let head = answer.head
        let response = response(head, answer.body, ExchangeResult(), answer.marks)
        guard case .answer = step(after: head),
            ResponseRules.error(
                response, method: method, request: request, options: options, receivedAt: 0) == nil
        else { return }
        caching.shown.withLock { $0 = answer.body }
        emit(.cached(response))
    }

    /// Continues with a cached response like with a network response.
    private func give(_ answer: CachedAnswer) {
        let age = answer.isStale ? ", stale" : ""
        note(.debug, .hit, [.everybody("Load cache succeed:\(answer.body.count) bytes\(age)")]) {
            $0.status = answer.head.status
        }
        arrive(HTTPCaching.replaced(ExchangeResult(), by: answer), answer)
    }

    private func arrive(_ result: ExchangeResult, _ answer: CachedAnswer) {
        deferCachedHeaders(result)
        guard let error = tooLarge(result.body) else {
            return arrive(result, marks: answer.marks)
        }
        var result = result
        result.error = error
        result.body = Bytes()
        arrive(result)
    }

    /// Returns an error if a cached body exceeds the request's limit.
    func tooLarge(_ body: Bytes) -> TransportError? {
        let limit = options[.maxBodyBytes]
        return body.count > limit ? .tooLarge(limit) : nil
    }

    private func dispatch(_ exchange: Exchange, _ http: HTTPCaching?, wake: Wake) {
        hops.withLock { state in
            state.exchange = exchange
            state.http = http
        }
        launch(exchange, wake: wake)
    }

    /// Records the response headers of the current hop.
    ///
    /// - Returns: Whether a cached response may still replace this response.
    func note(_ head: ResponseHead) -> Bool {
        guard let http = hops.withLock({ $0.http }) else { return false }
        http.noteHead()
        // A streamed body may take long: invalidate now, not at its end.
        if request.isStreamed || decisions.contains(.head), http.changesTarget(head) {
            client.workers.submit { http.invalidate(by: head) }
        }
        return http.mayAnswer
    }

    // MARK: Streams

    /// Whether the body was delivered in pieces as it arrived.
    var isDeliveredInPieces: Bool { request.isStreamed && hops.withLock { $0.copy != nil } }

    /// Returns whether a streamed response is final, whatever is cached, so that its headers need
    /// not be deferred.
    func isReplacement(_ head: ResponseHead) -> Bool {
        request.isStreamed && (200..<300).contains(head.status) && head.status != 206
    }

    /// Starts a copy of a streamed body, if the caches may store the body.
    func beginCopy(_ head: ResponseHead) {
        let isWanted = caching != nil && request.isGathered(settings)
        // Larger entries are not stored.
        let limit = Int(clamping: settings.options[.cacheMaxBytes] / 8)
        hops.withLock { $0.copy = isWanted ? BodyCopy(limit: limit) : nil }
    }

    /// Applies the end of a hop to the HTTP cache and to this request.
    func settle(_ result: ExchangeResult, of exchange: Exchange) {
        // A body that was delivered in pieces is final, even after an error.
        let isTold = isDeliveredInPieces
        if isTold, result.error != nil {
            hops.withLock { $0.http = nil }
            return arrive(result)
        }
        let isUnreached = result.error != nil && result.head == nil
        let (own, fallback) = hops.withLock { state in
            let own = state.http
            state.http = nil
            // The next base URL is tried before a stale response of this one is used.
            if isUnreached, state.fallbackCache == nil, own?.mayAnswer == true { state.fallbackCache = own }
            return (own, state.fallbackCache)
        }
        if isUnreached, let error = result.error, fallsBack(after: error) { return }
        let http = own?.mayAnswer == true || !isUnreached ? own : fallback ?? own
        guard let http, http.concerns(result) else { return arrive(result) }
        var whole = result
        if isTold, let body = hops.withLock({ $0.copy?.body }) {
            whole.body = body
            whole.isComplete = true
        }
        client.workers.submit { [self, whole] in
            let outcome = http.outcome(of: whole)
            if isTold { return carryOut(outcome, result, http, exchange, stored: whole.body.count) }
            guard decisions.contains(.store), outcome.storesAnswer, let head = result.head else {
                return carryOut(outcome, result, http, exchange)
            }
            // After a cancel the program is not asked, so nothing is stored.
            let unstored = outcome.storing(false, without: [])
            guard !isCancelled else { return carryOut(unstored, result, http, exchange) }
            put(.store(response(head, result.body, result))) { [self] answer in
                client.workers.submit { [self] in
                    switch answer {
                    case .refuse(let message):
                        http.apply(unstored)
                        refuse(message)
                    case .store(let isWanted, let names):
                        carryOut(
                            outcome.storing(isWanted, without: names), result, http, exchange)
                    case .standard, .adapted, .follow, .credentials, .again, .save, .token, .next,
                        .stop, .fail:
                        carryOut(isCancelled ? unstored : outcome, result, http, exchange)
                    }
                }
            }
        }
    }

    /// Updates the cache, then continues with the response for the request.
    private func carryOut(
        _ outcome: CacheOutcome, _ result: ExchangeResult, _ http: HTTPCaching, _ exchange: Exchange,
        stored: Int? = nil
    ) {
        if !http.apply(outcome) {
            noteUnstored()
        } else if outcome.storesAnswer {
            noteStored(stored ?? result.body.count, identifier: "", seconds: nil)
        }
        switch outcome.answer {
        case _ where stored != nil: arrive(result)
        case .network: arrive(result)
        case .cached(let answer):
            guard !isCancelled else { return arrive(result) }
            let what = answer.isRevalidated ? "revalidated" : "stale"
            note(
                .debug, .hit,
                [.everybody("Load cache succeed:\(answer.body.count) bytes, \(what)")]
            ) { $0.status = answer.head.status }
            // The response may belong to an earlier base URL than the last one tried.
            hops.withLock { $0.follower.url = http.request.target }
            arrive(HTTPCaching.replaced(result, by: answer), answer)
        case .askAgain(let plan):
            guard !isCancelled else { return end(TransferOutcome(error: Self.cancelledError)) }
            hops.withLock { state in
                state.wire.sent += result.metrics.sent
                state.wire.received += result.metrics.received
                if state.headerEvent == .deferred { state.headerEvent = .pending }
            }
            http.plan = plan
            // The new plan removes the headers that the previous plan added.
            let again = Exchange(http.planned(exchange.request), receiver: self)
            dispatch(again, http, wake: .now)
        }
    }
}
