// Wherry: the HTTP cache in a request transfer.
// SPDX-License-Identifier: Apache-2.0

import WherryCache
import WherryHTTP
import WherryRequests
import WherrySystem
import WherryTransport

extension RequestTransfer {
    /// Looks up the HTTP cache.
    ///
    /// Runs on the calling thread if the caller waits for the response there; otherwise on a
    /// worker, so that a starting call never waits for the disk (K6).
    func consult(wake: Wake) {
        let (made, hop) = work.withLock { work in
            defer { work.planned = nil }
            return (work.planned, work.machine.hop)
        }
        guard let exchange = made, let caching else { return }
        let request = hop.request
        let http = caching.http(
            for: request, exchange.request, settings, client,
            identity: hop.follower.authentication?.identity)
        guard let http else {
            guard request.cachePolicy == .anyAgeOnly else {
                return dispatch(exchange, nil, wake: wake)
            }
            return afterStart(wake) { [self] in
                feed(.failed(caching.failure ?? TimedRefusal.missing.error))
            }
        }
        guard http.reads else {
            // The disk is not needed, but the end must still not be reported inside the starting
            // call.
            let decision = http.decide()
            if case .network = decision { return carryOut(decision, http, exchange, wake: wake) }
            return afterStart(wake) { [self] in carryOut(decision, http, exchange, wake: .now) }
        }
        if case .never = wake { return decide(http, caching, exchange, wake: wake) }
        client.workers.submit { [self] in decide(http, caching, exchange, wake: .now) }
    }

    /// Runs code that may end the transfer: on a worker, unless the starting call waits for the
    /// response.
    private func afterStart(_ wake: Wake, _ body: @escaping @Sendable () -> Void) {
        if case .never = wake { return body() }
        client.workers.submit(body)
    }

    private func decide(
        _ http: HTTPCaching, _ caching: TransferCaching, _ exchange: Exchange, wake: Wake
    ) {
        guard !isCancelled else { return feed(.failed(Self.cancelledError)) }
        if http.options.policy == .validate { show(http, caching) }
        carryOut(http.decide(), http, exchange, wake: wake)
    }

    private func carryOut(
        _ decision: CacheDecision, _ http: HTTPCaching, _ exchange: Exchange, wake: Wake
    ) {
        guard !isCancelled else { return feed(.failed(Self.cancelledError)) }
        switch decision {
        case .serve(let response): give(response)
        case .serveAndRevalidate(let response, let plan):
            // A background revalidation cannot ask the program whether to store the response.
            if hooks.contains(.store) { return ask(plan, http, exchange, wake: wake) }
            guard Revalidation.start(http, exchange.request, client, options) else {
                return ask(plan, http, exchange, wake: wake)
            }
            give(response)
        case .network(let plan): ask(plan, http, exchange, wake: wake)
        case .gatewayTimeout: feed(.gatewayTimeout)
        case .miss: feed(.failed(TimedRefusal.missing.error))
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

    private func dispatch(_ exchange: Exchange, _ http: HTTPCaching?, wake: Wake) {
        work.withLock { work in
            work.exchange = exchange
            work.http = http
        }
        feed(.planned, wake: wake)
    }

    /// Reports the cached response before the network request, if the caller would accept its
    /// status and body (K16).
    private func show(_ http: HTTPCaching, _ caching: TransferCaching) {
        guard caching.shown.withLock({ $0 == nil }),
            work.withLock({ !$0.machine.hop.follower.isRedirected }), let stored = http.shown()
        else { return }
        let head = stored.head
        let (response, step) = work.withLock { work in
            (
                work.machine.response(head, stored.body, ExchangeResult(), stored.marks),
                work.machine.hop.step(after: head)
            )
        }
        guard case .deliver = step,
            ResponseRules.error(
                response, method: method, request: request, options: options, receivedAt: 0) == nil
        else { return }
        caching.shown.withLock { $0 = stored.body }
        emit(.cached(response))
    }

    /// Continues with a cached response like with a network response.
    private func give(_ response: CachedResponse) {
        noteHit(response, response.isStale ? ", stale" : "")
        let result = HTTPCaching.replaced(ExchangeResult(), by: response)
        feed(.cached(result, response.marks, challenge(byCached: result.head)))
    }

    private func noteHit(_ response: CachedResponse, _ what: String) {
        note(.debug, .hit, [.everybody("Load cache succeed:\(response.body.count) bytes\(what)")]) {
            $0.status = response.head.status
        }
    }

    /// Records the response headers of the current hop.
    ///
    /// - Returns: Whether a cached response may still replace this response.
    func note(_ head: ResponseHead) -> Bool {
        guard let http = work.withLock({ $0.http }) else { return false }
        http.noteHead()
        // A streamed body may take long: invalidate now, not at its end.
        if request.isStreamed || hooks.contains(.headers), http.changesTarget(head) {
            client.workers.submit { http.invalidate(by: head) }
        }
        return http.canServe
    }

    // MARK: Streams

    /// Whether the body was delivered in pieces as it arrived.
    var isDeliveredInPieces: Bool { request.isStreamed && work.withLock { $0.copy != nil } }

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
        work.withLock { $0.copy = isWanted ? BodyCopy(limit: limit) : nil }
    }

    // MARK: Results

    /// Applies the end of a hop to the HTTP cache. Returns the next action if the cache leaves the
    /// result as it is.
    func settle(_ result: ExchangeResult) -> RequestAction? {
        let isUnreached = result.error != nil && result.head == nil
        let (own, fallback, copy) = work.withLock { work in
            let own = work.http
            work.http = nil
            return (own, work.fallback, request.isStreamed ? work.copy : nil)
        }
        let http = own?.canServe == true || !isUnreached ? own : fallback ?? own
        // A body that was delivered in pieces is final, even after an error.
        guard copy == nil || result.error == nil, let http, http.concerns(result) else {
            return handle(.unchanged(result))
        }
        work.withLock { $0.http = http }
        var whole = result
        if let body = copy?.body {
            whole.body = body
            whole.isComplete = true
        }
        client.workers.submit { [self, whole] in
            feed(
                .outcome(
                    http.outcome(of: whole), result,
                    deliveredBytes: copy == nil ? nil : whole.body.count))
        }
        return nil
    }

    /// Updates the cache. Runs on a worker.
    func apply(_ outcome: CacheOutcome, _ bytes: Int, isDelivered: Bool) -> RequestAction? {
        let used = work.withLock { work in
            defer { if case .resend = outcome.delivery {} else { work.http = nil } }
            return work.http
        }
        guard let http = used else {
            return handle(.failed(WherryError(.internal, "There is no cache to update")))
        }
        if !http.apply(outcome) {
            noteUnstored()
        } else if outcome.storesResponse {
            noteStored(bytes, identifier: "", seconds: nil)
        }
        var challenge: Authentication.Step?
        if case .cached(let response) = outcome.delivery, !isDelivered, !isCancelled {
            noteHit(response, response.isRevalidated ? ", revalidated" : ", stale")
            challenge = self.challenge(byCached: response.head)
        }
        return handle(.applied(http.request.target, challenge))
    }

    /// Makes the exchange for another plan. It lacks the headers that the previous plan added.
    func prepare(_ plan: NetworkPlan) -> RequestAction {
        work.withLock { work in
            guard let http = work.http, let exchange = work.exchange else { return }
            http.plan = plan
            work.exchange = Exchange(http.planned(exchange.request), receiver: self)
        }
        return handle(.planned)
    }
}
