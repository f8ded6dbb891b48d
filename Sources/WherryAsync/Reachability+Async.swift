// Wherry: reachability for tasks.
// SPDX-License-Identifier: Apache-2.0

import WherryCore
import WherryReachability
import WherrySystem

extension Reachability {
    /// All changes of a monitor, in order. Ends when the monitor is stopped or restarted, and when
    /// the task is cancelled.
    public struct Changes: AsyncSequence, Sendable {
        public typealias Element = Change
        public typealias Failure = Never
        fileprivate let subscription: Subscription

        /// Iterates over the changes; several iterators share them.
        public struct AsyncIterator: AsyncIteratorProtocol {
            fileprivate let subscription: Subscription

            /// Returns the next change; `nil` at the end.
            public mutating func next() async -> Change? { await subscription.listener.next() }
        }

        public func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(subscription: subscription)
        }
    }

    /// Returns the changes of this monitor. Starts it if it is not running; the current status is
    /// then the first change. The sequence keeps the monitor alive.
    ///
    /// - Throws: The same errors as ``start()``.
    public func changes() throws(WherryError) -> Changes {
        let (center, monitor, listener) = (monitor.center, monitor, ReachabilityListener())
        if !center.add(listener, to: monitor) { try center.start(monitor, [listener]) }
        return Changes(
            subscription: Subscription(listener) { [self] in
                center.remove(listener, from: self.monitor)
            })
    }

    /// Returns the changes of all monitors in this process, in the order in which the monitors' own
    /// listeners receive them. The own listeners receive each change first.
    ///
    /// - Throws: `forked` in a forked child.
    public static func allChanges() throws(WherryError) -> Changes {
        let (center, listener) = (ReachabilityCenter.shared, ReachabilityListener())
        try center.observe(listener)
        return Changes(subscription: Subscription(listener) { center.unobserve(listener) })
    }

    /// Waits until the target is reachable, whether the monitor is started or not.
    ///
    /// - Parameter timeout: `nil` waits forever.
    /// - Returns: `false` on timeout or if the task was cancelled.
    /// - Throws: The same errors as ``start()``.
    public func waitUntilReachable(timeout: Duration? = nil) async throws(WherryError) -> Bool {
        let verdict = AsyncMonitor<Bool?>(nil)
        let center = monitor.center
        let id = try center.whenReachable(monitor, within: timeout?.nanosecondsSaturating) {
            found in
            verdict.update { $0 = found }
        }
        let found = await verdict.wait { $0 }
        if found == nil { center.cancelWait(id) }
        return found ?? false
    }
}

/// Ends when the last reader is gone.
private final class Subscription: Sendable {
    let listener: ReachabilityListener
    private let end: @Sendable () -> Void

    init(_ listener: ReachabilityListener, _ end: @escaping @Sendable () -> Void) {
        self.listener = listener
        self.end = end
    }

    deinit { end() }
}

/// Queues changes until a task reads them.
private final class ReachabilityListener: ReachabilityObserver {
    private struct State: Sendable {
        var news: [Reachability.Change] = []
        var isOver = false
    }
    private let state = AsyncMonitor(State())

    func reachability(_ monitor: ReachabilityMonitor, did change: Reachability.Change) {
        state.update { $0.news.append(change) }
    }

    func reachabilityDidStop(_ monitor: ReachabilityMonitor) { state.update { $0.isOver = true } }

    func next() async -> Reachability.Change? {
        let step = await state.wait { state -> Reachability.Change?? in
            if !state.news.isEmpty { return .some(state.news.removeFirst()) }
            return state.isOver ? .some(nil) : nil
        }
        return step ?? nil
    }
}
