// Wherry: the actions of a request.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherryRequests
import WherrySystem
import WherryTransport

extension RequestTransfer {
    /// Carries out an action, and those that follow at once.
    ///
    /// - Parameter wake: The thread to use if no thread drives the transport.
    func run(_ action: RequestAction, wake: Wake) {
        var action = action
        while let next = perform(action, wake: wake) { action = next }
    }

    /// Carries out an action. Returns the next one; `nil` if it follows from a later event.
    private func perform(_ action: RequestAction, wake: Wake) -> RequestAction? {
        switch action {
        case .none, .receive, .setPaused, .setPriority: break
        case .build: return build()
        case .launch(let isFirst): launch(isFirst: isFirst, wake: wake)
        case .finish(let outcome, let tells): finish(outcome, tells: tells)
        case .lookUp: lookUp(wake: wake)
        case .encode: encodePictures()
        case .ask(let question): ask(question)
        case .prepare(.coding): return codeBody()
        case .prepare(.digests): computeDigests()
        case .prepare(.integrity(let algorithm)): return computeIntegrity(algorithm)
        case .consult: consult(wake: wake)
        case .plan(let plan): return prepare(plan)
        case .awaitNetwork: return awaitNetwork()
        case .decide(let use, let head): decide(use, head)
        case .cancelExchange: if let exchange = work.withLock({ $0.exchange }) { client.transport.cancel(exchange) }
        case .stop: stop()
        case .abandon, .publish, .save: closeFile(action)
        case .settle(let result): return settle(result)
        case .apply(let outcome, let bytes, let isTold): return apply(outcome, bytes, isTold: isTold)
        case .resend(let reason, let rewinds): return resend(reason, rewinds: rewinds)
        case .check(let response, let isSaved): return check(response, isSaved: isSaved)
        case .chooseDelay(let error, let retries):
            return handle(.delay(usualDelay(error, retries)))
        case .wait(let delay, let number, let error): wait(delay, number, error)
        case .refreshToken(let number): refreshToken(number)
        case .keep(let response): return keep(response)
        case .write(let response, let names): write(response, without: names)
        case .forget(let response):
            caching?.timed?.remove()
            return handle(.kept(response))
        }
        return nil
    }

    // MARK: Responses

    /// Returns how the transport handles the body of a response.
    func disposition(
        _ use: RequestBodyUse, _ head: ResponseHead, of exchange: Exchange
    ) -> BodyDisposition {
        switch use {
        case .collect(let tells):
            if tells { tell(head) }
            return .collect(limit: options[.maxBodyBytes])
        case .deliver(let tells):
            if tells { tell(head) }
            beginCopy(head)
            return .deliver(offset: 0, eager: true)
        case .save(let tells):
            work.withLock { $0.file }?.open { [self] in client.transport.cancel(exchange) }
            if tells { tell(head) }
            return .deliver(offset: 0, eager: false)
        case .discard: return .discard
        case .skim: return .skim
        case .ask:
            ask(about: head)
            return .wait
        }
    }

    /// Reports the response headers.
    private func tell(_ head: ResponseHead) {
        emit(.head(work.withLock { $0.machine.response(head, Bytes(), ExchangeResult()) }))
    }

    /// Continues an exchange whose body has waited for the program.
    private func decide(_ use: RequestBodyUse, _ head: ResponseHead) {
        guard let exchange = work.withLock({ $0.exchange }) else { return }
        become(.running, quiet: true)
        exchange.decide(disposition(use, head, of: exchange))
    }

    /// The largest JSON body that is parsed on the transport's thread, in bytes.
    private static let quickJSON = 16_384

    /// Checks a complete response.
    private func check(_ response: Response, isSaved: Bool) -> RequestAction? {
        var request = request
        // A body saved to a file is not parsed.
        if isSaved { request.jsonShape = nil }
        let readsJSON = options[.jsonOnly] == 1 || self.request.jsonShape != nil
        let checked = request
        let verdict = { @Sendable [self] in
            RequestEvent.checked(
                ResponseRules.error(
                    response, method: method, request: checked, options: options,
                    receivedAt: Int64(client.transport.clock.wallSeconds())))
        }
        guard readsJSON, response.body.count > Self.quickJSON else { return handle(verdict()) }
        // Parsing a large JSON body would delay the other transfers on this thread.
        client.workers.submit { [self] in feed(verdict()) }
        return nil
    }

    // MARK: Stopping and sending again

    private func stop() {
        let (exchange, decision, wait) = work.withLock { work in
            (work.exchange, work.decision?.decision, work.networkWait)
        }
        decision?.expire()
        wait?.cancel()
        // Also cancel during a callback: its result may have started the next hop just now.
        if let exchange { client.transport.cancel(exchange) }
        // Pictures being encoded check for the cancel themselves.
    }

    private func resend(_ reason: RequestResend, rewinds: Bool) -> RequestAction {
        let (body, url) = work.withLock { work in
            switch reason {
            case .challenge: break
            case .redirect: work.fallback = nil
            case .retry, .token:
                work.fallback = nil
                work.exchange = nil
                work.meter.restart()
            }
            return (work.machine.hop.body.body, work.machine.hop.follower.url)
        }
        switch reason {
        case .challenge, .retry: break
        case .redirect(let head, let from):
            noteRedirect(
                from: from.text, status: head.status, to: url.text, isCounted: from.origin)
        case .token:
            note(.info, .retried, [.everybody("Request will be sent again with a new token")])
        }
        guard rewinds, case .source(let source) = body else { return handle(.rewound(true)) }
        return handle(.rewound(source.rewind()))
    }

    // MARK: Retries

    private var rules: RetryRules { RetryRules(options, deadline: deadline) }

    /// Returns the delay by the retry rules; `nil` if the rules or the client's retry budget forbid
    /// a retry.
    private func usualDelay(_ error: WherryError, _ retries: Int) -> Int64? {
        var random = SplitMix(state: .random(in: .min ... .max))
        let wait = rules.delay(
            after: error, method: method, retries: retries, now: client.transport.clock.now(),
            &random)
        guard let wait, client.retryBudget.withLock({ $0.spend() }) else { return nil }
        return wait
    }

    /// Returns the default delay for a retry that the program requested.
    func requestedDelay(_ error: WherryError, _ retries: Int) -> Int64 {
        var random = SplitMix(state: .random(in: .min ... .max))
        let delay = rules.delay(
            after: error, retries: retries, now: client.transport.clock.now(), &random)
        return delay ?? Backoff.bound(after: retries)
    }

    private func wait(_ delay: Int64, _ number: UInt64, _ error: WherryError) {
        noteRetry(error)
        become(.waiting, reason: error.reasonWord)
        let time = client.transport.clock.now().advanced(by: delay)
        client.transport.schedule(at: time) { [weak self] in self?.feed(.timer(number)) }
    }

    // MARK: The network

    /// Waits until the host is reachable. Returns the next action if no wait is needed.
    private func awaitNetwork() -> RequestAction? {
        guard let url = work.withLock({ $0.exchange })?.request.url else { return nil }
        let window = started.advanced(by: .milliseconds(options[.waitForNetwork]))
        let begins = NetworkWait.begin(
            for: url, of: client, within: min(window, deadline).since(client.transport.clock.now()),
            register: { wait in
                work.withLock { work in
                    work.networkWait = wait
                    return work.machine.isCancelled
                }
            },
            waiting: { become(.waiting, reason: .offline) }
        ) { [self] end in
            work.withLock { $0.networkWait = nil }
            feed(end == .timeout ? didWaitInVain(for: url) : .reachable)
        }
        return begins ? nil : handle(.reachable)
    }

    private func didWaitInVain(for url: HTTPURL) -> RequestEvent {
        // After its deadline, the transport reports the timeout.
        guard client.transport.clock.now() < deadline else { return .reachable }
        return .failed(
            WherryError(
                .offline,
                "No network reached \(url.origin.text) within \(options[.waitForNetwork]) ms. Check the network connection."
            ))
    }

    // MARK: Tokens

    private func refreshToken(_ number: UInt64) {
        become(.waiting, quiet: true)
        let token = work.withLock { $0.machine.hop.token }
        let verdict = client.tokens.met401(
            id, used: token ?? settings.values.texts[.bearerToken],
            now: client.transport.clock.now(), current: { client.settings.text(.bearerToken) }
        ) { [weak self] verdict in self?.continueWaiting(number, verdict) }
        if let verdict { continueWaiting(number, verdict) }
    }

    private func continueWaiting(_ number: UInt64, _ verdict: TokenVerdict) {
        let action = work.withLock { work in
            work.machine.waits(for: number) ? work.machine.handle(.token(number, verdict)) : nil
        }
        if let action { return run(action, wake: .now) }
        // The transfer was cancelled after it was chosen to request the token for the others.
        if verdict == .ask { client.tokens.handOver() }
    }
}
