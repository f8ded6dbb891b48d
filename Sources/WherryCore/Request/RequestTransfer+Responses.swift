// Wherry: response handling: the next hop, success or failure, and the end.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherryRequests
import WherrySystem
import WherryTransport

extension RequestTransfer.State {
    /// The properties of the body that the redirect rules depend on; `nil` without a body.
    fileprivate var followedBody: AttemptFollower.Body? {
        if case .none = body.body { return nil }
        return AttemptFollower.Body(isReplayable: body.isReplayable, origin: bodyOrigin)
    }
}

extension RequestTransfer {
    /// Returns how to handle a response by the redirect rules.
    func step(after head: ResponseHead) -> RedirectRules.Step {
        guard RedirectRules.redirects(head.status) else { return .answer }
        let (follower, body) = hops.withLock { ($0.follower, $0.followedBody) }
        return follower.step(after: head, body: body, options: options)
    }

    package func exchange(_ exchange: Exchange, asks question: StubQuestion) {
        emit(.decision(.respond(to: question)))
    }

    package func exchange(_ exchange: Exchange, didFinish result: ExchangeResult) {
        client.counters.count(exchange, result)
        if decisions.contains(.head), concludeHeaderHook(exchange, result) { return }
        proceed(result, of: exchange)
    }

    /// Continues after an exchange has ended, with the HTTP cache first if the request uses it.
    func proceed(_ result: ExchangeResult, of exchange: Exchange) {
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
            let proceeds = try hops.withLock { state throws(WherryError) -> Bool in
                var next = state.unedited?.request ?? state.edited ?? request
                guard next.bases.count > 1, !state.follower.isRedirected else { return false }
                state.forgetEdits()
                next.bases.removeFirst()
                let method = state.follower.method
                let url = try RequestPlanner.url(
                    of: next, method: method, settings: settings, options: options)
                state.follower.retarget(url, method: method, options: options)
                state.edited = next
                return true
            }
            guard proceeds else { return false }
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
                head: head, body: body, url: state.follower.url.text, redirects: state.follower.redirects,
                metrics: metrics, retries: state.resends,
                isLengthUnverified: result.isLengthUnverified, marks: marks)
        }
    }

    // MARK: The end

    /// Ends the transfer and reports the outcome, including the pictures and the saved body. If the
    /// program still has to decide on the response headers, asks first.
    func end(_ outcome: TransferOutcome) {
        if asksAboutDeferredHeaders(outcome) { return }
        var outcome = outcome
        if wantsProgress, outcome.error == nil, let exchange = hops.withLock({ $0.exchange }) {
            exchangeDidProgress(exchange)
        }
        let (images, isDeferred) = hops.withLock { state in
            defer { if state.headerEvent == .deferred { state.headerEvent = .pending } }
            if let exchange = state.exchange {
                state.lastProgress = Self.progress(of: exchange, &state, isUpload: isUpload)
                // The exchange retains this transfer.
                state.exchange = nil
            }
            return (state.images, state.headerEvent == .deferred)
        }
        if isDeferred { reportDeferredHeaders(&outcome) }
        if outcome.error == nil, let path = savedPath {
            outcome.path = path
            outcome.response = outcome.response?.saved(at: path)
        }
        if let error = outcome.error, kind == .upload {
            // If the request fails as a whole, every picture has failed (U11).
            outcome.error = error.with { fields in
                guard fields.failedImages.isEmpty else { return }
                fields.failedImages = images.map { image in
                    var image = image
                    if image.error == nil { image.error = error }
                    return image
                }
            }
        }
        if !images.isEmpty {
            outcome.response?.images = images
            outcome.error = outcome.error?.with { $0.response?.images = images }
        }
        finish(outcome)
    }
}
