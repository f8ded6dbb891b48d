// Wherry: a transfer followed to its end.
// SPDX-License-Identifier: Apache-2.0

import Wherry
import WherrySystem

/// Hears of one transfer and hands its events on in their order.
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

    /// Looks at the figures ten times a second until the task is cancelled, since no event says
    /// that nothing comes any more. While events say how far it is, it says nothing.
    func tick(_ transfer: Transfer) async {
        var last = TransferProgress()
        while (try? await Task.sleep(for: .milliseconds(100))) != nil {
            guard told.withLock({ ContinuousClock.now - $0 >= .milliseconds(150) }) else { continue }
            let progress = transfer.progress
            if progress != last { continuation.yield(.progress(progress)) }
            last = progress
        }
    }
}

/// A transfer under way, and what is heard of it from its start on.
struct WatchedTransfer: Sendable {
    private let relay: EventRelay
    private let transfer: Transfer

    /// Starts it.
    init(_ start: (any TransferObserver) throws(WherryError) -> Transfer) throws(WherryError) {
        relay = EventRelay()
        transfer = try start(relay)
    }

    /// Calls `hear` with each of its events, and returns how it ended. To be called once.
    ///
    /// Cancelling the task cancels the transfer, whose end is still waited for.
    func outcome(_ hear: @escaping @Sendable (TransferEvent) -> Void) async -> TransferOutcome {
        let ticker = Task { await relay.tick(transfer) }
        defer { ticker.cancel() }
        return await withTaskCancellationHandler {
            // A task of its own: in a cancelled one the events would end before the end.
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

/// Starts a transfer, calls `hear` with each of its events, and returns how it ended.
func watch(
    _ start: (any TransferObserver) throws(WherryError) -> Transfer,
    _ hear: @escaping @Sendable (TransferEvent) -> Void
) async throws(WherryError) -> TransferOutcome {
    try await WatchedTransfer(start).outcome(hear)
}
