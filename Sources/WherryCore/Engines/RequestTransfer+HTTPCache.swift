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
                for: request, exchange.request, settings, client.transport.clock)
        else { return pass(caching, request, exchange, wake: wake) }
        if case .never = wake { return decide(http, caching, exchange, wake: wake) }
        guard http.reads else { return decide(http, caching, exchange, wake: wake) }
        client.workers.submit { [self] in decide(http, caching, exchange, wake: .now) }
    }

    /// Goes on where there is no HTTP cache for this request.
    private func pass(
        _ caching: TransferCaching, _ request: Request, _ exchange: Exchange, wake: Wake
    ) {
        guard request.cachePolicy != .anyAgeOnly else {
            return end(TransferOutcome(error: caching.failure ?? Self.missError))
        }
        dispatch(exchange, nil, wake: wake)
    }

    private static let missError = TimedRefusal.missing.error

    private func decide(
        _ http: HTTPCaching, _ caching: TransferCaching, _ exchange: Exchange, wake: Wake
    ) {
        guard !isCancelled else { return end(TransferOutcome(error: Self.cancelledError)) }
        var http = http
        if http.options.policy == .validate { show(http, caching) }
        let decision = http.decide()
        guard !isCancelled else { return end(TransferOutcome(error: Self.cancelledError)) }
        switch decision {
        case .answer(let answer): give(answer)
        case .answerAndRevalidate(let answer, let plan):
            http.plan = plan
            Revalidation.start(http, client, options)
            give(answer)
        case .network(let plan):
            http.plan = plan
            let isPlain = plan.fields.isEmpty
            dispatch(
                isPlain ? exchange : Exchange(http.planned, receiver: self), http, wake: wake)
        case .gatewayTimeout:
            // An answer of our own: the request wanted the cache alone (RFC 9111, 5.2.1.7).
            var result = ExchangeResult()
            result.head = ResponseHead(status: 504, block: Bytes())
            arrive(result)
        case .miss: end(TransferOutcome(error: Self.missError))
        }
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
            ResponseRules.error(response, method: method, request: request, options: options)
                == nil
        else { return }
        caching.shown.withLock { $0 = answer.body }
        emit(.cached(response))
    }

    /// Goes on with a stored answer as if it had come just now.
    private func give(_ answer: CachedAnswer) {
        arrive(HTTPCaching.replaced(ExchangeResult(), by: answer), answer)
    }

    private func arrive(_ result: ExchangeResult, _ answer: CachedAnswer) {
        if options[.wantHead] == 1, let head = result.head, case .answer = step(after: head) {
            emit(.head(response(head, Bytes(), result, answer.marks)))
        }
        arrive(result, marks: answer.marks)
    }

    private func dispatch(_ exchange: Exchange, _ http: HTTPCaching?, wake: Wake) {
        var http = http
        http?.noteSending()
        hops.withLock { [http] state in
            state.exchange = exchange
            state.http = http
        }
        launch(exchange, wake: wake)
    }

    /// The head of the present hop has come.
    ///
    /// - Returns: whether a stored answer may yet take its place.
    func noteHead() -> Bool {
        hops.withLock { state in
            state.http?.noteHead()
            return state.http?.mayAnswer ?? false
        }
    }

    /// Works out what the end of a hop means for the HTTP cache and for this request.
    func settle(_ result: ExchangeResult) {
        let http = hops.withLock { state in
            defer { state.http = nil }
            return state.http
        }
        guard let http, http.concerns(result) else { return conclude(result, http) }
        // Another base is asked before a stale answer is given.
        if let error = result.error, result.head == nil, fallsBack(after: error) { return }
        client.workers.submit { [self] in
            let outcome = http.outcome(of: result)
            guard decisions.contains(.store), outcome.storesAnswer, let head = result.head,
                !isCancelled
            else { return carryOut(outcome, result, http) }
            put(.store(response(head, result.body, result))) { [self] answer in
                client.workers.submit { [self] in
                    switch answer {
                    case .refuse(let message):
                        http.apply(outcome.storing(false, without: []))
                        refuse(message)
                    case .store(let isWanted, let names):
                        carryOut(outcome.storing(isWanted, without: names), result, http)
                    case .standard, .adapted, .follow: carryOut(outcome, result, http)
                    }
                }
            }
        }
    }

    /// Changes what is stored, and goes on with what the request gets.
    private func carryOut(_ outcome: CacheOutcome, _ result: ExchangeResult, _ http: HTTPCaching) {
        if !http.apply(outcome), client.isDebugging { DebugLog.notStored(self) }
        switch outcome.answer {
        case .network: conclude(result, http)
        case .cached(let answer):
            guard !isCancelled else { return arrive(result) }
            arrive(HTTPCaching.replaced(result, by: answer), answer)
        case .askAgain(let plan):
            guard !isCancelled else { return end(TransferOutcome(error: Self.cancelledError)) }
            hops.withLock { state in
                state.wire.sent += result.metrics.sent
                state.wire.received += result.metrics.received
            }
            var again = http
            again.plan = plan
            dispatch(Exchange(again.planned, receiver: self), again, wake: .now)
        }
    }

    /// Goes on with what the network brought, of which nothing was told where a stored answer might
    /// have taken its place.
    private func conclude(_ result: ExchangeResult, _ http: HTTPCaching?) {
        if options[.wantHead] == 1, http?.mayAnswer == true, result.error == nil,
            let head = result.head, case .answer = step(after: head)
        {
            emit(.head(response(head, Bytes(), ExchangeResult())))
        }
        arrive(result)
    }
}
