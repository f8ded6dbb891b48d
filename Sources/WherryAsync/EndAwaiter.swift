// Wherry: awaiting the end of a transfer.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// Observes a transfer for the one task that waits for its end.
///
/// The task is resumed after the transport has handled all data that arrived together: waking a
/// thread for each of many responses would cost more than the responses.
final class EndAwaiter: TransferObserver, TurnListener {
    /// A suspended task, resumed exactly once according to the states below. A checked continuation
    /// would cost another object per request.
    @safe private struct Suspension: Sendable {
        private let continuation: UnsafeContinuation<TransferOutcome, Never>

        init(_ continuation: UnsafeContinuation<TransferOutcome, Never>) {
            unsafe self.continuation = continuation
        }

        func end(_ outcome: TransferOutcome) { unsafe continuation.resume(returning: outcome) }
    }

    /// running -> awaited or ended; awaited -> ending; ending -> ended.
    private enum State {
        case running
        case awaited(Suspension)
        case ending(Suspension, TransferOutcome)
        case ended(TransferOutcome)
    }
    private let state = Lock(State.running)
    private let runner: HookRunner?

    init(_ hooks: Hooks?) { runner = hooks.map { HookRunner($0) } }

    func transfer(_ transfer: Transfer, did event: TransferEvent) {
        switch event {
        case .done(let outcome): end(outcome, of: transfer)
        case .hook(let call): runner?.run(call)
        default: break
        }
    }

    private func end(_ outcome: TransferOutcome, of transfer: Transfer) {
        let isAwaited = state.withLock { state in
            guard case .awaited(let task) = state else {
                state = .ended(outcome)
                return false
            }
            state = .ending(task, outcome)
            return true
        }
        runner?.stop()
        if isAwaited && !transfer.client.transport.atEndOfTurn(self) { turnDidEnd() }
    }

    func turnDidEnd() {
        let ending = state.withLock { state -> (task: Suspension, outcome: TransferOutcome)? in
            guard case .ending(let task, let outcome) = state else { return nil }
            state = .ended(outcome)
            return (task, outcome)
        }
        if let ending { ending.task.end(ending.outcome) }
    }

    /// Waits for the end of the transfer. Cancelling the task cancels the transfer and still waits
    /// for its end.
    func end(of transfer: Transfer) async -> TransferOutcome {
        await withTaskCancellationHandler {
            await unsafe withUnsafeContinuation { continuation in
                let task = unsafe Suspension(continuation)
                let outcome = state.withLock { state -> TransferOutcome? in
                    if case .ended(let outcome) = state { return outcome }
                    state = .awaited(task)
                    return nil
                }
                if let outcome { task.end(outcome) }
            }
        } onCancel: {
            transfer.cancel()
        }
    }
}

extension TransferOutcome {
    /// Waits for the end and returns the response of a successful request.
    func response() throws(WherryError) -> Response {
        if let error { throw error }
        guard let response else {
            throw WherryError(.internal, "The transfer ended without a response")
        }
        return response
    }
}
