// Wherry: notifications for activity indicators.
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import WherryHTTP
import WherrySystem
import WherryTransport

/// A change of an activity indicator (L13).
public struct ActivityChange: Sendable, Hashable {
    /// Whether to show the indicator.
    public var isShown: Bool
    /// The number of active transfers; greater than 0 if and only if the indicator is shown.
    public var count: Int

    package init(isShown: Bool, count: Int) {
        self.isShown = isShown
        self.count = count
    }
}

/// Counts the active transfers of a client while there is a watcher, and notifies it with two
/// delays.
///
/// Callbacks run on the transport's thread, one after another. The thread that closes the client
/// reports the remaining changes.
package final class ActivityBoard: Sendable {
    /// The owner of a watch. A new watch of the same owner replaces the old one.
    package enum Place: Hashable, Sendable {
        case queue
        case reader(UInt64)
    }

    private struct Watch {
        var indicator: ActivityIndicator
        /// Whether a check is scheduled.
        var isScheduled = false
        /// Distinguishes the watch from an earlier one of the same owner.
        let number: UInt64
        /// The callback, which returns `false` once the watcher is gone.
        let tell: @Sendable (ActivityChange) -> Bool
    }

    /// A change with its receiver.
    private struct News {
        let change: ActivityChange
        let tell: @Sendable (ActivityChange) -> Bool
    }

    private struct State {
        var active: Set<UInt64> = []
        var watches: [Place: Watch] = [:]
        var lastNumber: UInt64 = 0
    }

    private let state = Lock(State())
    private let isWatched = Atomic(false)
    private static let lastReader = Atomic<UInt64>(0)

    package init() {}

    /// Returns a place that no other watch uses.
    package static func newReader() -> Place {
        .reader(lastReader.wrappingAdd(1, ordering: .relaxed).newValue)
    }

    /// Starts a watch with the current transfers; ends it if the callback is `nil`.
    ///
    /// - Parameters: The delays in nanoseconds, at least 0.
    func watch(
        _ place: Place, showDelay: Int64, hideDelay: Int64, of client: Client,
        _ tell: (@Sendable (ActivityChange) -> Bool)?
    ) {
        let now = client.transport.clock.now()
        let number = state.withLock { state -> UInt64? in
            state.lastNumber += 1
            guard let tell else {
                remove(place, from: &state)
                return nil
            }
            isWatched.store(true, ordering: .sequentiallyConsistent)
            // Transfers that begin or end from here on report to `look`, which takes this lock.
            for transfer in client.pool.all where Self.isActive(transfer) {
                state.active.insert(transfer.id)
            }
            var indicator = ActivityIndicator(showDelay: showDelay, hideDelay: hideDelay)
            indicator.note(isActive: !state.active.isEmpty, at: now)
            state.watches[place] = Watch(indicator: indicator, number: state.lastNumber, tell: tell)
            return state.lastNumber
        }
        if number != nil { schedule(client) }
    }

    private static func isActive(_ transfer: Transfer) -> Bool {
        transfer.kind != .group && !transfer.observer.isPart && !transfer.isFinal
            && !transfer.isPaused
    }

    /// Handles a transfer that began, ended, was paused or resumed, according to its current state.
    func look(at transfer: Transfer) {
        guard isWatched.load(ordering: .sequentiallyConsistent) else { return }
        let client = transfer.client
        let now = client.transport.clock.now()
        let isNews = state.withLock { state -> Bool in
            guard !state.watches.isEmpty else { return false }
            let wasActive = !state.active.isEmpty
            if Self.isActive(transfer) {
                state.active.insert(transfer.id)
            } else {
                state.active.remove(transfer.id)
            }
            guard wasActive != !state.active.isEmpty else { return false }
            for place in state.watches.keys {
                state.watches[place]?.indicator.note(isActive: !wasActive, at: now)
            }
            return true
        }
        if isNews { schedule(client) }
    }

    /// Schedules the check of each watch.
    private func schedule(_ client: Client) {
        let due = state.withLock { state -> [(Place, UInt64, Instant)] in
            var due: [(Place, UInt64, Instant)] = []
            for (place, watch) in state.watches where !watch.isScheduled {
                guard let time = watch.indicator.due else { continue }
                state.watches[place]?.isScheduled = true
                due.append((place, watch.number, time))
            }
            return due
        }
        for (place, number, time) in due {
            client.transport.schedule(at: time) { [weak self, weak client] in
                guard let self, let client else { return }
                pass(place, number, client)
            }
        }
    }

    /// Checks a watch that is due or was postponed.
    private func pass(_ place: Place, _ number: UInt64, _ client: Client) {
        let now = client.transport.clock.now()
        let news = state.withLock { state -> News? in
            guard var watch = state.watches[place], watch.number == number else { return nil }
            let count = state.active.count
            watch.isScheduled = false
            let isShown = watch.indicator.pass(isActive: count > 0, at: now)
            state.watches[place] = watch
            guard let isShown else { return nil }
            let change = ActivityChange(isShown: isShown, count: isShown ? count : 0)
            return News(change: change, tell: watch.tell)
        }
        if let news, !news.tell(news.change) { end(place, number) }
        schedule(client)
    }

    private func end(_ place: Place, _ number: UInt64) {
        state.withLock { state in
            guard state.watches[place]?.number == number else { return }
            remove(place, from: &state)
        }
    }

    /// Removes a watch. Without one the ends of transfers are not recorded, so the next watch
    /// counts them again.
    private func remove(_ place: Place, from state: inout State) {
        state.watches[place] = nil
        guard state.watches.isEmpty else { return }
        isWatched.store(false, ordering: .relaxed)
        state.active = []
    }

    /// Hides the indicators and ends all notifications.
    func close() {
        let shown = state.withLock { state in
            isWatched.store(false, ordering: .relaxed)
            defer { state.watches = [:] }
            return state.watches.values.filter { $0.indicator.isShown }.map(\.tell)
        }
        for tell in shown { _ = tell(ActivityChange(isShown: false, count: 0)) }
    }
}

extension Client {
    /// Sends ACTIVITY events to a queue; `nil` ends that. One queue at a time.
    package func setActivity(
        _ queue: EventQueue?, showAfter: Int64, hideAfter: Int64, userData: UInt
    ) throws(WherryError) {
        var tell: (@Sendable (ActivityChange) -> Bool)?
        if let queue { tell = { change in queue.tell(change, userData: userData) } }
        try watchActivity(
            .queue, showAfter: .milliseconds(showAfter), hideAfter: .milliseconds(hideAfter), tell)
    }

    /// Calls a function when an indicator must be shown or hidden; see ``ActivityBoard``.
    package func watchActivity(
        _ place: ActivityBoard.Place, showAfter: Duration, hideAfter: Duration,
        _ tell: (@Sendable (ActivityChange) -> Bool)?
    ) throws(WherryError) {
        guard showAfter >= .zero, hideAfter >= .zero else {
            throw WherryError(
                .badValue,
                "The activity indicator cannot have a negative delay. Use delays of 0 or more.")
        }
        guard tell == nil || !pool.isClosed else { throw Self.closedError }
        activity.watch(
            place, showDelay: .milliseconds(showAfter.wholeMilliseconds),
            hideDelay: .milliseconds(hideAfter.wholeMilliseconds), of: self, tell)
    }
}
