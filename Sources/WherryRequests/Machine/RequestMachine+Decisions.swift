// Wherry: the decisions of the program in the life of a request.
// SPDX-License-Identifier: Apache-2.0

import WherryCache
import WherryDownloads
import WherryHTTP
import WherrySystem
import WherryTransport

extension RequestMachine {
    /// Asks the program, unless the transfer was cancelled.
    mutating func decide(_ pending: PendingDecision, _ decision: RequestDecision) -> RequestAction {
        guard !isCancelled else { return endCancelled() }
        phase = .deciding(pending)
        return .decide(decision)
    }

    mutating func handleDecision(_ event: RequestEvent) -> RequestAction {
        if case .exchanging = phase { return handleHeadersDecision(event) }
        guard case .deciding(let pending) = phase else { return .none }
        if case .refused(let message) = event { return refuse(message, pending) }
        switch pending {
        case .storeHTTP(let outcome, let result):
            return store(event, outcome, result)
        case .storeTimed(let response): return store(event, response)
        case .edit, .redirect, .credentials, .headers, .retry, .token: break
        }
        guard !isCancelled else { return endCancelled() }
        switch (pending, event) {
        case (.edit, .standard): return continueEdited()
        case (.edit, .edited(let edit)):
            hop.apply(edit, isLate: hasLookedUp)
            return continueEdited()
        case (.redirect(let target, let arrival), .standard),
            (.redirect(let target, let arrival), .followed(true)):
            return follow(target, nil, arrival)
        case (.redirect(_, let arrival), .rewritten(let rewrite)):
            return follow(rewrite.hop, rewrite, arrival)
        case (.redirect(_, let arrival), .followed(false)):
            _ = deferred()
            if let error = arrival.result.error { return fail(error, arrival.result) }
            return evaluate(response(arrival))
        case (.credentials(let arrival), .standard),
            (.credentials(let arrival), .authenticated(false)):
            return evaluate(response(arrival))
        case (.credentials(let arrival), .authenticated(true)): return answerChallenge(arrival)
        case (.headers(let outcome), .headersDecided(let answer, _)):
            return handleHeaders(answer, outcome)
        case (.headers(let outcome), .standard): return handleHeaders(.proceed, outcome)
        case (.retry(let failure), .standard): return choose(failure)
        case (.token(let response), .standard): return validate(response)
        case (.token(let response), .tokenSupplied(let token)): return replay(token, response)
        default: return .none
        }
    }

    private mutating func refuse(_ message: String, _ pending: PendingDecision) -> RequestAction {
        switch pending {
        case .storeHTTP(let outcome, let result):
            return apply(outcome.storing(false, without: []), result, .refused(message))
        case .storeTimed(let response):
            phase = .keeping(Self.refusal(message))
            return .forget(response)
        default: return end(Self.refusal(message))
        }
    }

    static func refusal(_ message: String) -> TransferOutcome {
        TransferOutcome(error: WherryError(.refused, message))
    }

    /// Continues after the callback that edits requests. After the first one, looks up the cache.
    private mutating func continueEdited() -> RequestAction {
        let isFirst = !hasLookedUp
        hasLookedUp = true
        return isFirst && caches.looksUp ? lookUp() : send()
    }

    // MARK: Response headers from the network

    private mutating func handleHeadersDecision(_ event: RequestEvent) -> RequestAction {
        // The exchange may have ended first.
        guard case .awaited = headerDecision, case .headersDecided(let answer, let head) = event
        else { return .none }
        guard !isCancelled else {
            headerDecision = .proceeds
            return .cancelExchange
        }
        switch answer {
        case .proceed:
            headerDecision = .proceeds
            return .resumeBody(take(head.status), head)
        case .end(let outcome):
            headerDecision = .ends(outcome)
            return .cancelExchange
        case .save:
            headerDecision = .saves
            return .resumeBody(.save(reportsHeaders: options[.wantHead] == 1), head)
        }
    }

    /// Whether the program is deciding on the headers of the exchange.
    package var awaitsHeaders: Bool {
        if case .exchanging = phase, case .awaited = headerDecision { true } else { false }
    }

    /// Continues after the exchange of a body that is saved.
    mutating func closeFile(_ result: ExchangeResult) -> RequestAction {
        // As with a download, an incomplete file must not appear.
        if result.error != nil || isCancelled || result.isLengthUnverified {
            phase = .saving(.abandoning(result))
            return .abandon
        }
        phase = .saving(.publishing(result))
        return .publish(length: delivered)
    }

    mutating func didAbandon(_ failure: DownloadError?) -> RequestAction {
        guard case .saving(.abandoning(let result)) = phase else { return .none }
        let response = result.head.map { self.response($0, Bytes(), result) }
        if result.error == nil, !isCancelled, let response {
            return end(failure.map { Self.unsaved(response, $0) } ?? Self.unverified(response))
        }
        headerDecision = .proceeds
        guard let failure, !isCancelled else { return proceed(result) }
        return end(Self.unsaved(response, failure))
    }

    mutating func didPublish(_ published: Result<String, DownloadError>) -> RequestAction {
        guard case .saving(let saving) = phase else { return .none }
        switch (saving, published) {
        case (.abandoning, _): return .none
        case (.publishing(let result), .success(let path)):
            headerDecision = .saved(path: path)
            return proceed(result)
        case (.publishing(let result), .failure(let failure)):
            let response = result.head.map { self.response($0, Bytes(), result) }
            return end(Self.unsaved(response, failure))
        case (.publishingWhole(var outcome), .success(let path)):
            headerDecision = .saved(path: path)
            outcome.response = outcome.response?.bodiless
            return end(outcome)
        case (.publishingWhole(let outcome), .failure(let failure)):
            return end(Self.unsaved(outcome.response?.bodiless, failure))
        }
    }

    // MARK: Response headers of a body in memory

    /// Asks the program about a deferred response whose body is in memory: it came from a cache, or
    /// a retry was possible. Returns `nil` if the program is not asked.
    mutating func decideAboutHeaders(_ outcome: TransferOutcome) -> RequestAction? {
        guard decisions.contains(.head), headers == .deferred, case .none = headerDecision,
            let response = outcome.response, !isCancelled,
            outcome.error == nil || outcome.error?.reasonWord == .httpStatus
        else { return nil }
        headerDecision = .awaited
        return decide(.headers(outcome), .headers(response.bodiless))
    }

    private mutating func handleHeaders(
        _ answer: HeadersDecision, _ outcome: TransferOutcome
    ) -> RequestAction {
        headerDecision = .proceeds
        switch answer {
        case .proceed: return end(outcome)
        case .end(let other):
            headers = .reported
            return end(other)
        case .save:
            guard let response = outcome.response else { return end(outcome) }
            guard !response.isLengthUnverified else {
                return end(Self.unverified(response.bodiless))
            }
            phase = .saving(.publishingWhole(outcome))
            return .save(response)
        }
    }

    // MARK: Outcomes

    /// Returns the outcome for a response that is rejected.
    package static func rejected(_ response: Response, _ error: WherryError) -> TransferOutcome {
        TransferOutcome(
            response: response,
            error: error.with {
                $0.httpStatus = response.status
                $0.response = response
            })
    }

    /// Returns the outcome for a body that may be truncated and is not saved.
    private static func unverified(_ response: Response) -> TransferOutcome {
        TransferOutcome(response: response, error: ResponseRules.lengthUnverified(response))
    }

    /// Returns the outcome for a successful response whose body could not be saved.
    private static func unsaved(_ response: Response?, _ failure: DownloadError) -> TransferOutcome
    {
        guard let response else { return TransferOutcome(error: failure.wherryError()) }
        return rejected(response, failure.wherryError())
    }
}
