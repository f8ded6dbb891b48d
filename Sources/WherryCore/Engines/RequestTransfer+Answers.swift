// Wherry: response handling: the next hop, success or failure.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherryRequests
import WherrySystem
import WherryTransport

extension RequestTransfer {
    /// Returns how to handle a response by the redirect rules.
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

    /// Continues after an exchange has ended, with the HTTP cache first if the request uses it.
    func goOn(_ result: ExchangeResult, of exchange: Exchange) {
        if caching?.hasHTTP == true { settle(result, of: exchange) } else { arrive(result) }
    }

    /// Handles the result of a hop, from the network or from the HTTP cache.
    func arrive(_ result: ExchangeResult, marks: Response.CacheMarks = []) {
        if let error = result.error, !isUnreadablePage(result) { return fail(error, result) }
        guard let head = result.head else {
            return end(
                TransferOutcome(error: WherryError(.badProtocol, "The response has no headers")))
        }
        // A cancel does not undo a saved body.
        guard !isCancelled || savedPath != nil else {
            return end(TransferOutcome(error: Self.cancelledError))
        }
        switch step(after: head) {
        case .answer:
            if mayAuthenticate, authenticate(head, result, marks) { return }
            judge(head, result, marks)
        case .fail(let error):
            // The redirect's body was read only as far as needed to reuse the connection.
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
        // Closing the client may cancel the transfer before its exchange starts.
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

    /// Returns whether the only failure was decoding the body of a redirect. The failure counts
    /// only if the redirect becomes the final response.
    private func isUnreadablePage(_ result: ExchangeResult) -> Bool {
        guard result.error?.kind == .badEncoding, let head = result.head, !isCancelled,
            case .follow = step(after: head)
        else { return false }
        return true
    }

    /// Retries with the request's next base URL if the current one could not be reached: nothing of
    /// the request has been sent then (C4). Returns `false` if the request is not retried.
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

    /// Ends the transfer with a response, as success or failure, unless a retry is possible.
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
        // Parsing a large JSON body would delay the other transfers on this thread.
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

    /// The largest JSON body that is parsed on the transport's thread, in bytes.
    private static let quickJSON = 16_384

    private func verdict(_ response: Response) -> WherryError? {
        var request = request
        // A body saved to a file is not parsed.
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
