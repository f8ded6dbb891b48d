// Wherry: who is told whether a client is at work.
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import WherrySystem
import WherryTransport

/// Whether an indicator of a client's activity is to be seen, as it was told (L13).
public struct ActivityChange: Sendable, Hashable {
    /// Show it, or hide it.
    public var isShown: Bool
    /// How many transfers were under way: more than 0 exactly where it is to be shown.
    public var count: Int

    package init(isShown: Bool, count: Int) {
        self.isShown = isShown
        self.count = count
    }
}

/// Counts the transfers of a client that are under way, as long as somebody wants to know, and tells
/// of them with two delays. What is told is told on the transport's thread, one after the other, and
/// what is left to tell when the client closes by the one who closes it.
package final class ActivityBoard: Sendable {
    /// Whose watch it is; another one of the same place takes its turn.
    package enum Place: Hashable, Sendable {
        case queue
        case reader(UInt64)
    }

    private struct Watch {
        var indicator: ActivityIndicator
        /// A look at it is to come.
        var isScheduled = false
        /// Tells one of another place's successor.
        let number: UInt64
        /// Answers `false` once nobody listens.
        let tell: @Sendable (ActivityChange) -> Bool
    }

    /// What is to be told, and to whom.
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

    /// A place of its own.
    package static func newReader() -> Place {
        .reader(lastReader.wrappingAdd(1, ordering: .relaxed).newValue)
    }

    /// Begins to tell, from what is under way now; without `tell` it ends.
    ///
    /// - Parameters: delays in nanoseconds, at least 0.
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
            // Whatever begins or ends from here on is looked at, with this lock.
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
        transfer.kind != .group && !transfer.observer.isPart && !transfer.isFinal && !transfer.isPaused
    }

    /// A transfer began, ended, was paused or resumed: what it is now counts.
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

    /// Sees to it that each watch is looked at when it is time.
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

    /// The time of a watch has come, or has been put off.
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

    /// Without a watch nobody looks at what ends, so that what is under way is counted anew for the next.
    private func remove(_ place: Place, from state: inout State) {
        state.watches[place] = nil
        guard state.watches.isEmpty else { return }
        isWatched.store(false, ordering: .relaxed)
        state.active = []
    }

    /// Hides what is shown; nobody is told anything any more.
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
    /// Puts ACTIVITY events into a queue; `nil` ends it. One queue at a time.
    package func setActivity(
        _ queue: EventQueue?, showAfter: Int64, hideAfter: Int64, userData: UInt
    ) throws(WherryError) {
        var tell: (@Sendable (ActivityChange) -> Bool)?
        if let queue { tell = { change in queue.tell(change, userData: userData) } }
        try watchActivity(
            .queue, showAfter: .milliseconds(showAfter), hideAfter: .milliseconds(hideAfter), tell)
    }

    /// Tells a function when an indicator is to be shown and hidden; see ``ActivityBoard``.
    package func watchActivity(
        _ place: ActivityBoard.Place, showAfter: Duration, hideAfter: Duration,
        _ tell: (@Sendable (ActivityChange) -> Bool)?
    ) throws(WherryError) {
        guard showAfter >= .zero, hideAfter >= .zero else {
            throw WherryError(.badValue, "An indicator cannot be shown or hidden before its time")
        }
        guard tell == nil || !pool.isClosed else { throw Self.closedError }
        activity.watch(
            place, showDelay: .milliseconds(showAfter.wholeMilliseconds),
            hideDelay: .milliseconds(hideAfter.wholeMilliseconds), of: self, tell)
    }
}
