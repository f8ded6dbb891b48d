// Wherry: news of the network for tasks.
// SPDX-License-Identifier: Apache-2.0

import WherryCore
import WherrySystem

extension Reachability {
    /// News, one after the other, none left out. It ends when the monitor stops or starts over, and
    /// when the task is cancelled.
    public struct Changes: AsyncSequence, Sendable {
        public typealias Element = Change
        public typealias Failure = Never
        fileprivate let subscription: Subscription

        /// Goes through the news; several share them.
        public struct AsyncIterator: AsyncIteratorProtocol {
            fileprivate let subscription: Subscription

            /// The next piece of news; `nil` when no more will come.
            public mutating func next() async -> Change? { await subscription.listener.next() }
        }

        public func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(subscription: subscription)
        }
    }

    /// News of this monitor, which is started if it does not run: the present status then comes
    /// first. Where it runs already, they begin with the next change. The sequence keeps the monitor
    /// alive.
    ///
    /// - Throws: what ``start()`` throws.
    public func changes() throws(WherryError) -> Changes {
        let (center, monitor, listener) = (monitor.center, monitor, ReachabilityListener())
        if !center.add(listener, to: monitor) { try center.start(monitor, [listener]) }
        return Changes(
            subscription: Subscription(listener) { [self] in
                center.remove(listener, from: self.monitor)
            })
    }

    /// News of every monitor in this process, each after its own listeners have been told, and in
    /// the same order.
    ///
    /// - Throws: `forked` in a child of the process.
    public static func allChanges() throws(WherryError) -> Changes {
        let (center, listener) = (ReachabilityCenter.shared, ReachabilityListener())
        try center.observe(listener)
        return Changes(subscription: Subscription(listener) { center.unobserve(listener) })
    }

    /// Waits until the target can be reached; looks for itself, started or not.
    ///
    /// - Parameter timeout: `nil` waits for ever.
    /// - Returns: `false` when the time ran out or the task was cancelled.
    /// - Throws: what ``start()`` throws.
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

/// Ends when nobody wants the news any more.
private final class Subscription: Sendable {
    let listener: ReachabilityListener
    private let end: @Sendable () -> Void

    init(_ listener: ReachabilityListener, _ end: @escaping @Sendable () -> Void) {
        self.listener = listener
        self.end = end
    }

    deinit { end() }
}

/// Keeps news until a task takes them.
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
