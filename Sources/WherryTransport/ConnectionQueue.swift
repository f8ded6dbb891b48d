// Wherry: the queue of exchanges waiting for a connection.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// Counts the running exchanges of each origin. Queues the others by priority, and by order of
/// submission within a priority.
///
/// An HTTP/1 exchange occupies a connection, which counts for its host and in total. An HTTP/2
/// exchange is a stream, which counts only for its host. The protocol becomes known when the
/// response begins. Until then, the exchange counts like the last response of its origin.
///
/// With a rate limit, each exchange that starts takes a token from its host's bucket and one from
/// the total bucket. Without a token it waits in its line, as for a connection.
struct ConnectionQueue {
    /// The state of an origin. Exchanges keep a reference, so that leaving needs no lookup.
    final class Place {
        let origin: Origin
        /// Whether the last responses used HTTP/2.
        fileprivate(set) var isMultiplexed = false
        /// Whether the origin has responded with HTTP/1. Bytes that arrive between two HTTP/1
        /// responses belong to no response.
        fileprivate(set) var isSerial = false
        /// Whether the origin has responded with HTTP/2.
        fileprivate(set) var hasStreams = false
        /// Whether the origin received a request that must not be sent twice.
        var hasUnrepeatable = false
        /// Whether the origin has answered over HTTP/2 before it had read the whole request.
        var answersEarly = false
        fileprivate var connections = 0
        fileprivate var streams = 0
        /// The line for exchanges that use the origin's protocol, and the line for those that need
        /// a connection.
        fileprivate let free = Line()
        fileprivate let bound = Line()

        /// The rate limit of the host.
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
        /// The number of paused exchanges in the lines.
        fileprivate var paused = 0
    }

    /// The waiting exchanges of one origin.
    final class Line {
        fileprivate unowned(unsafe) var place: Place!
        fileprivate var waiting = IndexedHeap<ByTurn>()
        /// The index in the heap of lines with capacity.
        fileprivate var readyPlace = -1
        /// The time when the next token of the host is available, if the line lacks nothing else,
        /// and the index in that heap.
        fileprivate var opensAt = Instant.never
        fileprivate var heldPlace = -1
        fileprivate var order: Int { waiting.first?.order ?? .max }
    }

    /// A waiting exchange.
    final class Ticket {
        let exchange: Exchange
        fileprivate private(set) var priority: Int8
        /// Increases with each submission; higher priorities have lower numbers.
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

        /// Sets the priority and the order. Call it only while the ticket is in no heap ordered by
        /// them.
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
    /// The last reported time, for the token buckets.
    private var now = Instant(nanoseconds: .min)
    /// The number of connections to all origins, without streams.
    private var connections = 0
    /// The number of running exchanges exempt from the limits.
    private(set) var exempt = 0
    private var waitingCount = 0
    private var submissions = 0
    private var places: [Origin: Place] = [:]
    /// The last place looked up.
    private var recent: Place?
    /// The number of places at which empty ones are removed.
    private var placeLimit = Self.keptPlaces
    /// Lines whose host has capacity: for a connection if the total allows one, and for a stream.
    private var connectionLines = IndexedHeap<ByFirst>()
    private var streamLines = IndexedHeap<ByFirst>()
    /// Lines with capacity whose host has no token now.
    private var heldLines = IndexedHeap<ByOpening>()
    private var deadlines = IndexedHeap<ByDeadline>()
    private var pausedTickets: [ObjectIdentifier: Ticket] = [:]

    /// The number of streams per HTTP/2 connection.
    private static let streams = 100
    private static let keptPlaces = 1_024

    init(perHost: Int, total: Int) {
        self.perHost = max(1, perHost)
        self.total = max(1, total)
    }

    var isEmpty: Bool { waitingCount == 0 }
    /// The number of known origins, for tests.
    var placeCount: Int { places.count }

    mutating func setLimits(perHost: Int, total: Int) {
        self.perHost = max(1, perHost)
        self.total = max(1, total)
        for place in places.values { settle(place) }
    }

    // MARK: Rates

    var isLimited: Bool { rate.isLimited }

    /// Sets the rate limits and forgets past requests.
    mutating func setRate(_ rate: RequestRate) {
        self.rate = rate
        bucket = TokenBucket(rate.total, rate)
        for place in places.values {
            place.bucket = TokenBucket(rate.perHost, rate)
            settle(place)
        }
    }

    /// Updates the time. With rate limits, call it before anything that may start an exchange.
    mutating func advance(to now: Instant) {
        self.now = max(self.now, now)
        while let line = heldLines.first, line.opensAt <= self.now {
            heldLines.remove(line)
            settle(line)
        }
    }

    /// The time when an exchange that lacks only a token may start; `never` if there is none.
    var nextOpening: Instant {
        guard rate.isLimited, waitingCount > 0 else { return .never }
        return bucket.opening(after: now) ?? heldLines.first?.opensAt ?? .never
    }

    /// Returns whether a new exchange may start without overtaking another one, and has its tokens.
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

    // MARK: Admission

    /// Counts the exchange as running, or queues it behind those of equal priority.
    mutating func admit(_ exchange: Exchange) -> Bool {
        let place = place(of: exchange.request.url.origin)
        exchange.chooseVersion(answersEarly: place.answersEarly)
        let line = Self.isBound(exchange) ? place.bound : place.free
        exchange.state.place = place
        // Exchanges behind a paused one may overtake it.
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

    /// Handles the end of a running exchange.
    mutating func leave(_ exchange: Exchange) {
        guard let place = exchange.state.place else { return }
        exchange.state.place = nil
        if exchange.request.admission == .always { exempt -= 1 }
        uncount(exchange, place)
        settle(place)
        if places.count > placeLimit { dropEmptyPlaces() }
    }

    /// Records the protocol of a response that has begun.
    ///
    /// - Returns: Whether other exchanges may start now.
    mutating func note(_ exchange: Exchange, isMultiplexed: Bool) -> Bool {
        guard let place = exchange.state.place else { return false }
        if isMultiplexed { place.hasStreams = true } else { place.isSerial = true }
        // An exchange that required a new connection does not show what the host prefers. Neither
        // does an exchange that reused such a connection.
        guard !Self.isBound(exchange), !exchange.state.isOnSerial,
            exchange.state.isStream != isMultiplexed || place.isMultiplexed != isMultiplexed
        else { return false }
        uncount(exchange, place)
        // The line moves from one heap to the other.
        withdraw(place.free)
        place.isMultiplexed = isMultiplexed
        count(exchange, place.free)
        settle(place)
        return waitingCount > 0
    }

    /// Returns the next exchange that may start, and counts it as running.
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

    // MARK: Waiting exchanges

    /// Removes a waiting exchange.
    mutating func remove(_ exchange: Exchange) {
        guard let ticket = exchange.state.ticket else { return }
        forget(ticket)
        exchange.state.place = nil
        settle(ticket.line)
    }

    /// Handles a pause of a waiting exchange, which others may then overtake, or its end, which
    /// restores its position.
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

    /// Moves a waiting exchange behind those of a priority. No effect if it has this priority.
    mutating func setPriority(of exchange: Exchange, to priority: Int8) {
        guard let ticket = exchange.state.ticket, ticket.priority != priority else { return }
        submissions += 1
        guard pausedTickets[ObjectIdentifier(ticket)] == nil else {
            // The paused exchange will return to this position.
            return ticket.setPriority(priority, submissions)
        }
        ticket.line.waiting.remove(ticket)
        ticket.setPriority(priority, submissions)
        ticket.line.waiting.insert(ticket)
        settle(ticket.line)
    }

    /// Removes and returns all waiting exchanges, in order.
    mutating func removeAll() -> [Exchange] {
        var tickets = Array(pausedTickets.values)
        for place in places.values {
            tickets += place.free.waiting.members + place.bound.waiting.members
        }
        tickets.sort { $0.order < $1.order }
        for ticket in tickets { remove(ticket.exchange) }
        return tickets.map { $0.exchange }
    }

    /// Removes and returns the waiting exchanges whose deadline has passed.
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

    /// Returns whether the exchange needs a separate connection, whatever protocol its host uses.
    private static func isBound(_ exchange: Exchange) -> Bool {
        exchange.httpVersion == 11 || exchange.request.ownConnection
    }

    private func isStream(_ line: Line) -> Bool {
        line === line.place.free && line.place.isMultiplexed
    }

    /// Returns whether the line's host has capacity for another exchange.
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

    /// Moves a line to the right heap after a change.
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

    /// Removes a line from its heap. Call it also before the line changes between streams and
    /// connections.
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
        // Many non-empty places must not be scanned again and again.
        placeLimit = max(Self.keptPlaces, 2 * places.count)
    }
}
