// Wherry: a blocking wait for a transfer.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// Receives the end of a transfer for a thread that waits for it.
package final class PerformWaiter: TransferObserver {
    private let outcome = Monitor<TransferOutcome?>(nil)

    package init() {}

    package func transfer(_ transfer: Transfer, did event: TransferEvent) {
        guard case .done(let outcome) = event else { return }
        self.outcome.update { $0 = outcome }
        // The event may come from a worker while the waiting thread sleeps in the transport.
        transfer.client.transport.lookAgain()
    }

    /// The waiting thread drives the transport.
    package var wake: Wake { .never }

    package var isDone: Bool { outcome.withLock { $0 != nil } }

    /// Waits for the end, for at most `timeout` nanoseconds of real time. Returns `nil` on timeout.
    package func wait(on client: Client, timeout: Int64?) -> TransferOutcome? {
        let start = SystemClock.shared.now()
        let transport = client.transport
        if transport.drive(until: { isDone }, timeout: timeout, returns: false), let done = take() {
            return done
        }
        let left = timeout.map { max(0, $0 - SystemClock.shared.now().since(start)) }
        return transport.standBy { outcome.wait(timeout: left) { $0 } }
    }

    private func take() -> TransferOutcome? { outcome.withLock { $0 } }
}
