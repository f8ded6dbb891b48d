// Wherry: a task that waits for the end of one transfer.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// Hears of a transfer for the one task that waits for its end.
final class EndAwaiter: TransferObserver {
    private enum State {
        case running
        case awaited(CheckedContinuation<TransferOutcome, Never>)
        case ended(TransferOutcome)
    }
    private let state = Lock(State.running)
    private let responder: DecisionResponder?

    init(_ decisions: Decisions?) { responder = decisions.map { DecisionResponder($0) } }

    func transfer(_ transfer: Transfer, did event: TransferEvent) {
        switch event {
        case .done(let outcome): end(outcome)
        case .decision(let decision): responder?.answer(decision)
        default: break
        }
    }

    private func end(_ outcome: TransferOutcome) {
        let continuation = state.withLock { state -> CheckedContinuation<TransferOutcome, Never>? in
            guard case .awaited(let continuation) = state else {
                state = .ended(outcome)
                return nil
            }
            state = .ended(outcome)
            return continuation
        }
        responder?.stop()
        continuation?.resume(returning: outcome)
    }

    /// The end. Cancelling the task cancels the transfer, whose end is then awaited.
    func end(of transfer: Transfer) async -> TransferOutcome {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let outcome = state.withLock { state -> TransferOutcome? in
                    if case .ended(let outcome) = state { return outcome }
                    state = .awaited(continuation)
                    return nil
                }
                if let outcome { continuation.resume(returning: outcome) }
            }
        } onCancel: {
            transfer.cancel()
        }
    }
}

extension TransferOutcome {
    /// The answer of a request that succeeded.
    func response() throws(WherryError) -> Response {
        if let error { throw error }
        guard let response else {
            throw WherryError(.internal, "The transfer ended without an answer")
        }
        return response
    }
}
