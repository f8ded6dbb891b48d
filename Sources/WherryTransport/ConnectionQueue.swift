// Wherry: who may start now, and who waits for a free connection.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// Counts the running exchanges of each origin, and keeps the others in order of submission.
struct ConnectionQueue {
    /// One origin's line. Exchanges keep theirs, so that leaving costs no search.
    final class Place {
        var running = 0
        /// Speaks HTTP/2: its exchanges are streams of one connection.
        var isMultiplexed = false
        /// Has answered in HTTP/1: whatever comes between two answers belongs to none.
        var isSerial = false
        var waiting: [Exchange] = []
    }

    private(set) var perHost: Int
    private(set) var total: Int
    private var running = 0
    private var waitingCount = 0
    private var submissions = 0
    private var places: [Origin: Place] = [:]
    /// The place that was asked for last.
    private var recent: (origin: Origin, place: Place)?
    /// Streams that one HTTP/2 connection is asked to carry.
    private static let streams = 100

    init(perHost: Int, total: Int) {
        self.perHost = max(1, perHost)
        self.total = max(1, total)
    }

    var isEmpty: Bool { waitingCount == 0 }

    mutating func setLimits(perHost: Int, total: Int) {
        self.perHost = max(1, perHost)
        self.total = max(1, total)
    }

    /// Counts the exchange as running, or puts it at the end of its origin's line.
    mutating func admit(_ exchange: Exchange) -> Bool {
        let place = place(of: exchange.request.url.origin)
        exchange.state.place = place
        // Paused ones give way to those behind them.
        guard hasRoom(place), !exchange.state.isPaused,
            place.waiting.allSatisfy({ $0.state.isPaused })
        else {
            submissions += 1
            exchange.state.order = submissions
            place.waiting.append(exchange)
            waitingCount += 1
            return false
        }
        place.running += 1
        running += 1
        return true
    }

    /// An exchange ended; `httpVersion` is that of its answer, or 0.
    mutating func leave(_ exchange: Exchange, httpVersion: Int32) {
        guard let place = exchange.state.place else { return }
        exchange.state.place = nil
        place.running -= 1
        running -= 1
        if httpVersion == 20 { place.isMultiplexed = true }
        if httpVersion == 10 || httpVersion == 11 { place.isSerial = true }
        if place.running == 0 && place.waiting.isEmpty && !place.isMultiplexed && places.count > 64
        {
            places[exchange.request.url.origin] = nil
            recent = nil
        }
    }

    /// The one that waits longest of those that may start, counted as running.
    mutating func next() -> Exchange? {
        guard waitingCount > 0 else { return nil }
        var found: (exchange: Exchange, index: Int)?
        for place in places.values where !place.waiting.isEmpty && hasRoom(place) {
            guard let index = place.waiting.firstIndex(where: { !$0.state.isPaused }) else {
                continue
            }
            let exchange = place.waiting[index]
            if found == nil || exchange.state.order < found!.exchange.state.order {
                found = (exchange, index)
            }
        }
        guard let found else { return nil }
        found.exchange.state.place?.waiting.remove(at: found.index)
        found.exchange.state.place?.running += 1
        running += 1
        waitingCount -= 1
        return found.exchange
    }

    mutating func remove(_ exchange: Exchange) {
        guard let place = exchange.state.place,
            let index = place.waiting.firstIndex(where: { $0 === exchange })
        else { return }
        place.waiting.remove(at: index)
        exchange.state.place = nil
        waitingCount -= 1
    }

    mutating func removeAll() -> [Exchange] {
        let all = places.values.flatMap { $0.waiting }
        for place in places.values { place.waiting = [] }
        waitingCount = 0
        return all
    }

    /// Those whose time is over, taken out of the line.
    mutating func expired(at now: Instant) -> [Exchange] {
        guard waitingCount > 0 else { return [] }
        let late = places.values.flatMap { place in
            place.waiting.filter { $0.request.deadline <= now }
        }
        for exchange in late { remove(exchange) }
        return late
    }

    var nextDeadline: Instant {
        guard waitingCount > 0 else { return .never }
        return places.values.lazy.flatMap { $0.waiting }.map { $0.request.deadline }.min() ?? .never
    }

    private mutating func place(of origin: Origin) -> Place {
        if let recent, recent.origin === origin { return recent.place }
        let place = places[origin] ?? Place()
        places[origin] = place
        recent = (origin, place)
        return place
    }

    private func hasRoom(_ place: Place) -> Bool {
        place.isMultiplexed
            ? place.running < Self.streams
            : place.running < perHost && running < total
    }
}
