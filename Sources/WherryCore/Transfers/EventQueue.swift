// Wherry: a queue of events for readers.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherryLogging
import WherryReachability
import WherrySystem
import WherryTransport

/// A completion queue: transfers add events, threads read them, and a descriptor signals them.
///
/// The descriptor is readable exactly while events wait. It is signalled under the lock when the
/// queue becomes non-empty, and cleared under the lock when it becomes empty. It is created on
/// first use, so that readers without it need no system calls for it.
package final class EventQueue: TransferObserver {
    /// The one waiting progress event, or the one waiting preview, of a transfer.
    private struct Waiting {
        var position: UInt64
        /// Whether no other event of the transfer came after it.
        var isLast = true
    }

    private struct State {
        var ring = EventRing()
        var progress: [UInt64: Waiting] = [:]
        var previews: [UInt64: Waiting] = [:]
        /// The transfers that have not reported their end, in no order. Each stores its index.
        var transfers: [Transfer] = []
        var signal: EventFD?
        var waiting = 0
        /// The number of waiting log records, and of those dropped since the last one that was
        /// added.
        var logs = 0
        var lostLogs: Int64 = 0
        /// Whether the transfers belong to several clients.
        var isMixed = false
        /// The transport that a reader drives while it waits.
        var driven: (any Transport)?
        /// Whether the last reader drove the transport, so that the next one is expected to do so
        /// too.
        var isAttended = false
        var isClosed = false
        /// Functions to call on close, for event sources that are not transfers.
        var closers: [ObjectIdentifier: @Sendable () -> Void] = [:]
    }
    private let state = Monitor(State())

    package init() {}

    package static let closedError = WherryError(.closed, "The event queue was freed")

    // MARK: Writing

    package func willStart(_ transfer: Transfer) throws(WherryError) {
        let isOpen = state.withLock { state in
            guard !state.isClosed else { return false }
            if let other = state.transfers.first {
                if other.client !== transfer.client { state.isMixed = true }
            } else {
                state.isMixed = false
            }
            transfer.queueIndex = state.transfers.count
            state.transfers.append(transfer)
            return true
        }
        guard isOpen else { throw Self.closedError }
    }

    package func transfer(_ transfer: Transfer, did event: TransferEvent) {
        put(QueueEvent(event, of: transfer))
    }

    /// A thread that reads events in a loop drives the transport itself.
    package var wake: Wake { state.withLock { $0.isAttended } ? .soon : .now }

    /// Adds an event of a background job. Returns `false` if the queue is closed.
    ///
    /// - Parameter key: A key for this job and this reader, distinct from those of transfers.
    package func tell(_ event: TransferEvent, job: String, key: UInt64, userData: UInt) -> Bool {
        put(QueueEvent(event, job: job, key: key, userData: userData))
    }

    /// Whether the queue has been closed.
    package var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Registers a function to call on close; calls it at once if the queue is closed. Replaces an
    /// earlier function for the same object.
    package func whenClosed(_ object: AnyObject, _ body: @escaping @Sendable () -> Void) {
        let isOpen = state.withLock { state in
            if !state.isClosed { state.closers[ObjectIdentifier(object)] = body }
            return !state.isClosed
        }
        if !isOpen { body() }
    }

    /// Wakes a reader by adding an event without a transfer.
    package func wake(userData: UInt) throws(WherryError) {
        guard put(QueueEvent(userData: userData)) else { throw Self.closedError }
    }

    /// Cancels the transfers with this user data that have not reported their end. Returns their
    /// number.
    package func cancel(userData: UInt) throws(WherryError) -> Int {
        let (isOpen, found) = state.withLock { state in
            (!state.isClosed, state.transfers.filter { $0.userData == userData })
        }
        guard isOpen else { throw Self.closedError }
        for transfer in found { transfer.cancel() }
        return found.count
    }

    /// Adds a change of reachability. Returns `false` if the queue is closed.
    @discardableResult
    package func tell(_ news: Reachability.Change, from source: AnyObject, userData: UInt) -> Bool {
        put(QueueEvent(news, from: source, userData: userData))
    }

    /// Adds a change of an activity indicator. Returns `false` if the queue is closed.
    func tell(_ change: ActivityChange, userData: UInt) -> Bool {
        put(QueueEvent(change, userData: userData))
    }

    /// Removes the waiting events of a reachability monitor.
    package func drop(from source: AnyObject) {
        let dropped = state.withLock { state in
            let dropped = state.ring.remove { $0.source === source }
            if !dropped.isEmpty && state.ring.count == 0 { state.signal?.clear() }
            return dropped
        }
        withExtendedLifetime(dropped) {}
    }

    private struct Outcome {
        var isOpen = false
        var wakes = false
        /// The transport in which a reader sleeps.
        var transport: (any Transport)?
        var dropped: AnyObject?
    }

    /// Adds an event. Returns `false` if the queue is closed. Replaced events are released outside
    /// the lock, since that may run code of a transfer.
    @discardableResult
    package func put(_ event: QueueEvent) -> Bool {
        let result = state.withLock { state -> Outcome in
            guard !state.isClosed else { return Outcome() }
            let wasEmpty = state.ring.count == 0
            let dropped = Self.add(event, to: &state)
            if wasEmpty { state.signal?.signal() }
            return Outcome(
                isOpen: true, wakes: state.waiting > 0, transport: state.driven, dropped: dropped)
        }
        if result.wakes { state.notifyOne() }
        result.transport?.lookAgain()
        return result.isOpen
    }

    /// Adds an event. Returns the object to release outside the lock.
    private static func add(_ event: QueueEvent, to state: inout State) -> AnyObject? {
        let id = event.key
        guard id != 0 else {
            state.ring.append(event)
            return nil
        }
        switch event.event {
        case .progress:
            return coalesce(event, &state.progress, others: &state.previews, &state.ring)
        case .preview:
            return coalesce(event, &state.previews, others: &state.progress, &state.ring)
        case .done:
            state.ring.append(event)
            return event.transfer.flatMap { remove($0, from: &state) }
        default:
            if !state.progress.isEmpty { state.progress[id]?.isLast = false }
            if !state.previews.isEmpty { state.previews[id]?.isLast = false }
            state.ring.append(event)
            return nil
        }
    }

    /// Adds an event that replaces a waiting one of its kind. Returns the replaced event, which may be
    /// large.
    private static func coalesce(
        _ event: QueueEvent, _ known: inout [UInt64: Waiting], others: inout [UInt64: Waiting],
        _ ring: inout EventRing
    ) -> QueueEvent? {
        let id = event.key
        var dropped: QueueEvent?
        if let old = known[id] {
            if old.isLast { return ring.replace(at: old.position, with: event) }
            // Keep the order: the new event comes after the events in between.
            dropped = ring.replace(at: old.position, with: nil)
        }
        known[id] = Waiting(position: ring.append(event))
        if !others.isEmpty { others[id]?.isLast = false }
        return dropped
    }

    private static func remove(_ transfer: Transfer, from state: inout State) -> Transfer? {
        let index = transfer.queueIndex
        guard index < state.transfers.count, state.transfers[index] === transfer else { return nil }
        let last = state.transfers.removeLast()
        if last !== transfer {
            state.transfers[index] = last
            last.queueIndex = index
        }
        return transfer
    }

    // MARK: Logs

    /// The maximum number of waiting log records, to bound the memory if nothing is read.
    package static let mostLogs = 1000

    /// Adds a log record. If too many log records wait, drops and counts the record; a record with
    /// the number of lost records is added before the next one that fits.
    ///
    /// - Returns: `false` if the queue is closed.
    package func put(_ record: LogRecord, userData: UInt) -> Bool {
        enum Room { case closed, none, some(lost: Int64) }
        let room = state.withLock { state -> Room in
            guard !state.isClosed else { return .closed }
            guard state.logs < Self.mostLogs else {
                state.lostLogs += 1
                return .none
            }
            defer { state.lostLogs = 0 }
            state.logs += state.lostLogs > 0 ? 2 : 1
            return .some(lost: state.lostLogs)
        }
        switch room {
        case .closed: return false
        case .none: return true
        case .some(let lost):
            if lost > 0 { put(QueueEvent(.lost(lost, at: record.time), userData: userData)) }
            return put(QueueEvent(record, userData: userData))
        }
    }

    // MARK: Reading

    /// Returns a descriptor that is readable while events wait.
    package func descriptor() throws(WherryError) -> Int32 {
        do {
            return try state.withLock { state throws(SystemError) -> Int32 in
                if state.isClosed { return -1 }
                if let signal = state.signal { return signal.descriptor }
                // A reader that watches the descriptor does not wait here.
                state.isAttended = false
                let signal = try EventFD()
                if state.ring.count > 0 { signal.signal() }
                state.signal = signal
                return signal.descriptor
            }
        } catch {
            throw WherryError(error)
        }
    }

    /// The number of waiting events.
    package var count: Int { state.withLock { $0.ring.count } }

    /// Takes up to `limit` events; waits for the first one.
    ///
    /// - Parameter timeout: The timeout in nanoseconds of real time; 0 does not wait, `nil` waits
    ///   forever.
    /// - Returns: The events; empty on timeout.
    /// - Throws: `state` if the queue is closed, even during the wait.
    package func read(_ limit: Int, timeout: Int64?) throws(WherryError) -> [QueueEvent] {
        var events: [QueueEvent] = []
        try wait(timeout) { state in
            let count = min(limit, state.ring.count)
            events.reserveCapacity(count)
            for _ in 0..<count {
                if let event = Self.take(from: &state) { events.append(event) }
            }
        }
        return events
    }

    /// Takes one event; returns `nil` on timeout.
    package func next(timeout: Int64?) throws(WherryError) -> QueueEvent? {
        var event: QueueEvent?
        try wait(timeout) { event = Self.take(from: &$0) }
        return event
    }

    /// Runs `take` once events are available; never on timeout.
    private func wait(_ timeout: Int64?, _ take: (inout State) -> Void) throws(WherryError) {
        func attempt(_ state: inout State) -> Bool? {
            if state.isClosed { return false }
            guard state.ring.count > 0 else { return nil }
            take(&state)
            if state.ring.count == 0 { state.signal?.clear() }
            return true
        }
        let start = timeout == nil || timeout == 0 ? nil : SystemClock.shared.now()
        var (found, transport) = state.withLock { state -> (Bool?, (any Transport)?) in
            if let found = attempt(&state) { return (found, nil) }
            return (nil, timeout == 0 ? nil : Self.beginDriving(&state))
        }
        if let client = transport {
            let wasTaken = client.drive(
                until: { state.withLock { $0.ring.count > 0 || $0.isClosed } },
                timeout: timeout, returns: true)
            found = state.withLock { state in
                state.driven = nil
                state.isAttended = wasTaken && state.signal == nil
                return attempt(&state)
            }
            transport = wasTaken ? nil : client
        }
        guard found == nil && timeout != 0 else {
            if found == false { throw Self.closedError }
            return
        }
        let left = timeout.map { timeout in
            start.map { max(0, timeout - SystemClock.shared.now().since($0)) } ?? timeout
        }
        state.withLock { state in
            state.waiting += 1
            state.isAttended = false
        }
        defer { state.withLock { $0.waiting -= 1 } }
        func rest() -> Bool? { state.wait(timeout: left, until: attempt) }
        found = transport.map { $0.standBy(rest) } ?? rest()
        if found == false { throw Self.closedError }
    }

    /// Returns the transport that a waiting reader may drive: that of all transfers. Returns `nil`
    /// if another thread reads, or if the descriptor is in use.
    private static func beginDriving(_ state: inout State) -> (any Transport)? {
        guard state.driven == nil, !state.isMixed, state.waiting == 0, state.signal == nil else {
            return nil
        }
        state.driven = state.transfers.first?.client.transport
        return state.driven
    }

    private static func take(from state: inout State) -> QueueEvent? {
        let event = state.ring.popFirst()
        if event?.log != nil { state.logs -= 1 }
        if let event, case .progress = event.event { state.progress[event.key] = nil }
        if let event, case .preview = event.event { state.previews[event.key] = nil }
        return event
    }

    // MARK: Closing

    /// Closes the queue: cancels its transfers, drops waiting events, and wakes the readers.
    package func close() {
        let (transfers, waiting, transport, closers) = state.update { state in
            state.isClosed = true
            let rest = (state.transfers, state.ring, state.driven, state.closers.values)
            state.transfers = []
            state.closers = [:]
            state.ring = EventRing()
            state.logs = 0
            state.progress = [:]
            state.previews = [:]
            state.signal = nil
            return rest
        }
        transport?.lookAgain()
        // Cancel first, so that the default of a dropped hook does not continue its transfer.
        for transfer in transfers { transfer.cancel() }
        for closer in closers { closer() }
        withExtendedLifetime(waiting) {}
    }
}
