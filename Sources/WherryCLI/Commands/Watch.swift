// Wherry: observes a transfer until it ends.
// SPDX-License-Identifier: Apache-2.0

import WherryAsync
import WherrySystem

/// Observes a transfer, and passes its events on in order.
private final class EventRelay: TransferObserver {
    let events: AsyncStream<TransferEvent>
    private let continuation: AsyncStream<TransferEvent>.Continuation
    private let told = Lock(ContinuousClock.now)

    init() { (events, continuation) = AsyncStream.makeStream() }

    func transfer(_ transfer: Transfer, did event: TransferEvent) {
        if case .progress = event { told.withLock { $0 = .now } }
        continuation.yield(event)
        if case .done = event { continuation.finish() }
    }

    /// Reads the progress ten times a second until the task is cancelled, because no event reports that
    /// a transfer stalls. Passes nothing on while events arrive.
    func tick(_ transfer: Transfer) async {
        var last = TransferProgress()
        while (try? await Task.sleep(for: .milliseconds(100))) != nil {
            guard told.withLock({ ContinuousClock.now - $0 >= .milliseconds(150) }) else {
                continue
            }
            let progress = transfer.progress
            if progress != last { continuation.yield(.progress(progress)) }
            last = progress
        }
    }
}

/// A running transfer, with its events from the start.
struct WatchedTransfer: Sendable {
    private let relay: EventRelay
    private let transfer: Transfer

    /// Starts the transfer.
    init(_ start: (any TransferObserver) throws(WherryError) -> Transfer) throws(WherryError) {
        relay = EventRelay()
        transfer = try start(relay)
    }

    /// Calls `hear` with each event, and returns the outcome. Call it once.
    ///
    /// Cancelling the task cancels the transfer, but still waits until it ends.
    func outcome(_ hear: @escaping @Sendable (TransferEvent) -> Void) async -> TransferOutcome {
        let ticker = Task { await relay.tick(transfer) }
        defer { ticker.cancel() }
        return await withTaskCancellationHandler {
            // A detached task: in a cancelled task, the events would end before the transfer does.
            await Task {
                for await event in relay.events {
                    if case .done(let outcome) = event { return outcome }
                    hear(event)
                }
                return TransferOutcome(error: Transfer.cancelledError)
            }.value
        } onCancel: {
            transfer.cancel()
        }
    }
}

/// Starts a transfer, calls `hear` with each event, and returns the outcome.
func watch(
    _ start: (any TransferObserver) throws(WherryError) -> Transfer,
    _ hear: @escaping @Sendable (TransferEvent) -> Void
) async throws(WherryError) -> TransferOutcome {
    try await WatchedTransfer(start).outcome(hear)
}
