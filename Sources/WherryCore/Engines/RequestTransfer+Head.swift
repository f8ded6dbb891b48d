// Wherry: telling of the head of the answer, once.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

extension RequestTransfer {
    /// Keeps the head of what may yet become the answer until the end, and its body with it.
    @discardableResult
    func hold() -> BodyDisposition {
        hops.withLock { if $0.told == .nothing { $0.told = .held } }
        return .collect(limit: options[.maxBodyBytes])
    }

    /// The same for what did not come just now, unless it leads on.
    func holdAnswer(_ result: ExchangeResult) {
        if let head = result.head, case .answer = step(after: head) { hold() }
    }

    /// Tells of the head of the answer, where that is wanted.
    ///
    /// - Parameter response: made only where it is.
    func tellHead(_ response: @autoclosure () -> Response) {
        guard options[.wantHead] == 1 else { return }
        hops.withLock { $0.told = .head }
        emit(.head(response()))
    }

    /// Tells what was held back of the answer, now that it is the end. Of a stream that is the body
    /// too, which the outcome does not have then.
    func tellHeld(_ outcome: inout TransferOutcome) {
        guard let response = outcome.response else { return }
        let isRefused = !ResponseRules.accepts(
            response.status, request: request, options: options)
        if request.collectsRefusals, isRefused { return }
        let bodiless = response.bodiless
        tellHead(bodiless)
        guard request.isStreamed else { return }
        if !response.body.isEmpty { emit(.body(BodyPiece(response.body, offset: 0, of: nil))) }
        outcome.response = bodiless
        outcome.error = outcome.error?.with { $0.response = bodiless }
    }
}
