// Wherry: an event in a completion queue.
// SPDX-License-Identifier: Apache-2.0

import WherryLogging
import WherryReachability
import WherrySystem

/// An event of a transfer, in the queue or held by a reader. Releasing the event lets a stream
/// continue and applies the default of an unresolved hook.
package final class QueueEvent: @unchecked Sendable {  // `attachment` is guarded by its user
    /// The transfer; `nil` for other events.
    package let transfer: Transfer?
    package let event: TransferEvent?
    /// A change of reachability.
    package let news: Reachability.Change?
    /// The object that reported the change, or the value of another kind of event.
    package let source: AnyObject?
    /// A change of a client's activity indicator; stored in `source`.
    package var activity: ActivityChange? {
        transfer == nil ? (source as? ActivityNews)?.change : nil
    }
    package let userData: UInt
    /// The background job of the event; `nil` for other events.
    package let job: String?
    /// The key of an object whose older progress events are replaced by newer ones; 0 for other
    /// events.
    let key: UInt64
    /// A log record, with its text in the form for C.
    package let log: (record: LogRecord, text: Bytes)?
    /// An object that the reader keeps as long as the event. Guarded by the reader.
    package var attachment: AnyObject?

    package init(_ event: TransferEvent, of transfer: Transfer) {
        self.transfer = transfer
        self.event = event
        news = nil
        source = nil
        log = nil
        userData = transfer.userData
        job = nil
        key = transfer.id
    }

    /// Creates an event of a background job.
    ///
    /// - Parameter key: A key for this job and this reader, distinct from those of transfers.
    init(_ event: TransferEvent, job: String, key: UInt64, userData: UInt) {
        transfer = nil
        self.event = event
        news = nil
        source = nil
        log = nil
        self.userData = userData
        self.job = job
        self.key = key
    }

    /// Creates an event for a change of reachability.
    package init(_ news: Reachability.Change, from source: AnyObject, userData: UInt) {
        transfer = nil
        event = nil
        self.news = news
        self.source = source
        log = nil
        self.userData = userData
        job = nil
        key = 0
    }

    /// Creates an event for a change of an activity indicator.
    convenience init(_ activity: ActivityChange, userData: UInt) {
        self.init(value: ActivityNews(activity), userData: userData)
    }

    /// Creates an event of a rare kind, whose value is the ``source``.
    package init(value: AnyObject, userData: UInt) {
        transfer = nil
        event = nil
        news = nil
        source = value
        log = nil
        self.userData = userData
        job = nil
        key = 0
    }

    /// Creates an event without a transfer, to wake a reader.
    package init(userData: UInt) {
        transfer = nil
        event = nil
        news = nil
        source = nil
        log = nil
        self.userData = userData
        job = nil
        key = 0
    }

    /// Creates an event for a log record.
    package init(_ record: LogRecord, userData: UInt) {
        transfer = nil
        event = nil
        news = nil
        source = nil
        log = (record, Bytes(record.text))
        self.userData = userData
        job = nil
        key = 0
    }
}

/// Holds the value of a rare kind of event, to keep the events of transfers small.
private final class ActivityNews: Sendable {
    let change: ActivityChange

    init(_ change: ActivityChange) { self.change = change }
}

/// A queue of events that reuses its memory. An event keeps its position while it waits.
struct EventRing {
    private var slots: [QueueEvent?] = Array(repeating: nil, count: 16)
    private var first: UInt64 = 0
    private var end: UInt64 = 0
    /// The number of waiting events, without empty slots.
    private(set) var count = 0

    private func index(_ position: UInt64) -> Int {
        Int(truncatingIfNeeded: position) & (slots.count - 1)
    }

    /// Adds an event and returns its position.
    @discardableResult
    mutating func append(_ event: QueueEvent) -> UInt64 {
        if end - first == slots.count { grow() }
        let position = end
        slots[index(position)] = event
        end += 1
        count += 1
        return position
    }

    /// Replaces or removes the event at a position. Returns the previous event.
    mutating func replace(at position: UInt64, with event: QueueEvent?) -> QueueEvent? {
        guard position >= first, position < end else { return nil }
        let index = index(position)
        let old = slots[index]
        slots[index] = event
        if old != nil && event == nil { count -= 1 }
        return old
    }

    mutating func popFirst() -> QueueEvent? {
        while first < end {
            let index = index(first)
            let event = slots[index]
            slots[index] = nil
            first += 1
            if let event {
                count -= 1
                return event
            }
        }
        return nil
    }

    /// Removes the events that match, and returns them.
    mutating func remove(where fits: (QueueEvent) -> Bool) -> [QueueEvent] {
        var removed: [QueueEvent] = []
        for position in first..<end {
            let index = index(position)
            guard let event = slots[index], fits(event) else { continue }
            slots[index] = nil
            count -= 1
            removed.append(event)
        }
        return removed
    }

    private mutating func grow() {
        var larger = [QueueEvent?](repeating: nil, count: slots.count * 2)
        for position in first..<end {
            larger[Int(truncatingIfNeeded: position) & (larger.count - 1)] = slots[index(position)]
        }
        slots = larger
    }
}
