// Wherry: the end of a request.
// SPDX-License-Identifier: Apache-2.0

import WherryTransport

extension RequestTransfer {
    /// Ends the transfer and reports the outcome, including the pictures and the saved body. If the
    /// program still has to decide on the response headers, asks first.
    func end(_ outcome: TransferOutcome) {
        if asksAboutDeferredHeaders(outcome) { return }
        var outcome = outcome
        if wantsProgress, outcome.error == nil, let exchange = hops.withLock({ $0.exchange }) {
            exchangeDidProgress(exchange)
        }
        let (images, isHeld) = hops.withLock { state in
            defer { if state.headerEvent == .deferred { state.headerEvent = .pending } }
            if let exchange = state.exchange {
                state.lastProgress = Self.progress(of: exchange, &state, isUpload: isUpload)
                // The exchange retains this transfer.
                state.exchange = nil
            }
            return (state.images, state.headerEvent == .deferred)
        }
        if isHeld { reportDeferredHeaders(&outcome) }
        if outcome.error == nil, let path = savedPath {
            outcome.path = path
            outcome.response = outcome.response?.saved(at: path)
        }
        if let error = outcome.error, kind == .upload {
            // If the request fails as a whole, every picture has failed (U11).
            outcome.error = error.with { fields in
                guard fields.failedImages.isEmpty else { return }
                fields.failedImages = images.map { image in
                    var image = image
                    if image.error == nil { image.error = error }
                    return image
                }
            }
        }
        if !images.isEmpty {
            outcome.response?.images = images
            outcome.error = outcome.error?.with { $0.response?.images = images }
        }
        finish(outcome)
    }
}
