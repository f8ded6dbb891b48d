// Wherry: a guarded value whose changes tasks wait for.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// A value behind a lock; tasks wait until a change brings what they look for.
///
/// Continuations are resumed after the lock is let go of.
final class AsyncMonitor<State: Sendable>: Sendable {
    private struct Guarded {
        var state: State
        var nextWaiter = 0
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
    }
    private let guarded: Lock<Guarded>

    init(_ state: State) { guarded = Lock(Guarded(state: state)) }

    /// Looks at the value or changes it, without waking anybody.
    func withLock<Result>(_ body: (inout State) -> Result) -> Result {
        guarded.withLock { body(&$0.state) }
    }

    /// Changes the value and wakes those who wait.
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

    /// Waits until `body` returns something, which is returned; `nil` if the task is cancelled.
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
                        // The mark is set before the handler below takes the lock, so that either
                        // it is seen here or the handler finds the continuation.
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
