// Wherry: the event for the response headers.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherryRequests
import WherrySystem
import WherryTransport

extension RequestTransfer {
    /// Defers the headers of a possible final response until the end, and collects its body.
    @discardableResult
    func deferHeaders() -> BodyDisposition {
        hops.withLock { if $0.headerEvent == .pending { $0.headerEvent = .deferred } }
        return .collect(limit: options[.maxBodyBytes])
    }

    /// Defers the headers of a cached response, unless it redirects.
    func deferCachedHeaders(_ result: ExchangeResult) {
        if let head = result.head, case .answer = step(after: head) { deferHeaders() }
    }

    /// Reports the response headers, if the caller wants them.
    ///
    /// - Parameter response: Evaluated only if the headers are reported.
    func reportHeaders(_ response: @autoclosure () -> Response) {
        guard options[.wantHead] == 1 else { return }
        hops.withLock { $0.headerEvent = .reported }
        emit(.head(response()))
    }

    /// Reports deferred headers at the end of the transfer. For a streamed request, also reports
    /// the body and removes it from the outcome.
    func reportDeferredHeaders(_ outcome: inout TransferOutcome) {
        guard let response = outcome.response else { return }
        let isRefused = !ResponseRules.accepts(
            response.status, request: request, options: options)
        if request.collectsRefusals, isRefused { return }
        let bodiless = response.bodiless
        reportHeaders(bodiless)
        guard request.isStreamed else { return }
        if !response.body.isEmpty { emit(.body(BodyPiece(response.body, offset: 0, of: nil))) }
        outcome.response = bodiless
        outcome.error = outcome.error?.with { $0.response = bodiless }
    }
}
