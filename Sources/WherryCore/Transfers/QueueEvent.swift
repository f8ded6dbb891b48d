// Wherry: one event in a completion queue.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// What happened to a transfer, waiting to be read or in a reader's hands. Letting go of it lets
/// a stream go on and a question take its default.
package final class QueueEvent: @unchecked Sendable {  // `attachment` is guarded by its user
    /// `nil` for what `wake` puts in.
    package let transfer: Transfer?
    package let event: TransferEvent?
    /// News of the network, and who put them in.
    package let news: Reachability.Change?
    package let source: AnyObject?
    /// What happened to a list of pages; it is its own source.
    package var page: PageEvent? { transfer == nil ? (source as? PageNews)?.event : nil }
    /// Whether a client is at work; the same.
    package var activity: ActivityChange? {
        transfer == nil ? (source as? ActivityNews)?.change : nil
    }
    package let userData: UInt
    /// The background job that it is about, where it is about one.
    package let job: String?
    /// Whose progress only the newest counts of; 0 for what belongs to nothing.
    let key: UInt64
    /// A record of a client's log, with its text as C reads it.
    package let log: (record: LogRecord, text: Bytes)?
    /// What the reader wants to keep as long as the event; the reader guards it.
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

    /// An event of a background job.
    ///
    /// - Parameter key: of this job and this reader; not that of a transfer.
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

    /// News of a monitor.
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

    /// An indicator of activity is to be shown or hidden.
    init(_ activity: ActivityChange, userData: UInt) {
        transfer = nil
        event = nil
        news = nil
        source = ActivityNews(activity)
        log = nil
        self.userData = userData
        job = nil
        key = 0
    }

    /// An event of a list of pages.
    package init(_ page: PageEvent, userData: UInt) {
        transfer = nil
        event = nil
        news = nil
        source = PageNews(page)
        log = nil
        self.userData = userData
        job = nil
        key = 0
    }

    /// An event of no transfer.
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

    /// An event of a log.
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

/// Few events are of a client's activity, and fewer of lists of pages: those of transfers have no
/// room for them.
private final class ActivityNews: Sendable {
    let change: ActivityChange

    init(_ change: ActivityChange) { self.change = change }
}

/// The same of lists of pages.
private final class PageNews: Sendable {
    let event: PageEvent

    init(_ event: PageEvent) { self.event = event }
}

/// Events in order, in memory that is used again and again. Each has a position that stays its
/// own while it waits.
struct EventRing {
    private var slots: [QueueEvent?] = Array(repeating: nil, count: 16)
    private var first: UInt64 = 0
    private var end: UInt64 = 0
    /// How many wait; emptied places do not count.
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

    /// Puts another event in a waiting one's place, or none. Returns the one that was there.
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

    /// Takes out all that fit, and returns them.
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
