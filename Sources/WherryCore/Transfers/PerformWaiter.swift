// Wherry: a thread that waits for one transfer.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// Catches the end of a transfer for a thread that waits for it.
package final class PerformWaiter: TransferObserver {
    private let outcome = Monitor<TransferOutcome?>(nil)

    package init() {}

    package func transfer(_ transfer: Transfer, did event: TransferEvent) {
        if case .done(let outcome) = event { self.outcome.update { $0 = outcome } }
    }

    package var isDone: Bool { outcome.withLock { $0 != nil } }

    /// The end, waited for so many nanoseconds of real time; `nil` when they ran out.
    package func wait(on client: Client, timeout: Int64?) -> TransferOutcome? {
        let start = SystemClock.shared.now()
        if client.transport.drive(until: { isDone }, timeout: timeout), let done = take() {
            return done
        }
        let left = timeout.map { max(0, $0 - SystemClock.shared.now().since(start)) }
        return outcome.wait(timeout: left) { $0 }
    }

    private func take() -> TransferOutcome? { outcome.withLock { $0 } }
}
