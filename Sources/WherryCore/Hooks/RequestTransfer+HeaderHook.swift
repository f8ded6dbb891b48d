// Wherry: the callback for the response headers: continue, stop, or save to a file.
// SPDX-License-Identifier: Apache-2.0

import WherryDownloads
import WherryHTTP
import WherryRequests
import WherrySystem
import WherryTransport

extension RequestTransfer {
    /// The result of the callback for the response headers.
    enum HeaderDecision {
        /// The callback was not called. Can change to any other case.
        case none
        /// The body waits for the callback's result. Can change to any later case.
        case awaited
        /// Continue as if there were no callback.
        case proceeds
        /// End the transfer with this outcome, whatever happens to the exchange.
        indirect case ends(TransferOutcome)
        /// Save the body to a file. Can change to `saved` and `proceeds`.
        case saves(BodyFile)
        /// The complete body is in the file.
        case saved(path: String)
    }

    // MARK: Responses from the network

    /// Asks the program what to do with a response whose headers have arrived. The body waits until
    /// then.
    func ask(about head: ResponseHead, of exchange: Exchange) -> BodyDisposition {
        let isFirst = hops.withLock { state in
            guard case .none = state.headerDecision else { return false }
            state.headerDecision = .awaited
            // The program now knows the headers, which rules out a retry.
            state.headerEvent = .reported
            return true
        }
        guard isFirst else { return take(head) }
        let response = response(head, Bytes(), ExchangeResult())
        let place = place(of: response, hasBody: hasBody(head))
        put(.head(response, place)) { [self] answer in
            carryOut(answer, response, place, of: exchange)
        }
        return .wait
    }

    private func carryOut(
        _ answer: Decision.Answer, _ response: Response, _ place: BodyPlace, of exchange: Exchange
    ) {
        let next = decide(answer, response, place)
        let isOpen = hops.withLock { state in
            // The exchange may have ended first.
            guard case .awaited = state.headerDecision else { return false }
            state.headerDecision = next
            return true
        }
        guard isOpen else { return }
        guard !isCancelled else {
            return exchange.decide(.abort(TransportError(.cancelled, "The transfer was cancelled")))
        }
        become(.running, quiet: true)
        switch next {
        case .ends: client.transport.cancel(exchange)
        case .saves(let file):
            file.open { [self] in client.transport.cancel(exchange) }
            reportHeaders(response)
            exchange.decide(.deliver(offset: 0, eager: false))
        case .none, .awaited, .proceeds, .saved: exchange.decide(take(response.head))
        }
    }

    private func decide(
        _ answer: Decision.Answer, _ response: Response, _ place: BodyPlace
    ) -> HeaderDecision {
        switch answer {
        case .refuse(let message): return .ends(refusal(of: response, .init(.refused, message)))
        case .fail(let error): return .ends(refusal(of: response, error))
        case .save(let target) where accepts(response):
            return .saves(BodyFile(place, target, on: client.workers))
        case .save, .standard, .adapted, .follow, .credentials, .store, .again, .token, .next,
            .stop:
            return .proceeds
        }
    }

    /// Continues after the exchange of a response that the program was asked about. Returns `false`
    /// if the program's decision changes nothing.
    func concludeHeaderHook(_ exchange: Exchange, _ result: ExchangeResult) -> Bool {
        let (answer, decision, length) = hops.withLock { state in
            defer {
                if case .awaited = state.headerDecision { state.headerDecision = .proceeds }
            }
            return (state.headerDecision, state.decision?.decision, state.delivered)
        }
        switch answer {
        case .none, .proceeds, .saved: return false
        case .awaited:
            // The exchange ended before the program decided.
            decision?.expire()
            return false
        case .ends(let outcome):
            end(isCancelled ? TransferOutcome(error: Self.cancelledError) : outcome)
        case .saves(let file):
            let response = result.head.map { self.response($0, Bytes(), result) }
            guard result.error == nil, !isCancelled else {
                file.abandon { [self] failure in
                    hops.withLock { $0.headerDecision = .proceeds }
                    guard let failure, !isCancelled else { return proceed(result, of: exchange) }
                    end(unsaved(response, failure))
                }
                return true
            }
            if let response, response.isLengthUnverified {
                // As with a download, an incomplete file must not appear.
                file.abandon { [self] failure in
                    end(failure.map { unsaved(response, $0) } ?? unverified(response))
                }
                return true
            }
            file.publish(length: length) { [self] outcome in
                switch outcome {
                case .success(let path):
                    hops.withLock { $0.headerDecision = .saved(path: path) }
                    proceed(result, of: exchange)
                case .failure(let failure): end(unsaved(response, failure))
                }
            }
        }
        return true
    }

    // MARK: Deferred responses

    /// Asks the program about a deferred response whose body is in memory: it came from a cache, or
    /// a retry was possible. Returns `false` if the program is not asked.
    func asksAboutDeferredHeaders(_ outcome: TransferOutcome) -> Bool {
        guard decisions.contains(.head), let deferred = outcome.response, !isCancelled,
            outcome.error == nil || outcome.error?.reasonWord == .httpStatus
        else { return false }
        let isFirst = hops.withLock { state in
            guard state.headerEvent == .deferred, case .none = state.headerDecision else { return false }
            state.headerDecision = .awaited
            return true
        }
        guard isFirst else { return false }
        let response = deferred.bodiless
        let place = place(of: response, hasBody: false)
        put(.head(response, place)) { [self] answer in
            let next = decide(answer, response, place)
            hops.withLock { $0.headerDecision = next }
            guard !isCancelled else { return end(TransferOutcome(error: Self.cancelledError)) }
            switch next {
            case .ends(let outcome):
                hops.withLock { $0.headerEvent = .reported }
                end(outcome)
            case .saves(let file): save(deferred, to: file, outcome)
            case .none, .awaited, .proceeds, .saved: end(outcome)
            }
        }
        return true
    }

    private func save(_ response: Response, to file: BodyFile, _ outcome: TransferOutcome) {
        guard !response.isLengthUnverified else { return end(unverified(response.bodiless)) }
        file.open {}
        file.write(whole: response.body)
        file.publish(length: Int64(response.body.count)) { [self] published in
            switch published {
            case .success(let path):
                hops.withLock { $0.headerDecision = .saved(path: path) }
                var outcome = outcome
                outcome.response = response.bodiless
                end(outcome)
            case .failure(let failure): end(unsaved(response.bodiless, failure))
            }
        }
    }

    // MARK: Helpers

    /// The path of the file that contains the body; `nil` if the body is not saved.
    var savedPath: String? {
        hops.withLock { state in
            guard case .saved(let path) = state.headerDecision else { return nil }
            return path
        }
    }

    private func accepts(_ response: Response) -> Bool {
        ResponseRules.accepts(response.status, request: request, options: options)
    }

    private func hasBody(_ head: ResponseHead) -> Bool {
        method != "HEAD" && head.status != 204 && head.status != 304
    }

    private func place(of response: Response, hasBody: Bool) -> BodyPlace {
        let (url, edited) = hops.withLock { ($0.follower.url, $0.edited) }
        return BodyPlace(
            response, hasBody: hasBody, url: url, request: edited ?? request, options: options,
            now: Int64(client.transport.clock.wallSeconds()))
    }

    /// Returns the outcome for a body that may be truncated and is not saved.
    private func unverified(_ response: Response) -> TransferOutcome {
        TransferOutcome(response: response, error: ResponseRules.lengthUnverified(response))
    }

    /// Returns the outcome for a response that the program rejected.
    private func refusal(of response: Response, _ error: WherryError) -> TransferOutcome {
        TransferOutcome(
            response: response,
            error: error.with {
                $0.httpStatus = response.status
                $0.response = response
            })
    }

    /// Returns the outcome for a successful response whose body could not be saved.
    private func unsaved(_ response: Response?, _ failure: DownloadError) -> TransferOutcome {
        guard let response else { return TransferOutcome(error: failure.wherryError()) }
        return refusal(of: response, failure.wherryError())
    }
}
