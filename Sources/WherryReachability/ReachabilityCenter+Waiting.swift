// Wherry: waiting for reachability.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherrySystem

extension ReachabilityCenter {
    /// Calls `body` once on the center's thread: with `true` when the target is reachable, or with
    /// `false` on timeout. Monitors the target until then, whether the monitor is started or not.
    ///
    /// - Parameter nanoseconds: The timeout on the center's clock; `nil` waits forever.
    /// - Returns: The id for `cancelWait`.
    package func whenReachable(
        _ monitor: ReachabilityMonitor, within nanoseconds: Int64?,
        _ body: @escaping @Sendable (Bool) -> Void
    ) throws(WherryError) -> UInt64 {
        try checkFork()
        let deadline = nanoseconds.map { world.clock.now().advanced(by: max(0, $0)) } ?? .never
        return try state.withLock { state throws(WherryError) in
            if !monitor.isRunning {
                try enter(monitor, &state)
                state.mail.append(.begin(monitor, monitor.run))
            }
            monitor.holds += 1
            state.lastWaiter += 1
            state.waiters.append(
                Waiter(id: state.lastWaiter, monitor: monitor, deadline: deadline, body: body))
            state.turner?.waker.signal()
            return state.lastWaiter
        }
    }

    /// Cancels a wait. Returns `false` if its body was called or is being called.
    @discardableResult
    package func cancelWait(_ id: UInt64) -> Bool {
        guard !isForked else { return false }
        let monitor = state.withLock { state -> ReachabilityMonitor? in
            guard let index = state.waiters.firstIndex(where: { $0.id == id }) else { return nil }
            return state.waiters.remove(at: index).monitor
        }
        guard let monitor else { return false }
        release(monitor)
        return true
    }

    /// Blocks until the target is reachable. Returns `false` on timeout.
    ///
    /// - Parameter timeout: In nanoseconds; `nil` waits forever.
    package func wait(for monitor: ReachabilityMonitor, timeout: Int64?) throws(WherryError) -> Bool
    {
        let verdict = Monitor<Bool?>(nil)
        _ = try whenReachable(monitor, within: timeout) { found in
            verdict.update { $0 = found }
        }
        return verdict.wait { $0 } ?? false
    }

    /// Notifies the waiters whose wait is over.
    func serveWaiters() {
        let now = world.clock.now()
        let due = state.withLock { state -> [(Waiter, Bool)] in
            guard !state.waiters.isEmpty else { return [] }
            var due: [(Waiter, Bool)] = []
            state.waiters.removeAll { waiter in
                guard let verdict = waiter.verdict(at: now) else { return false }
                due.append((waiter, verdict))
                return true
            }
            return due
        }
        for (waiter, verdict) in due {
            release(waiter.monitor)
            waiter.body(verdict)
        }
    }

    private func release(_ monitor: ReachabilityMonitor) {
        state.withLock { _ in monitor.holds -= 1 }
        _ = leave(monitor, observers: false)
    }
}
