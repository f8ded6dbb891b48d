// Wherry: a locked value whose changes tasks can await.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// A value behind a lock. Tasks can wait until it satisfies a condition.
///
/// Continuations are resumed after the lock is released.
final class AsyncMonitor<State: Sendable>: Sendable {
    private struct Guarded {
        var state: State
        var nextWaiter = 0
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
    }
    private let guarded: Lock<Guarded>

    init(_ state: State) { guarded = Lock(Guarded(state: state)) }

    /// Reads or changes the value without waking waiting tasks.
    func withLock<Result>(_ body: (inout State) -> Result) -> Result {
        guarded.withLock { body(&$0.state) }
    }

    /// Changes the value and wakes the waiting tasks.
    func update<Result>(_ body: (inout State) -> Result) -> Result {
        let (result, waiters) = guarded.withLock { guarded in
            let result = body(&guarded.state)
            let waiters = guarded.waiters
            guarded.waiters = [:]
            return (result, waiters)
        }
        for waiter in waiters.values { waiter.resume() }
        return result
    }

    /// Waits until `body` returns a value and returns that value; `nil` if the task is cancelled.
    func wait<Result: Sendable>(until body: @Sendable (inout State) -> Result?) async -> Result? {
        let id = guarded.withLock { guarded in
            guarded.nextWaiter += 1
            return guarded.nextWaiter
        }
        return await withTaskCancellationHandler {
            while true {
                var found: Result?
                await withCheckedContinuation { continuation in
                    let mayGoOn = guarded.withLock { guarded in
                        found = body(&guarded.state)
                        // The flag is set before the handler below takes the lock. So either this
                        // code sees the flag, or the handler finds the continuation.
                        if found != nil || Task.isCancelled { return true }
                        guarded.waiters[id] = continuation
                        return false
                    }
                    if mayGoOn { continuation.resume() }
                }
                if let found { return found }
                if Task.isCancelled { return nil }
            }
        } onCancel: {
            guarded.withLock { $0.waiters.removeValue(forKey: id) }?.resume()
        }
    }
}
