// Wherry: one event in a completion queue.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// What happened to a transfer, waiting to be read or in a reader's hands. Letting go of it lets
/// a stream go on and a question take its default.
package final class QueueEvent: @unchecked Sendable {  // `attachment` is guarded by its user
    /// `nil` for what `wake` puts in.
    package let transfer: Transfer?
    package let event: TransferEvent?
    package let userData: UInt
    /// What the reader wants to keep as long as the event; the reader guards it.
    package var attachment: AnyObject?

    package init(_ event: TransferEvent, of transfer: Transfer) {
        self.transfer = transfer
        self.event = event
        userData = transfer.userData
    }

    /// An event of no transfer.
    package init(userData: UInt) {
        transfer = nil
        event = nil
        self.userData = userData
    }
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

    private mutating func grow() {
        var larger = [QueueEvent?](repeating: nil, count: slots.count * 2)
        for position in first..<end {
            larger[Int(truncatingIfNeeded: position) & (larger.count - 1)] = slots[index(position)]
        }
        slots = larger
    }
}
