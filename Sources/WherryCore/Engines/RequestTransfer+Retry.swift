// Wherry: attempts after the first one: after failures that may pass, and with a new token.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

extension RequestTransfer.State {
    /// The request as the present attempt sends it.
    func shown(_ request: Request) -> Request {
        var shown = edited ?? request
        if let token = attempts.token, shown.bearerToken == nil { shown.bearerToken = token }
        return shown
    }
}

extension RequestTransfer {
    /// What a request has behind it, and what it waits for.
    struct Attempts {
        /// How many failed.
        var retries = 0
        /// What comes now is no server's answer, and would be the same again.
        var isLast = false
        /// It waits for something that is neither the network nor a question.
        var resting = false
        /// Counts the waits, so that the end of one is not taken for that of another.
        var rests = 0
        /// In place of the token that the client had when it began.
        var token: String?
        /// How often it went again with a new token.
        var tokens = 0
    }

    /// How often one request goes again with a new token.
    private static let mostTokens = 2

    private var rules: RetryRules { RetryRules(options, deadline: deadline) }

    // MARK: What may be tried again

    /// Whether what this head begins may be followed by another attempt: nothing is told of it until
    /// that is decided, and its body is collected.
    func holds(_ head: ResponseHead) -> Bool {
        guard head.status >= 400, !hops.withLock({ $0.attempts.isLast }) else { return false }
        if head.status == 401, decisions.contains(.token) { return isOfClientToken }
        guard !ResponseRules.accepts(head.status, request: request, options: options) else {
            return false
        }
        if decisions.contains(.retry) { return true }
        return options[.maxRetries] > 0 && RetryRules.mayPass(head.status)
            && (options[.retryUnsafeMethods] == 1 || ExchangeRequest.isIdempotent(method))
    }

    /// Whether the body can go out once more, and nothing of an answer has been told.
    private var canSendAgain: Bool {
        hops.withLock { state in
            state.body.isReplayable && state.told != .head && state.delivered == 0
                && !state.attempts.isLast
        }
    }

    // MARK: Failures

    /// Ends with a failure, or tries again (R29).
    ///
    /// - Parameter wire: what moved, all attempts together.
    func conclude(_ outcome: TransferOutcome, wire: (sent: Int64, received: Int64)) {
        guard let error = outcome.error, !isCancelled, error.code != .cancelled,
            outcome.response?.isFromCache != true, canSendAgain
        else {
            return giveUp(outcome)
        }
        let retries = hops.withLock { $0.attempts.retries }
        guard decisions.contains(.retry) else {
            return goAgain(after: outcome, wire: wire, wait: usualWait(error, retries))
        }
        put(.retry(error, retries: retries)) { [self] answer in
            switch answer {
            case .again(false, _): giveUp(outcome)
            case .again(true, let wait):
                let usual = Backoff.bound(after: retries)
                goAgain(after: outcome, wire: wire, wait: wait ?? decidedWait(error, retries) ?? usual)
            case .refuse(let message): refuse(message)
            case .standard, .adapted, .follow, .credentials, .store, .save, .token, .next, .stop, .fail:
                goAgain(after: outcome, wire: wire, wait: usualWait(error, retries))
            }
        }
    }

    /// By the rules, and as far as the client's budget goes.
    private func usualWait(_ error: WherryError, _ retries: Int) -> Int64? {
        guard options[.maxRetries] > 0 else { return nil }
        var random = SplitMix(state: .random(in: .min ... .max))
        let wait = rules.delay(
            after: error, method: method, retries: retries, now: client.transport.clock.now(),
            &random)
        guard let wait, client.retryBudget.withLock({ $0.spend() }) else { return nil }
        return wait
    }

    /// Where the program wants another attempt and leaves the time to us.
    private func decidedWait(_ error: WherryError, _ retries: Int) -> Int64? {
        var random = SplitMix(state: .random(in: .min ... .max))
        return rules.delay(
            after: error, retries: retries, now: client.transport.clock.now(), &random)
    }

    private func giveUp(_ outcome: TransferOutcome) {
        end(isCancelled ? TransferOutcome(error: Self.cancelledError) : outcome)
    }

    private func goAgain(
        after outcome: TransferOutcome, wire: (sent: Int64, received: Int64), wait: Int64?
    ) {
        guard let wait else { return giveUp(outcome) }
        guard let rest = beginRest({ $0.attempts.retries += 1 }) else {
            return end(TransferOutcome(error: Self.cancelledError))
        }
        noteRetry(outcome.error)
        become(.waiting, reason: outcome.error?.reasonWord)
        let time = client.transport.clock.now().advanced(by: wait)
        client.transport.schedule(at: time) { [weak self] in
            guard let self, endRest(rest) else { return }
            sendAgain(wire)
        }
    }

    /// Goes out once more, to the hop that failed.
    private func sendAgain(_ wire: (sent: Int64, received: Int64)) {
        let canReplay = hops.withLock { state -> Bool in
            state.wire = wire
            state.exchange = nil
            state.spare = nil
            state.speed.restart()
            if case .source(let source) = state.body.body { return source.rewind() }
            return true
        }
        guard canReplay else {
            return end(
                TransferOutcome(
                    error: WherryError(
                        .fileChanged, "The body of the request cannot be sent again")))
        }
        resume { ask() }
    }

    // MARK: Waiting

    /// Begins to wait for something that is neither the network nor a question; `nil` if it has been
    /// cancelled. The end of it is ``endRest(_:)``, unless a cancel comes first.
    private func beginRest(_ change: (inout State) -> Void = { _ in }) -> Int? {
        hops.withLock { state in
            guard !state.wasCancelled else { return nil }
            change(&state)
            state.attempts.rests += 1
            state.attempts.resting = true
            return state.attempts.rests
        }
    }

    /// Whether this wait is the present one; it is over then.
    private func endRest(_ rest: Int) -> Bool {
        hops.withLock { state in
            guard state.attempts.resting, state.attempts.rests == rest else { return false }
            state.attempts.resting = false
            return true
        }
    }

    // MARK: Tokens

    /// Whether the credentials of the present hop are the client's token, or would be if it had one.
    private var isOfClientToken: Bool {
        let (isCrossOrigin, edited, hasUser) = hops.withLock {
            ($0.isCrossOrigin, $0.edited, $0.auth?.credentials != nil)
        }
        let request = edited ?? request
        return !isCrossOrigin && !hasUser && request.bearerToken == nil && request.credentials == nil
            && settings.values.credentials.isEmpty && !request.headers.contains("Authorization")
            && !settings.values.headers.contains("Authorization")
    }

    /// Takes a 401 as a token that is over, and goes again with another (R32). `false` if the answer
    /// stands.
    func refreshes(after response: Response) -> Bool {
        guard response.status == 401, decisions.contains(.token), !response.isFromCache,
            isOfClientToken, canSendAgain, hops.withLock({ $0.attempts.tokens }) < Self.mostTokens
        else { return false }
        // Before anybody can call it back.
        guard let rest = beginRest() else { return false }
        become(.waiting, quiet: true)
        let used = hops.withLock { $0.attempts.token } ?? settings.values.texts[.bearerToken]
        let verdict = client.tokens.met401(
            id, used: used, now: client.transport.clock.now(),
            current: { client.settings.text(.bearerToken) }
        ) { [weak self] outcome in
            guard let self else { return }
            guard endRest(rest) else {
                // Cancelled just now, and chosen to ask for the others.
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
        case .replay(let token) where endRest(rest): replay(token, after: response)
        case .ask where endRest(rest): askToken(after: response)
        case .giveUp where endRest(rest): return false
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
        sendAgain(response.wire)
    }

    /// The 401 is the answer.
    private func stand(_ response: Response) {
        guard !isCancelled else { return end(TransferOutcome(error: Self.cancelledError)) }
        pronounce(response)
    }

    /// What a cancel does to one that waits. Whether it waited.
    func cancelRest() -> Bool {
        let waited = hops.withLock { state in
            defer { state.attempts.resting = false }
            return state.attempts.resting
        }
        if waited { client.tokens.leave(id) }
        return waited
    }
}
