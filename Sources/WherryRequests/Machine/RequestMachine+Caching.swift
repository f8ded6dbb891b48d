// Wherry: the caches, and the steps before an exchange, in the life of a request.
// SPDX-License-Identifier: Apache-2.0

import WherryCache
import WherryHTTP
import WherrySystem
import WherryTransport

extension RequestMachine {
    /// Handles the events that a plain request does not have.
    mutating func handleDetour(_ event: RequestEvent) -> RequestAction {
        switch (phase, event) {
        case (.looking, .lookedUp(let response)): return didLookUp(response)
        case (.looking, .foundTooLarge(let response, let error)):
            return end(TransferOutcome(response: response, error: WherryError(error)))
        case (.encoding, .encoded(let body)):
            guard !isCancelled else { return endCancelled() }
            hop.body = body
            return attempt()
        case (.preparing, .prepared(let step, let body)): return didPrepare(step, body)
        case (.building, .lacksIntegrity(let algorithm)): return prepare(.integrity(algorithm))
        case (.consulting, .planned): return launch()
        case (.consulting, .cached(let result, let marks, let challenge)):
            return arrive(cached: result, marks, challenge)
        case (.consulting, .gatewayTimeout): return timeOut()
        case (.offline, .reachable): return launchNow()
        case (.settling, .unchanged(let result)): return arrive(result)
        case (.settling, .outcome(let outcome, let result, let delivered)):
            return settle(outcome, result, delivered)
        case (.applying(let outcome, let result, let purpose), .applied(let url, let challenge)):
            return didApply(outcome, result, purpose, url, challenge)
        case (.keeping(nil), .storable(let response)):
            guard hooks.contains(.store), !isCancelled else {
                return write(response, without: [])
            }
            return callHook(.store(response), .storeTimed(response))
        case (.keeping(let outcome), .kept(let response)):
            guard let outcome else { return end(TransferOutcome(response: response)) }
            return outcome.error == nil && isCancelled ? endCancelled() : end(outcome)
        default: return handleRepeat(event)
        }
    }

    // MARK: Before an exchange

    mutating func lookUp() -> RequestAction {
        guard !isCancelled else { return endCancelled() }
        phase = .looking
        return .lookUp
    }

    private mutating func didLookUp(_ response: Response?) -> RequestAction {
        guard !isCancelled else { return endCancelled() }
        guard let response else { return needsImages ? encode() : send() }
        _ = deferred()
        return end(TransferOutcome(response: response))
    }

    mutating func prepare(_ step: RequestPreparation) -> RequestAction {
        phase = .preparing
        return .prepare(step)
    }

    private mutating func didPrepare(
        _ step: RequestPreparation, _ body: PreparedBody
    ) -> RequestAction {
        hop.body = body
        switch step {
        case .coding: hop.body.isCodingSettled = true
        case .digests: hop.isDigested = true
        case .integrity: break
        }
        return send()
    }

    // MARK: The HTTP cache

    /// Continues with a cached response like with a network response.
    private mutating func arrive(
        cached: ExchangeResult, _ marks: Response.CacheMarks, _ challenge: Authentication.Step?
    ) -> RequestAction {
        deferCached(cached)
        var result = cached
        let limit = options[.maxBodyBytes]
        guard result.body.count > limit else {
            return arrive(result, marks, challenge: challenge)
        }
        result.error = .tooLarge(limit)
        result.body = Bytes()
        return arrive(result)
    }

    /// Defers the headers of a cached response, unless it redirects.
    private mutating func deferCached(_ result: ExchangeResult) {
        if let head = result.head, case .deliver = hop.step(after: head) { _ = deferred() }
    }

    /// Makes the response for a request that allows only the cache (RFC 9111, 5.2.1.7).
    private mutating func timeOut() -> RequestAction {
        guard !isCancelled else { return endCancelled() }
        var result = ExchangeResult()
        result.head = ResponseHead(status: 504, block: Bytes())
        isLast = true
        deferCached(result)
        return arrive(result)
    }

    /// Applies the outcome of the cache. First calls the hook for storing, if there is one.
    private mutating func settle(
        _ outcome: CacheOutcome, _ result: ExchangeResult, _ deliveredBytes: Int?
    ) -> RequestAction {
        if let deliveredBytes {
            return apply(outcome, result, .delivered, bytes: deliveredBytes)
        }
        guard hooks.contains(.store), outcome.storesResponse, let head = result.head else {
            return apply(outcome, result, .response)
        }
        // After a cancel the program is not asked, so nothing is stored.
        guard !isCancelled else {
            return apply(outcome.storing(false, without: []), result, .response)
        }
        return callHook(.store(response(head, result.body, result)), .storeHTTP(outcome, result))
    }

    /// Handles the result of the hook for storing.
    mutating func store(
        _ event: RequestEvent, _ outcome: CacheOutcome, _ result: ExchangeResult
    ) -> RequestAction {
        switch event {
        case .stores(let isWanted, let names):
            return apply(outcome.storing(isWanted, without: names), result, .response)
        case .standard where isCancelled:
            return apply(outcome.storing(false, without: []), result, .response)
        case .standard: return apply(outcome, result, .response)
        default: return .none
        }
    }

    mutating func apply(
        _ outcome: CacheOutcome, _ result: ExchangeResult, _ purpose: Applying, bytes: Int? = nil
    ) -> RequestAction {
        phase = .applying(outcome, result, purpose)
        return .apply(outcome, bytes: bytes ?? result.body.count, isDelivered: bytes != nil)
    }

    private mutating func didApply(
        _ outcome: CacheOutcome, _ result: ExchangeResult, _ purpose: Applying, _ url: HTTPURL,
        _ challenge: Authentication.Step?
    ) -> RequestAction {
        switch purpose {
        case .refused(let message): return end(Self.refusal(message))
        case .delivered: return arrive(result)
        case .response: break
        }
        switch outcome.delivery {
        case .network: return arrive(result)
        case .cached(let response):
            guard !isCancelled else { return arrive(result) }
            // The response may belong to an earlier base URL than the last one tried.
            hop.follower.url = url
            return arrive(
                cached: HTTPCaching.replaced(result, by: response), response.marks, challenge)
        case .resend(let plan):
            guard !isCancelled else { return endCancelled() }
            count(result.metrics)
            if headers == .deferred { headers = .pending }
            phase = .consulting
            return .plan(plan)
        }
    }

    // MARK: The timed cache

    private mutating func write(_ response: Response, without names: [String]) -> RequestAction {
        guard !isCancelled else { return endCancelled() }
        phase = .keeping(nil)
        return .write(response, without: names)
    }

    /// Handles the result of the hook for storing (K13).
    mutating func store(_ event: RequestEvent, _ response: Response) -> RequestAction {
        switch event {
        case .stores(false, _):
            phase = .keeping(TransferOutcome(response: response))
            return .forget(response)
        case .stores(true, let names): return write(response, without: names)
        case .standard: return write(response, without: [])
        default: return .none
        }
    }
}
