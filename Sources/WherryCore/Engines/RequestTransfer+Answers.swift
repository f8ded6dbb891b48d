// Wherry: what becomes of an answer: the next hop, a success or an error.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

extension RequestTransfer {
    func step(after head: ResponseHead) -> RedirectRules.Step {
        guard RedirectRules.redirects(head.status) else { return .answer }
        let state = hops.withLock { state in
            let hasBody = if case .none = state.body.body { false } else { true }
            return (
                state.method, state.url, state.redirects.count, state.body.isReplayable, hasBody,
                state.origin, state.bodyOrigin
            )
        }
        return RedirectRules.step(
            head: head, method: state.0, url: state.1, origin: state.5, bodyOrigin: state.6,
            hops: state.2,
            limit: options[.maxRedirects], hasBody: state.4, bodyIsReplayable: state.3,
            mayCrossWithBody: options[.keepAuthAcrossHosts] == 1)
    }

    package func exchange(_ exchange: Exchange, asks question: StubQuestion) {
        emit(.decision(.respond(to: question)))
    }

    package func exchange(_ exchange: Exchange, didFinish result: ExchangeResult) {
        client.counters.count(exchange, result)
        if decisions.contains(.head), concludeHead(exchange, result) { return }
        goOn(result, of: exchange)
    }

    /// Goes on with what came of an exchange.
    func goOn(_ result: ExchangeResult, of exchange: Exchange) {
        if caching?.hasHTTP == true { settle(result, of: exchange) } else { arrive(result) }
    }

    /// Goes on with what came of a hop, from the network or from the HTTP cache.
    func arrive(_ result: ExchangeResult, marks: Response.CacheMarks = []) {
        if let error = result.error, !isUnreadablePage(result) { return fail(error, result) }
        guard let head = result.head else {
            return end(
                TransferOutcome(error: WherryError(.badProtocol, "The answer has no head")))
        }
        // What has been saved is not undone.
        guard !isCancelled || savedPath != nil else {
            return end(TransferOutcome(error: Self.cancelledError))
        }
        switch step(after: head) {
        case .answer:
            if mayAuthenticate, authenticate(head, result, marks) { return }
            judge(head, result, marks)
        case .fail(let error):
            // Of its page no more was read than keeps the connection.
            let response = response(head, Bytes(), result, marks)
            end(
                TransferOutcome(
                    response: response,
                    error: error.with {
                        $0.httpStatus = head.status
                        $0.response = response
                    }))
        case .follow(let hop):
            guard decisions.contains(.redirect) else {
                return follow(hop, from: head, result.metrics)
            }
            ask(about: hop, head, result, marks)
        }
    }

    func fail(_ error: TransportError, _ result: ExchangeResult) {
        if fallsBack(after: error) { return }
        let response = result.head.map { self.response($0, result.body, result) }
        // Cancelled between its start and that of its exchange, by the closing of the client.
        let wasCut = error.kind == .cancelled || error.kind == .shutDown
        var failure = isCancelled && wasCut ? Self.cancelledError : WherryError(error)
        if let response {
            failure = failure.with {
                $0.httpStatus = response.status
                $0.response = response
            }
        }
        let wire = hops.withLock { state in
            (state.wire.sent + result.metrics.sent, state.wire.received + result.metrics.received)
        }
        conclude(TransferOutcome(response: response, error: failure), wire: wire)
    }

    /// Whether it is only the coding of a redirect's page that failed: it counts if the page
    /// becomes the answer.
    private func isUnreadablePage(_ result: ExchangeResult) -> Bool {
        guard result.error?.kind == .badEncoding, let head = result.head, !isCancelled,
            case .follow = step(after: head)
        else { return false }
        return true
    }

    /// Goes on with the next of the request's bases where the one before could not be reached, so
    /// that nothing of the request has gone out (C4).
    func fallsBack(after error: TransportError) -> Bool {
        guard [.resolve, .connect, .connectTimeout].contains(error.kind), !isCancelled else {
            return false
        }
        do throws(WherryError) {
            let goesOn = try hops.withLock { state throws(WherryError) -> Bool in
                var next = state.unedited?.request ?? state.edited ?? request
                guard next.bases.count > 1, state.redirects.isEmpty else { return false }
                state.forgetEdits()
                next.bases.removeFirst()
                state.url = try RequestPlanner.url(
                    of: next, method: state.method, settings: settings, options: options)
                state.origin = state.url.origin
                state.edited = next
                return true
            }
            guard goesOn else { return false }
        } catch {
            end(TransferOutcome(error: error))
            return true
        }
        ask()
        return true
    }

    func judge(
        _ head: ResponseHead, _ result: ExchangeResult, _ marks: Response.CacheMarks
    ) {
        judge(response(head, result.body, result, marks))
    }

    /// Ends with an answer, as a success or as an error, unless another attempt may do better.
    func judge(_ response: Response) {
        if response.status == 401, refreshes(after: response) { return }
        pronounce(response)
    }

    func pronounce(_ response: Response) {
        let readsJSON = options[.jsonOnly] == 1 || request.jsonShape != nil
        if !readsJSON, !response.isLengthUnverified,
            ResponseRules.accepts(response.status, request: request, options: options)
        {
            return succeed(response)
        }
        // To read much JSON takes long: everybody else's bytes wait for this thread.
        guard readsJSON, response.body.count > Self.quickJSON else {
            return finish(response, verdict(response))
        }
        client.workers.submit { [self] in finish(response, verdict(response)) }
    }

    private func finish(_ response: Response, _ error: WherryError?) {
        guard let error else { return succeed(response) }
        conclude(TransferOutcome(response: response, error: error), wire: response.wire)
    }

    private func succeed(_ response: Response) {
        if options[.maxRetries] > 0 { client.retryBudget.withLock { $0.earn() } }
        guard let caching, savedPath == nil else {
            return end(TransferOutcome(response: response))
        }
        keep(response, in: caching)
    }

    /// Bytes of JSON that are read at once.
    private static let quickJSON = 16_384

    private func verdict(_ response: Response) -> WherryError? {
        var request = request
        // What went to a file is not read again.
        if savedPath != nil { request.jsonShape = nil }
        return ResponseRules.error(
            response, method: method, request: request, options: options,
            receivedAt: Int64(client.transport.clock.wallSeconds()))
    }

    func response(
        _ head: ResponseHead, _ body: Bytes, _ result: ExchangeResult,
        _ marks: Response.CacheMarks = []
    ) -> Response {
        hops.withLock { state in
            var metrics = result.metrics
            metrics.sent += state.wire.sent
            metrics.received += state.wire.received
            return Response(
                head: head, body: body, url: state.url.text, redirects: state.redirects,
                metrics: metrics, retries: state.resends,
                isLengthUnverified: result.isLengthUnverified, marks: marks)
        }
    }
}
