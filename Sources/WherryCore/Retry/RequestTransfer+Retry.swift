// Wherry: retries after transient failures, and after a token refresh.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherryRequests
import WherrySystem
import WherryTransport

extension RequestTransfer.State {
    /// Returns the request as the current attempt sends it.
    func shown(_ request: Request) -> Request {
        var shown = edited ?? request
        if let token = attempts.token, shown.bearerToken == nil { shown.bearerToken = token }
        return shown
    }
}

extension RequestTransfer {
    /// The attempts of a request so far, and its current wait.
    struct Attempts {
        /// The number of retries.
        var retries = 0
        /// Whether the current response was made by the client, so that a retry would give the
        /// same.
        var isLast = false
        /// Whether the transfer waits for a retry delay or a new token.
        var isWaiting = false
        /// The number of the current wait; distinguishes its end from that of an earlier one.
        var waitNumber = 0
        /// The new token that replaces the client's original one.
        var token: String?
        /// The number of attempts with a new token.
        var tokens = 0
    }

    /// The maximum number of attempts with a new token for one request.
    private static let maxTokens = 2

    private var rules: RetryRules { RetryRules(options, deadline: deadline) }

    // MARK: Conditions

    /// Returns whether another attempt may follow a response with these headers. If so, its headers
    /// are deferred and its body is collected.
    func mayBeRetried(_ head: ResponseHead) -> Bool {
        guard head.status >= 400, !hops.withLock({ $0.attempts.isLast }) else { return false }
        if head.status == 401, decisions.contains(.token) { return isOfClientToken }
        guard !ResponseRules.accepts(head.status, request: request, options: options) else {
            return false
        }
        if decisions.contains(.retry) { return true }
        return options[.maxRetries] > 0 && RetryRules.mayPass(head.status)
            && (options[.retryUnsafeMethods] == 1 || ExchangeRequest.isIdempotent(method))
    }

    /// Whether the body can be replayed, and no part of a response has been reported.
    private var canSendAgain: Bool {
        hops.withLock { state in
            state.body.isReplayable && state.headerEvent != .reported && state.delivered == 0
                && !state.attempts.isLast
        }
    }

    // MARK: Failures

    /// Ends the transfer with a failure, or retries (R29).
    ///
    /// - Parameter wire: The bytes sent and received in all attempts.
    func conclude(_ outcome: TransferOutcome, wire: (sent: Int64, received: Int64)) {
        guard let error = outcome.error, !isCancelled, error.code != .cancelled,
            outcome.response?.isFromCache != true, canSendAgain
        else {
            return giveUp(outcome)
        }
        let retries = hops.withLock { $0.attempts.retries }
        guard decisions.contains(.retry) else {
            return retry(after: outcome, wire: wire, delay: usualDelay(error, retries))
        }
        put(.retry(error, retries: retries)) { [self] answer in
            switch answer {
            case .again(false, _): giveUp(outcome)
            case .again(true, let wait):
                let usual = Backoff.bound(after: retries)
                retry(after: outcome, wire: wire, delay: wait ?? decidedDelay(error, retries) ?? usual)
            case .refuse(let message): refuse(message)
            case .standard, .adapted, .follow, .credentials, .store, .save, .token, .next, .stop, .fail:
                retry(after: outcome, wire: wire, delay: usualDelay(error, retries))
            }
        }
    }

    /// Returns the delay by the retry rules; `nil` if the rules or the client's retry budget forbid
    /// a retry.
    private func usualDelay(_ error: WherryError, _ retries: Int) -> Int64? {
        guard options[.maxRetries] > 0 else { return nil }
        var random = SplitMix(state: .random(in: .min ... .max))
        let wait = rules.delay(
            after: error, method: method, retries: retries, now: client.transport.clock.now(),
            &random)
        guard let wait, client.retryBudget.withLock({ $0.spend() }) else { return nil }
        return wait
    }

    /// Returns the default delay for a retry that the program requested.
    private func decidedDelay(_ error: WherryError, _ retries: Int) -> Int64? {
        var random = SplitMix(state: .random(in: .min ... .max))
        return rules.delay(
            after: error, retries: retries, now: client.transport.clock.now(), &random)
    }

    private func giveUp(_ outcome: TransferOutcome) {
        end(isCancelled ? TransferOutcome(error: Self.cancelledError) : outcome)
    }

    private func retry(
        after outcome: TransferOutcome, wire: (sent: Int64, received: Int64), delay: Int64?
    ) {
        guard let delay else { return giveUp(outcome) }
        guard let wait = beginWait({ $0.attempts.retries += 1 }) else {
            return end(TransferOutcome(error: Self.cancelledError))
        }
        noteRetry(outcome.error)
        become(.waiting, reason: outcome.error?.reasonWord)
        let time = client.transport.clock.now().advanced(by: delay)
        client.transport.schedule(at: time) { [weak self] in
            guard let self, endWait(wait) else { return }
            resend(wire)
        }
    }

    /// Retries the hop that failed.
    private func resend(_ wire: (sent: Int64, received: Int64)) {
        let canReplay = hops.withLock { state -> Bool in
            state.wire = wire
            state.exchange = nil
            state.fallbackCache = nil
            state.speed.restart()
            if case .source(let source) = state.body.body { return source.rewind() }
            return true
        }
        guard canReplay else {
            return end(
                TransferOutcome(
                    error: WherryError(
                        .fileChanged,
                        "Could not retry the request: its body has changed or cannot be sent again. Use bytes, or a file that does not change."
                    )))
        }
        resume { ask() }
    }

    // MARK: Waiting

    /// Begins a wait for a retry delay or a new token. Returns `nil` if the transfer was cancelled.
    /// The wait ends with ``endWait(_:)``, unless a cancel comes first.
    private func beginWait(_ change: (inout State) -> Void = { _ in }) -> Int? {
        hops.withLock { state in
            guard !state.wasCancelled else { return nil }
            change(&state)
            state.attempts.waitNumber += 1
            state.attempts.isWaiting = true
            return state.attempts.waitNumber
        }
    }

    /// Ends a wait. Returns `false` if it is not the current wait.
    private func endWait(_ wait: Int) -> Bool {
        hops.withLock { state in
            guard state.attempts.isWaiting, state.attempts.waitNumber == wait else { return false }
            state.attempts.isWaiting = false
            return true
        }
    }

    // MARK: Tokens

    /// Whether the current hop sends the client's token, or would send it if the client had one.
    private var isOfClientToken: Bool {
        let (isCrossOrigin, edited, hasUser) = hops.withLock {
            ($0.follower.isCrossOrigin, $0.edited, $0.follower.authentication?.credentials != nil)
        }
        let request = edited ?? request
        return !isCrossOrigin && !hasUser && request.bearerToken == nil && request.credentials == nil
            && settings.values.credentials.isEmpty && !request.headers.contains("Authorization")
            && !settings.values.headers.contains("Authorization")
    }

    /// Treats a 401 response as an expired token, and retries with a new one (R32). Returns `false`
    /// if the response is final.
    func refreshes(after response: Response) -> Bool {
        guard response.status == 401, decisions.contains(.token), !response.isFromCache,
            isOfClientToken, canSendAgain, hops.withLock({ $0.attempts.tokens }) < Self.maxTokens
        else { return false }
        // Register the wait before another thread can call back.
        guard let wait = beginWait() else { return false }
        become(.waiting, quiet: true)
        let used = hops.withLock { $0.attempts.token } ?? settings.values.texts[.bearerToken]
        let verdict = client.tokens.met401(
            id, used: used, now: client.transport.clock.now(),
            current: { client.settings.text(.bearerToken) }
        ) { [weak self] outcome in
            guard let self else { return }
            guard endWait(wait) else {
                // This transfer was cancelled after it was chosen to request the token for the
                // others.
                if case .ask = outcome { client.tokens.handOver() }
                return
            }
            switch outcome {
            case .replay(let token): replay(token, after: response)
            case .giveUp: stand(response)
            case .ask: askToken(after: response)
            }
        }
        switch verdict {
        case .replay(let token) where endWait(wait): replay(token, after: response)
        case .ask where endWait(wait): askToken(after: response)
        case .giveUp where endWait(wait): return false
        case .ask: client.tokens.handOver()
        case .wait, .replay, .giveUp: break
        }
        return true
    }

    private func askToken(after response: Response) {
        put(.token(response)) { [self] answer in
            switch answer {
            case .token(let token?):
                var failure: WherryError?
                client.tokens.settle {
                    do throws(WherryError) {
                        try client.set(.bearerToken, token)
                        return token
                    } catch {
                        failure = error
                        return nil
                    }
                }
                if let failure { return end(TransferOutcome(error: failure)) }
                resume { replay(token, after: response) }
            case .refuse(let message):
                client.tokens.settle { nil }
                refuse(message)
            case .token(nil), .standard, .adapted, .follow, .credentials, .store, .save, .again, .next,
                .stop, .fail:
                guard !isCancelled else {
                    client.tokens.handOver()
                    return end(TransferOutcome(error: Self.cancelledError))
                }
                client.tokens.settle { nil }
                stand(response)
            }
        }
    }

    private func replay(_ token: String, after response: Response) {
        hops.withLock { state in
            state.attempts.token = token
            state.attempts.tokens += 1
        }
        note(.info, .retried, [.everybody("Request will be sent again with a new token")])
        resend(response.wire)
    }

    /// Ends the transfer with the 401 response.
    private func stand(_ response: Response) {
        guard !isCancelled else { return end(TransferOutcome(error: Self.cancelledError)) }
        pronounce(response)
    }

    /// Cancels the current wait. Returns whether the transfer was waiting.
    func cancelWait() -> Bool {
        let waited = hops.withLock { state in
            defer { state.attempts.isWaiting = false }
            return state.attempts.isWaiting
        }
        if waited { client.tokens.leave(id) }
        return waited
    }
}
