// Wherry: the HTTP cache before and after a hop.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

extension RequestTransfer {
    /// Asks the HTTP cache before the network.
    ///
    /// Who waits for the answer in the starting call may as well wait for the disk; everybody else
    /// hears of it later, and from another thread (K6).
    func consult(_ caching: TransferCaching, for exchange: Exchange, wake: Wake) {
        let request = hops.withLock { $0.edited } ?? request
        guard
            let http = caching.http(
                for: request, exchange.request, settings, client,
                identity: hops.withLock { $0.auth?.identity })
        else { return pass(caching, request, exchange, wake: wake) }
        guard http.reads else {
            // Nothing is waited for, but an end is told as late as any other.
            let decision = http.decide()
            if case .network = decision { return carryOut(decision, http, exchange, wake: wake) }
            return after(wake) { [self] in carryOut(decision, http, exchange, wake: .now) }
        }
        if case .never = wake { return decide(http, caching, exchange, wake: wake) }
        client.workers.submit { [self] in decide(http, caching, exchange, wake: .now) }
    }

    /// Runs what may end the transfer: never inside of a starting call that does not wait for it.
    private func after(_ wake: Wake, _ body: @escaping @Sendable () -> Void) {
        if case .never = wake { return body() }
        client.workers.submit(body)
    }

    /// Goes on where there is no HTTP cache for this request.
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
            // Nobody could be asked what is to be stored behind the request's back.
            if decisions.contains(.store) { return ask(plan, http, exchange, wake: wake) }
            guard Revalidation.start(http, exchange.request, client, options) else {
                return ask(plan, http, exchange, wake: wake)
            }
            give(answer)
        case .network(let plan): ask(plan, http, exchange, wake: wake)
        case .gatewayTimeout:
            // An answer of our own: the request wanted the cache alone (RFC 9111, 5.2.1.7).
            var result = ExchangeResult()
            result.head = ResponseHead(status: 504, block: Bytes())
            hops.withLock { $0.attempts.isLast = true }
            holdAnswer(result)
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

    /// Tells what is stored, before the network is asked, if the request would accept it from there
    /// (K16).
    private func show(_ http: HTTPCaching, _ caching: TransferCaching) {
        guard caching.shown.withLock({ $0 == nil }), hops.withLock({ $0.redirects.isEmpty }),
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

    /// Goes on with a stored answer as if it had come just now.
    private func give(_ answer: CachedAnswer) {
        let age = answer.isStale ? ", stale" : ""
        note(.debug, .hit, [.everybody("Load cache succeed:\(answer.body.count) bytes\(age)")]) {
            $0.status = answer.head.status
        }
        arrive(HTTPCaching.replaced(ExchangeResult(), by: answer), answer)
    }

    private func arrive(_ result: ExchangeResult, _ answer: CachedAnswer) {
        holdAnswer(result)
        guard let error = tooLarge(result.body) else {
            return arrive(result, marks: answer.marks)
        }
        var result = result
        result.error = error
        result.body = Bytes()
        arrive(result)
    }

    /// A stored body is held to the request's limit like one that comes.
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

    /// The head of the present hop has come.
    ///
    /// - Returns: whether a stored answer may yet take its place.
    func note(_ head: ResponseHead) -> Bool {
        guard let http = hops.withLock({ $0.http }) else { return false }
        http.noteHead()
        // The end of its pieces may be far away.
        if request.isStreamed || decisions.contains(.head), http.changesTarget(head) {
            client.workers.submit { http.invalidate(by: head) }
        }
        return http.mayAnswer
    }

    // MARK: Streams

    /// Whether the body was handed over in pieces as it came.
    var isToldInPieces: Bool { request.isStreamed && hops.withLock { $0.copy != nil } }

    /// Whether a streamed response is sure to be the response, whatever is stored: it need not be held
    /// until its end.
    func isReplacement(_ head: ResponseHead) -> Bool {
        request.isStreamed && (200..<300).contains(head.status) && head.status != 206
    }

    /// Begins a copy of a streamed body, if the caches may have it.
    func beginCopy(_ head: ResponseHead) {
        let isWanted = caching != nil && request.isGathered(settings)
        // Larger entries are not stored.
        let limit = Int(clamping: settings.options[.cacheMaxBytes] / 8)
        hops.withLock { $0.copy = isWanted ? BodyCopy(limit: limit) : nil }
    }

    /// Works out what the end of a hop means for the HTTP cache and for this request.
    func settle(_ result: ExchangeResult, of exchange: Exchange) {
        // What has been handed over in pieces is the response, however it ended.
        let isTold = isToldInPieces
        if isTold, result.error != nil {
            hops.withLock { $0.http = nil }
            return arrive(result)
        }
        let isUnreached = result.error != nil && result.head == nil
        let (own, spare) = hops.withLock { state in
            let own = state.http
            state.http = nil
            // Another base is asked before a stale answer of this one is given.
            if isUnreached, state.spare == nil, own?.mayAnswer == true { state.spare = own }
            return (own, state.spare)
        }
        if isUnreached, let error = result.error, fallsBack(after: error) { return }
        let http = own?.mayAnswer == true || !isUnreached ? own : spare ?? own
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
            // Once it is cancelled nobody decides, and so nothing is stored.
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

    /// Changes what is stored, and goes on with what the request gets.
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
            // It may be that of another base than the last one tried.
            hops.withLock { $0.url = http.request.target }
            arrive(HTTPCaching.replaced(result, by: answer), answer)
        case .askAgain(let plan):
            guard !isCancelled else { return end(TransferOutcome(error: Self.cancelledError)) }
            hops.withLock { state in
                state.wire.sent += result.metrics.sent
                state.wire.received += result.metrics.received
                if state.told == .held { state.told = .nothing }
            }
            http.plan = plan
            // Its plan takes out what the one before put in.
            let again = Exchange(http.planned(exchange.request), receiver: self)
            dispatch(again, http, wake: .now)
        }
    }
}
