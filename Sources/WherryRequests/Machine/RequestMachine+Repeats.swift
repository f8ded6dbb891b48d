// Wherry: redirects, challenges, retries, and new tokens in the life of a request.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherrySystem
import WherryTransport

extension RequestMachine {
    /// The maximum number of attempts with a new token for one request.
    private static let maxTokens = 2

    mutating func handleRepeat(_ event: RequestEvent) -> RequestAction {
        switch (phase, event) {
        case (.resending(let reason), .rewound(let canResend)):
            return canResend ? attempt() : end(unsendable(reason))
        case (.checking(let response), .checked(let error)):
            guard let error else { return succeed(response) }
            return conclude(
                Failure(
                    outcome: TransferOutcome(response: response, error: error), wire: response.wire)
            )
        case (.choosing(let failure), .delay(let delay)),
            (.callingHook(.retry(let failure)), .delay(let delay)):
            return retry(failure, after: delay)
        case (.delaying(let failure), .timer(let number)):
            guard wait.end(number) else { return .none }
            wire = failure.wire
            return resend(.retry, rewinds: true)
        case (.refreshing(let response), .token(let number, let verdict)):
            guard wait.end(number) else { return .none }
            return didRefresh(verdict, response)
        case (.saving, .abandoned(let failure)): return didAbandon(failure)
        case (.saving, .published(let result)): return didPublish(result)
        default: return .none
        }
    }

    /// Ends the current wait, or marks the transfer as cancelled until its action is done.
    mutating func cancel() -> RequestAction {
        isCancelled = true
        switch phase {
        case .idle: return .none
        case .delaying, .refreshing:
            wait.cancel()
            return endCancelled()
        default: return .stop
        }
    }

    /// Whether the transfer waits for this token.
    package func waits(for number: UInt64) -> Bool { wait.isCurrent(number) && !isCancelled }

    func response(_ arrival: Arrival) -> Response {
        response(arrival.head, arrival.result.body, arrival.result, arrival.marks)
    }

    /// Counts the bytes of an exchange that another one follows.
    mutating func count(_ metrics: ExchangeMetrics) {
        wire.sent += metrics.sent
        wire.received += metrics.received
    }

    // MARK: Sending again

    /// Sends the request again, with its body from the first byte (U13).
    private mutating func resend(_ reason: RequestResend, rewinds: Bool) -> RequestAction {
        guard !isCancelled else { return endCancelled() }
        phase = .resending(reason)
        let isSource = if case .source = hop.body.body { true } else { false }
        return .resend(reason, rewinds: rewinds && isSource)
    }

    /// Returns the outcome for a body that cannot be sent again.
    private func unsendable(_ reason: RequestResend) -> TransferOutcome {
        switch reason {
        case .redirect:
            TransferOutcome(
                error: WherryError(
                    .redirectRefused,
                    "Could not follow the redirect: the request body cannot be sent again. Use bytes or a file."
                ))
        case .challenge(let response):
            Self.rejected(
                response,
                WherryError(
                    .bodySpent,
                    "The request cannot be authenticated: its body is a stream that cannot be sent again. Send bytes or a file."
                ))
        case .retry, .token:
            TransferOutcome(
                error: WherryError(
                    .fileChanged,
                    "Could not retry the request: its body has changed or cannot be sent again. Use bytes, or a file that does not change."
                ))
        }
    }

    // MARK: Redirects

    mutating func redirect(_ step: RedirectRules.Step, _ arrival: Arrival) -> RequestAction {
        switch step {
        case .deliver: return evaluate(response(arrival))
        case .fail(let error):
            // The redirect's body was read only as far as needed to reuse the connection.
            return end(
                Self.rejected(
                    response(arrival.head, Bytes(), arrival.result, arrival.marks), error))
        case .follow(let target):
            guard hooks.contains(.redirect) else { return follow(target, nil, arrival) }
            return callHook(
                .redirect(response(arrival), hop.offered(for: target), target),
                .redirect(target, arrival))
        }
    }

    mutating func follow(
        _ target: RedirectRules.Hop, _ rewrite: RequestHop.Rewrite?, _ arrival: Arrival
    ) -> RequestAction {
        count(arrival.result.metrics)
        let from = hop.follower.url
        let isSent = hop.follow(
            target, as: rewrite, from: arrival.head, isAsked: hooks.contains(.adapt))
        return resend(.redirect(arrival.head, from: from), rewinds: isSent)
    }

    /// Returns whether the only failure was decoding the body of a redirect. The failure counts
    /// only if the redirect becomes the final response.
    func isUnreadableRedirect(_ result: ExchangeResult) -> Bool {
        guard result.error?.kind == .badEncoding, let head = result.head, !isCancelled,
            case .follow = hop.step(after: head)
        else { return false }
        return true
    }

    // MARK: Challenges

    /// Handles a 401 response. Returns `nil` if the response is final.
    mutating func authenticate(
        _ step: Authentication.Step, _ arrival: Arrival
    ) -> RequestAction? {
        switch step {
        case .deliver: return nil
        case .again: return answerChallenge(arrival)
        case .ask(let challenge):
            let before = (hop.follower.authentication?.hookCalls ?? 1) - 1
            return callHook(
                .credentials(response(arrival), challenge, before: before), .credentials(arrival))
        }
    }

    /// Sends the request again with credentials.
    mutating func answerChallenge(_ arrival: Arrival) -> RequestAction {
        count(arrival.result.metrics)
        let response = response(arrival.head, Bytes(), arrival.result, arrival.marks)
        if case .source = hop.body.body, !hop.body.isReplayable {
            return end(unsendable(.challenge(response)))
        }
        return resend(.challenge(response), rewinds: true)
    }

    // MARK: Failures and retries

    mutating func fail(_ error: TransportError, _ result: ExchangeResult) -> RequestAction {
        guard !isCancelled else { return endCancelled() }
        if let next = fallBack(after: error) { return next }
        let failure = WherryError(error)
        let response = result.head.map { self.response($0, result.body, result) }
        let outcome = response.map { Self.rejected($0, failure) } ?? TransferOutcome(error: failure)
        let sum = (wire.sent + result.metrics.sent, wire.received + result.metrics.received)
        return conclude(Failure(outcome: outcome, wire: sum))
    }

    /// Continues with the request's next base URL if the current one could not be reached: nothing
    /// of the request has been sent then (C4). Returns `nil` if there is none.
    mutating func fallBack(after error: TransportError) -> RequestAction? {
        guard [.resolve, .connect, .connectTimeout].contains(error.kind), !isCancelled else {
            return nil
        }
        do throws(WherryError) {
            return try hop.fallBack() ? attempt() : nil
        } catch {
            return end(TransferOutcome(error: error))
        }
    }

    /// Returns whether another attempt may follow a response with these headers. If so, its headers
    /// are deferred and its body is collected.
    func mayRetry(after head: ResponseHead) -> Bool {
        guard !isLast else { return false }
        if head.status == 401, hooks.contains(.token) { return hop.isOfClientToken }
        guard !accepts(head.status) else { return false }
        if hooks.contains(.retry) { return true }
        return options[.maxRetries] > 0 && RetryRules.mayPass(head.status)
            && (options[.retryUnsafeMethods] == 1
                || ExchangeRequest.isIdempotent(hop.follower.method))
    }

    /// Whether the body can be replayed, and no part of a response has been reported.
    private var canSendAgain: Bool {
        hop.body.isReplayable && headers != .reported && delivered == 0 && !isLast
    }

    /// Ends the transfer with a failure, or retries (R29).
    private mutating func conclude(_ failure: Failure) -> RequestAction {
        let outcome = failure.outcome
        guard let error = outcome.error, !isCancelled, error.code != .cancelled,
            outcome.response?.isFromCache != true, canSendAgain
        else { return giveUp(failure) }
        guard hooks.contains(.retry) else { return choose(failure) }
        return callHook(.retry(error, retries: retries), .retry(failure))
    }

    /// Retries if the rules allow it.
    mutating func choose(_ failure: Failure) -> RequestAction {
        guard options[.maxRetries] > 0, let error = failure.outcome.error else {
            return giveUp(failure)
        }
        phase = .choosing(failure)
        return .chooseDelay(error, retries: retries)
    }

    private mutating func giveUp(_ failure: Failure) -> RequestAction {
        end(isCancelled ? Self.cancelled : failure.outcome)
    }

    private mutating func retry(_ failure: Failure, after delay: Int64?) -> RequestAction {
        guard let delay, !isCancelled, let error = failure.outcome.error else {
            return giveUp(failure)
        }
        retries += 1
        phase = .delaying(failure)
        return .wait(delay, wait.begin(), error)
    }

    // MARK: Tokens

    /// Treats a 401 response as an expired token, and retries with a new one (R32). Returns `nil`
    /// if the response is final.
    mutating func refreshToken(after response: Response) -> RequestAction? {
        guard hooks.contains(.token), !response.isFromCache, hop.isOfClientToken, canSendAgain,
            tokens < Self.maxTokens, !isCancelled
        else { return nil }
        phase = .refreshing(response)
        return .refreshToken(wait.begin())
    }

    private mutating func didRefresh(
        _ verdict: TokenVerdict, _ response: Response
    ) -> RequestAction {
        switch verdict {
        case .replay(let token): return replay(token, response)
        case .refresh: return callHook(.token(response), .token(response))
        case .giveUp: return isCancelled ? endCancelled() : validate(response)
        }
    }

    mutating func replay(_ token: String, _ response: Response) -> RequestAction {
        hop.token = token
        tokens += 1
        wire = response.wire
        return resend(.token, rewinds: true)
    }
}
