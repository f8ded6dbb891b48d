// Wherry: who may start now, and who waits for a free connection.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// Counts the running exchanges of each origin, and keeps the others in order of their priority, and
/// of submission among equals.
///
/// An exchange over HTTP/1 holds a connection, which counts for its host and for all; one over
/// HTTP/2 is a stream, which counts for its host only. Which it is shows when its answer begins:
/// until then it counts as the last answer of its origin did.
///
/// Where so many may start in a span of time, each that starts takes a token of its host's bucket and
/// one of all; who lacks one waits in its line as for a connection.
struct ConnectionQueue {
    /// What is known of one origin. Exchanges keep theirs, so that leaving costs no search.
    final class Place {
        let origin: Origin
        /// Its last answers came over HTTP/2.
        fileprivate(set) var isMultiplexed = false
        /// Has answered in HTTP/1: whatever comes between two answers belongs to none.
        fileprivate(set) var isSerial = false
        /// Has answered in HTTP/2.
        fileprivate(set) var hasStreams = false
        /// Was asked for what may not be sent twice.
        var hasUnrepeatable = false
        fileprivate var connections = 0
        fileprivate var streams = 0
        /// For those that go by what the origin speaks, and for those that want a connection.
        fileprivate let free = Line()
        fileprivate let bound = Line()

        /// What its host may be asked.
        fileprivate var bucket: TokenBucket

        fileprivate init(origin: Origin, _ bucket: TokenBucket) {
            self.origin = origin
            self.bucket = bucket
            free.place = self
            bound.place = self
        }

        fileprivate var isEmpty: Bool {
            connections == 0 && streams == 0 && free.waiting.isEmpty && bound.waiting.isEmpty
                && paused == 0
        }
        /// How many wait paused.
        fileprivate var paused = 0
    }

    /// Those of one origin that wait, and may go when their turn comes.
    final class Line {
        fileprivate unowned(unsafe) var place: Place!
        fileprivate var waiting = IndexedHeap<ByTurn>()
        /// Its place among the lines that have room.
        fileprivate var readyPlace = -1
        /// When it may go on that lacks nothing but a token of its host, and its place among those.
        fileprivate var opensAt = Instant.never
        fileprivate var heldPlace = -1
        fileprivate var order: Int { waiting.first?.order ?? .max }
    }

    /// An exchange that waits.
    final class Ticket {
        let exchange: Exchange
        fileprivate private(set) var priority: Int8
        /// Goes up with submission, and all of a higher priority are below.
        fileprivate private(set) var order: Int
        fileprivate let place: Place
        fileprivate let line: Line
        fileprivate var linePlace = -1
        fileprivate var deadlinePlace = -1

        fileprivate init(_ exchange: Exchange, _ submission: Int, _ place: Place, _ line: Line) {
            self.exchange = exchange
            priority = exchange.request.priority
            order = Self.order(priority, submission)
            self.place = place
            self.line = line
        }

        /// While it is in no heap that goes by its order.
        fileprivate func setPriority(_ priority: Int8, _ submission: Int) {
            self.priority = priority
            order = Self.order(priority, submission)
        }

        private static func order(_ priority: Int8, _ submission: Int) -> Int {
            -Int(priority) << 48 + submission
        }
    }

    fileprivate enum ByTurn: HeapOrder {
        static func precedes(_ a: Ticket, _ b: Ticket) -> Bool { a.order < b.order }
        static func place(of ticket: Ticket) -> Int { ticket.linePlace }
        static func setPlace(of ticket: Ticket, _ place: Int) { ticket.linePlace = place }
    }

    fileprivate enum ByDeadline: HeapOrder {
        static func precedes(_ a: Ticket, _ b: Ticket) -> Bool {
            a.exchange.request.deadline < b.exchange.request.deadline
        }
        static func place(of ticket: Ticket) -> Int { ticket.deadlinePlace }
        static func setPlace(of ticket: Ticket, _ place: Int) { ticket.deadlinePlace = place }
    }

    fileprivate enum ByFirst: HeapOrder {
        static func precedes(_ a: Line, _ b: Line) -> Bool { a.order < b.order }
        static func place(of line: Line) -> Int { line.readyPlace }
        static func setPlace(of line: Line, _ place: Int) { line.readyPlace = place }
    }

    fileprivate enum ByOpening: HeapOrder {
        static func precedes(_ a: Line, _ b: Line) -> Bool { a.opensAt < b.opensAt }
        static func place(of line: Line) -> Int { line.heldPlace }
        static func setPlace(of line: Line, _ place: Int) { line.heldPlace = place }
    }

    private(set) var perHost: Int
    private(set) var total: Int
    private var rate = RequestRate()
    private var bucket = TokenBucket(0, RequestRate())
    /// As it was told last; tokens drop by it.
    private var now = Instant(nanoseconds: .min)
    /// Of all origins; streams are not among them.
    private var connections = 0
    /// Running ones that no limit holds.
    private(set) var exempt = 0
    private var waitingCount = 0
    private var submissions = 0
    private var places: [Origin: Place] = [:]
    /// The place that was asked for last.
    private var recent: Place?
    /// Where so many places are known, the empty ones are dropped.
    private var placeLimit = Self.keptPlaces
    /// Lines whose host has room: for a connection if there is one in all, and for a stream.
    private var connectionLines = IndexedHeap<ByFirst>()
    private var streamLines = IndexedHeap<ByFirst>()
    /// Those with room whose host may not be asked just now.
    private var heldLines = IndexedHeap<ByOpening>()
    private var deadlines = IndexedHeap<ByDeadline>()
    private var pausedTickets: [ObjectIdentifier: Ticket] = [:]

    /// Streams that one HTTP/2 connection is asked to carry.
    private static let streams = 100
    private static let keptPlaces = 1_024

    init(perHost: Int, total: Int) {
        self.perHost = max(1, perHost)
        self.total = max(1, total)
    }

    var isEmpty: Bool { waitingCount == 0 }
    /// For tests: how many origins are remembered.
    var placeCount: Int { places.count }

    mutating func setLimits(perHost: Int, total: Int) {
        self.perHost = max(1, perHost)
        self.total = max(1, total)
        for place in places.values { settle(place) }
    }

    // MARK: Rates

    var isLimited: Bool { rate.isLimited }

    /// Other limits count from now on, and what was asked before is forgotten.
    mutating func setRate(_ rate: RequestRate) {
        self.rate = rate
        bucket = TokenBucket(rate.total, rate)
        for place in places.values {
            place.bucket = TokenBucket(rate.perHost, rate)
            settle(place)
        }
    }

    /// Time has passed. To be told before anything that may start something, where there are rates.
    mutating func advance(to now: Instant) {
        self.now = max(self.now, now)
        while let line = heldLines.first, line.opensAt <= self.now {
            heldLines.remove(line)
            settle(line)
        }
    }

    /// When somebody who waits may start for whom there is no token now; `never` for nobody.
    var nextOpening: Instant {
        guard rate.isLimited, waitingCount > 0 else { return .never }
        return bucket.opening(after: now) ?? heldLines.first?.opensAt ?? .never
    }

    /// Whether a new one would pass nobody, and has its tokens.
    private func mayPass(_ exchange: Exchange, to place: Place) -> Bool {
        guard rate.isLimited else { return true }
        guard waitingCount == 0 || exchange.request.admission == .onlyIfFree else { return false }
        return bucket.opening(after: now) == nil && place.bucket.opening(after: now) == nil
    }

    private mutating func spend(_ place: Place) {
        guard rate.isLimited else { return }
        bucket.take(at: now)
        place.bucket.take(at: now)
        settle(place)
    }

    // MARK: Coming and going

    /// Counts the exchange as running, or puts it into its origin's line, behind its equals.
    mutating func admit(_ exchange: Exchange) -> Bool {
        let place = place(of: exchange.request.url.origin)
        let line = Self.isBound(exchange) ? place.bound : place.free
        exchange.state.place = place
        // Paused ones give way to those behind them.
        let isExempt = exchange.request.admission == .always
        if isExempt
            || !exchange.state.isPaused && line.waiting.isEmpty && hasRoom(line)
                && (isStream(line) || connections < total) && mayPass(exchange, to: place)
        {
            if isExempt { exempt += 1 }
            count(exchange, line)
            spend(place)
            return true
        }
        submissions += 1
        let ticket = Ticket(exchange, submissions, place, line)
        exchange.state.ticket = ticket
        waitingCount += 1
        if exchange.request.deadline != .never { deadlines.insert(ticket) }
        if exchange.state.isPaused {
            pausedTickets[ObjectIdentifier(ticket)] = ticket
            place.paused += 1
        } else {
            line.waiting.insert(ticket)
            settle(line)
        }
        return false
    }

    /// A running exchange ended.
    mutating func leave(_ exchange: Exchange) {
        guard let place = exchange.state.place else { return }
        exchange.state.place = nil
        if exchange.request.admission == .always { exempt -= 1 }
        uncount(exchange, place)
        settle(place)
        if places.count > placeLimit { dropEmptyPlaces() }
    }

    /// The answer of a running exchange has begun, in HTTP/2 or not.
    ///
    /// - Returns: whether others may start now.
    mutating func note(_ exchange: Exchange, isMultiplexed: Bool) -> Bool {
        guard let place = exchange.state.place else { return false }
        if isMultiplexed { place.hasStreams = true } else { place.isSerial = true }
        // Who asked for a connection has one, and says nothing of what the host would have spoken;
        // nor does who was given one that such a one has left.
        guard !Self.isBound(exchange), !exchange.state.isOnSerial,
            exchange.state.isStream != isMultiplexed || place.isMultiplexed != isMultiplexed
        else { return false }
        uncount(exchange, place)
        // Its line goes from one heap to the other.
        withdraw(place.free)
        place.isMultiplexed = isMultiplexed
        count(exchange, place.free)
        settle(place)
        return waitingCount > 0
    }

    /// Of those that may start the one whose turn is next, counted as running.
    mutating func next() -> Exchange? {
        guard waitingCount > 0, bucket.opening(after: now) == nil else { return nil }
        var line = streamLines.first
        if connections < total, let other = connectionLines.first,
            other.order < line?.order ?? .max
        {
            line = other
        }
        guard let line, let ticket = line.waiting.first else { return nil }
        forget(ticket)
        count(ticket.exchange, line)
        spend(ticket.place)
        settle(ticket.place)
        return ticket.exchange
    }

    // MARK: Those that wait

    /// Takes an exchange that waits out of the line.
    mutating func remove(_ exchange: Exchange) {
        guard let ticket = exchange.state.ticket else { return }
        forget(ticket)
        exchange.state.place = nil
        settle(ticket.line)
    }

    /// A waiting exchange was paused, and others pass it; or goes on, and has its old turn again.
    mutating func pauseChanged(_ exchange: Exchange) {
        guard let ticket = exchange.state.ticket else { return }
        let isAside = pausedTickets[ObjectIdentifier(ticket)] != nil
        guard isAside != exchange.state.isPaused else { return }
        if isAside {
            pausedTickets[ObjectIdentifier(ticket)] = nil
            ticket.place.paused -= 1
            ticket.line.waiting.insert(ticket)
        } else {
            ticket.line.waiting.remove(ticket)
            pausedTickets[ObjectIdentifier(ticket)] = ticket
            ticket.place.paused += 1
        }
        settle(ticket.line)
    }

    /// A waiting exchange goes behind those that have this priority; the same one moves nothing.
    mutating func setPriority(of exchange: Exchange, to priority: Int8) {
        guard let ticket = exchange.state.ticket, ticket.priority != priority else { return }
        submissions += 1
        guard pausedTickets[ObjectIdentifier(ticket)] == nil else {
            // It comes back to this turn.
            return ticket.setPriority(priority, submissions)
        }
        ticket.line.waiting.remove(ticket)
        ticket.setPriority(priority, submissions)
        ticket.line.waiting.insert(ticket)
        settle(ticket.line)
    }

    /// All that wait, in order of their turns.
    mutating func removeAll() -> [Exchange] {
        var tickets = Array(pausedTickets.values)
        for place in places.values {
            tickets += place.free.waiting.members + place.bound.waiting.members
        }
        tickets.sort { $0.order < $1.order }
        for ticket in tickets { remove(ticket.exchange) }
        return tickets.map { $0.exchange }
    }

    /// Those whose time is over, taken out of the line.
    mutating func expired(at now: Instant) -> [Exchange] {
        var late: [Exchange] = []
        while let exchange = deadlines.first?.exchange, exchange.request.deadline <= now {
            remove(exchange)
            late.append(exchange)
        }
        return late
    }

    var nextDeadline: Instant { deadlines.first?.exchange.request.deadline ?? .never }

    private mutating func forget(_ ticket: Ticket) {
        ticket.exchange.state.ticket = nil
        waitingCount -= 1
        deadlines.remove(ticket)
        ticket.line.waiting.remove(ticket)
        if pausedTickets.removeValue(forKey: ObjectIdentifier(ticket)) != nil {
            ticket.place.paused -= 1
        }
    }

    // MARK: Counting

    /// Wants a connection, whatever its host speaks.
    private static func isBound(_ exchange: Exchange) -> Bool {
        exchange.request.httpVersion == 11 || exchange.request.ownConnection
    }

    private func isStream(_ line: Line) -> Bool {
        line === line.place.free && line.place.isMultiplexed
    }

    /// Whether its host has room for one more.
    private func hasRoom(_ line: Line) -> Bool {
        isStream(line) ? line.place.streams < Self.streams : line.place.connections < perHost
    }

    private mutating func count(_ exchange: Exchange, _ line: Line) {
        exchange.state.isStream = isStream(line)
        if exchange.state.isStream {
            line.place.streams += 1
        } else {
            line.place.connections += 1
            connections += 1
        }
    }

    private mutating func uncount(_ exchange: Exchange, _ place: Place) {
        if exchange.state.isStream {
            place.streams -= 1
        } else {
            place.connections -= 1
            connections -= 1
        }
    }

    private mutating func settle(_ place: Place) {
        settle(place.free)
        settle(place.bound)
    }

    /// Puts a line where it belongs, after anything about it has changed.
    private mutating func settle(_ line: Line) {
        if line.waiting.isEmpty || !hasRoom(line) {
            heldLines.remove(line)
            return withdraw(line)
        }
        if let opening = line.place.bucket.opening(after: now) {
            withdraw(line)
            line.opensAt = opening
            if line.heldPlace < 0 { heldLines.insert(line) } else { heldLines.update(line) }
            return
        }
        heldLines.remove(line)
        if isStream(line) {
            if line.readyPlace < 0 { streamLines.insert(line) } else { streamLines.update(line) }
        } else if line.readyPlace < 0 {
            connectionLines.insert(line)
        } else {
            connectionLines.update(line)
        }
    }

    /// Takes a line out of the ready ones. Before it changes between streams and connections, too.
    private mutating func withdraw(_ line: Line) {
        guard line.readyPlace >= 0 else { return }
        if isStream(line) { streamLines.remove(line) } else { connectionLines.remove(line) }
    }

    // MARK: Places

    private mutating func place(of origin: Origin) -> Place {
        if let recent, recent.origin === origin { return recent }
        let place = places[origin] ?? Place(origin: origin, TokenBucket(rate.perHost, rate))
        places[origin] = place
        recent = place
        return place
    }

    private mutating func dropEmptyPlaces() {
        places = places.filter { !$0.value.isEmpty || !$0.value.bucket.isFull(at: now) }
        recent = nil
        // So that many busy ones are not looked through again and again.
        placeLimit = max(Self.keptPlaces, 2 * places.count)
    }
}
