// Wherry: how a request ends, and what its end tells
// SPDX-License-Identifier: Apache-2.0

import WherryTransport

extension RequestTransfer {
    /// Tells the end, with what became of the pictures and of the saved body; a head that is asked about at
    /// the end comes before it.
    func end(_ outcome: TransferOutcome) {
        if asksAtEnd(outcome) { return }
        var outcome = outcome
        if wantsProgress, outcome.error == nil, let exchange = hops.withLock({ $0.exchange }) {
            exchangeDidProgress(exchange)
        }
        let (images, isHeld) = hops.withLock { state in
            defer { if state.told == .held { state.told = .nothing } }
            if let exchange = state.exchange {
                state.lastProgress = Self.progress(of: exchange, &state, isUpload: isUpload)
                // It holds this transfer in turn.
                state.exchange = nil
            }
            return (state.images, state.told == .held)
        }
        if isHeld { tellHeld(&outcome) }
        if outcome.error == nil, let path = savedPath {
            outcome.path = path
            outcome.response = outcome.response?.saved(at: path)
        }
        if let error = outcome.error, kind == .upload {
            // What did not get through: all of them, if the request failed as a whole (U11).
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
