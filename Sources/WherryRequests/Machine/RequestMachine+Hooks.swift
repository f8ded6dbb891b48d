// Wherry: the hooks of the program in a request.
// SPDX-License-Identifier: Apache-2.0

import WherryCache
import WherryDownloads
import WherryHTTP
import WherrySystem
import WherryTransport

extension RequestMachine {
    /// Calls a hook, unless the transfer was cancelled.
    mutating func callHook(_ hook: RequestHook, _ pending: PendingHook) -> RequestAction {
        guard !isCancelled else { return endCancelled() }
        phase = .callingHook(pending)
        return .callHook(hook)
    }

    mutating func handleHook(_ event: RequestEvent) -> RequestAction {
        if case .exchanging = phase { return handleHeadersHook(event) }
        guard case .callingHook(let pending) = phase else { return .none }
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
        case (.headers(let outcome), .headersResolved(let resolution, _)):
            return handleHeaders(resolution, outcome)
        case (.headers(let outcome), .standard): return handleHeaders(.proceed, outcome)
        case (.retry(let failure), .standard): return choose(failure)
        case (.token(let response), .standard): return validate(response)
        case (.token(let response), .tokenSupplied(let token)): return replay(token, response)
        default: return .none
        }
    }

    private mutating func refuse(_ message: String, _ pending: PendingHook) -> RequestAction {
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

    /// Continues after the hook that edits requests. After the first one, looks up the cache.
    private mutating func continueEdited() -> RequestAction {
        let isFirst = !hasLookedUp
        hasLookedUp = true
        return isFirst && caches.looksUp ? lookUp() : send()
    }

    // MARK: Response headers from the network

    private mutating func handleHeadersHook(_ event: RequestEvent) -> RequestAction {
        // The exchange may have ended first.
        guard case .awaited = headersHook, case .headersResolved(let resolution, let head) = event
        else { return .none }
        guard !isCancelled else {
            headersHook = .proceeds
            return .cancelExchange
        }
        switch resolution {
        case .proceed:
            headersHook = .proceeds
            return .resumeBody(take(head.status), head)
        case .end(let outcome):
            headersHook = .ends(outcome)
            return .cancelExchange
        case .save:
            headersHook = .saves
            return .resumeBody(.save(reportsHeaders: options[.wantHeaders] == 1), head)
        }
    }

    /// Whether the hook for the headers of the exchange is running.
    package var awaitsHeaders: Bool {
        if case .exchanging = phase, case .awaited = headersHook { true } else { false }
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
        headersHook = .proceeds
        guard let failure, !isCancelled else { return proceed(result) }
        return end(Self.unsaved(response, failure))
    }

    mutating func didPublish(_ published: Result<String, DownloadError>) -> RequestAction {
        guard case .saving(let saving) = phase else { return .none }
        switch (saving, published) {
        case (.abandoning, _): return .none
        case (.publishing(let result), .success(let path)):
            headersHook = .saved(path: path)
            return proceed(result)
        case (.publishing(let result), .failure(let failure)):
            let response = result.head.map { self.response($0, Bytes(), result) }
            return end(Self.unsaved(response, failure))
        case (.publishingWhole(var outcome), .success(let path)):
            headersHook = .saved(path: path)
            outcome.response = outcome.response?.bodiless
            return end(outcome)
        case (.publishingWhole(let outcome), .failure(let failure)):
            return end(Self.unsaved(outcome.response?.bodiless, failure))
        }
    }

    // MARK: Response headers of a body in memory

    /// Calls the hook for a deferred response whose body is in memory: it came from a cache, or a
    /// retry was possible. Returns `nil` if the hook is not called.
    mutating func callHeadersHook(_ outcome: TransferOutcome) -> RequestAction? {
        guard hooks.contains(.headers), headers == .deferred, case .none = headersHook,
            let response = outcome.response, !isCancelled,
            outcome.error == nil || outcome.error?.reasonWord == .httpStatus
        else { return nil }
        headersHook = .awaited
        return callHook(.headers(response.bodiless), .headers(outcome))
    }

    private mutating func handleHeaders(
        _ resolution: HeadersResolution, _ outcome: TransferOutcome
    ) -> RequestAction {
        headersHook = .proceeds
        switch resolution {
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
