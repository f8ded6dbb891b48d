// Wherry: activity indicators for tasks.
// SPDX-License-Identifier: Apache-2.0

import WherryCore

extension Client {
    /// Returns future changes of the client's activity indicator.
    ///
    ///     for await change in try client.activity() { spinner.isHidden = !change.isShown }
    ///
    /// The indicator is shown while transfers are active and not paused. It appears with a delay
    /// after the first one began, so that short transfers do not flash. It disappears with a delay
    /// after the last one ended, so that a series of transfers does not flicker. A slow reader
    /// receives only the latest state. The sequence ends when the task that reads it ends. Closing
    /// the client hides the indicator.
    ///
    /// - Parameters:
    ///   - showAfter: The delay before showing. Default: 1 s.
    ///   - hideAfter: The delay before hiding. Default: 0.17 s.
    /// - Throws: `bad_value` for negative delays; `closed` after ``close()``.
    public func activity(
        showAfter: Duration = .seconds(1), hideAfter: Duration = .milliseconds(170)
    ) throws(WherryError) -> ActivitySequence {
        try ActivitySequence(self, showAfter, hideAfter)
    }
}

/// The changes of a client's activity indicator. Supports one reader.
public struct ActivitySequence: AsyncSequence, Sendable {
    public typealias Element = ActivityChange
    public typealias Failure = Never

    struct State: Sendable {
        var newest = ActivityChange(isShown: false, count: 0)
        /// Whether the last change that was read shows the indicator.
        var isShown = false
    }

    private let monitor = AsyncMonitor(State())
    private let place: Place

    /// Ends the watch when the last reader is gone.
    final class Place: Sendable {
        private weak let client: Client?
        private let place = ActivityBoard.newReader()

        init(
            _ client: Client, _ showAfter: Duration, _ hideAfter: Duration,
            _ tell: @escaping @Sendable (ActivityChange) -> Bool
        ) throws(WherryError) {
            self.client = client
            try client.watchActivity(place, showAfter: showAfter, hideAfter: hideAfter, tell)
        }

        deinit { try? client?.watchActivity(place, showAfter: .zero, hideAfter: .zero, nil) }
    }

    init(_ client: Client, _ showAfter: Duration, _ hideAfter: Duration) throws(WherryError) {
        let monitor = monitor
        place = try Place(client, showAfter, hideAfter) { change in
            monitor.update { $0.newest = change }
            return true
        }
    }

    /// Creates the reader. Create only one: a second reader would share the changes with the first.
    public func makeAsyncIterator() -> Iterator { Iterator(monitor: monitor, place: place) }

    /// Iterates over the changes.
    public struct Iterator: AsyncIteratorProtocol {
        let monitor: AsyncMonitor<State>
        let place: Place

        /// Returns the next change; `nil` once the task is cancelled.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async -> ActivityChange? {
            await monitor.wait { state in
                guard state.newest.isShown != state.isShown else { return nil }
                state.isShown = state.newest.isShown
                return state.newest
            }
        }
    }
}
