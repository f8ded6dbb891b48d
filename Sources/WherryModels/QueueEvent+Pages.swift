// Wherry: events of lists of pages in completion queues.
// SPDX-License-Identifier: Apache-2.0

import WherryCore

extension QueueEvent {
    /// An event of a list of pages; `nil` for other events.
    package var page: PageEvent? { transfer == nil ? (source as? PageNews)?.event : nil }
}

extension EventQueue {
    /// Adds an event of a list of pages. No effect if the queue is closed.
    package func tell(_ page: PageEvent, userData: UInt) {
        put(QueueEvent(value: PageNews(page), userData: userData))
    }
}

/// Holds an event, to keep the events of transfers small.
private final class PageNews: Sendable {
    let event: PageEvent

    init(_ event: PageEvent) { self.event = event }
}
