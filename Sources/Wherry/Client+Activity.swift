// Wherry: whether a client is at work, for tasks.
// SPDX-License-Identifier: Apache-2.0

import WherryCore

extension Client {
    /// When an indicator of the client's activity is to be shown and hidden, from now on.
    ///
    ///     for await change in try client.activity() { spinner.isHidden = !change.isShown }
    ///
    /// It shows while transfers are under way and not paused: some time after the first began, so
    /// that short ones do not flash, and until a moment after the last ended, so that one after the
    /// other does not flicker. A slow reader sees the newest state only. The sequence ends with the
    /// task that reads it; when the client closes, what is shown is hidden.
    ///
    /// - Parameters:
    ///   - showAfter: 1 s by default.
    ///   - hideAfter: 0.17 s by default.
    /// - Throws: `bad_value` for negative delays; `closed` after ``close()``.
    public func activity(
        showAfter: Duration = .seconds(1), hideAfter: Duration = .milliseconds(170)
    ) throws(WherryError) -> ActivitySequence {
        try ActivitySequence(self, showAfter, hideAfter)
    }
}

/// When an indicator of a client's activity is to be shown and hidden. For one reader.
public struct ActivitySequence: AsyncSequence, Sendable {
    public typealias Element = ActivityChange
    public typealias Failure = Never

    struct State: Sendable {
        var newest = ActivityChange(isShown: false, count: 0)
        /// What was read last.
        var isShown = false
    }

    private let monitor = AsyncMonitor(State())
    private let place: Place

    /// Ends it when the last reader is gone.
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

    /// The reader; a second one would share the changes with the first.
    public func makeAsyncIterator() -> Iterator { Iterator(monitor: monitor, place: place) }

    /// Takes the changes in order.
    public struct Iterator: AsyncIteratorProtocol {
        let monitor: AsyncMonitor<State>
        let place: Place

        /// The next change; `nil` once the task is cancelled.
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
