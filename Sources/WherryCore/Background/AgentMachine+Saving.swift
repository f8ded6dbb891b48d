// Wherry: records that could not be written, and are tried again.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

extension AgentMachine {
    /// The records that are to be written again, and when.
    struct Unsaved: Sendable {
        /// The first wait after a failure, and the longest: 1 s and 60 s.
        private static let waits = (
            first: Int64.milliseconds(1_000), last: Int64.milliseconds(60_000)
        )
        /// How long an agent that was asked to go tries on: 10 s.
        private static let farewell = Int64.milliseconds(10_000)
        /// So many are written between two looks at who asks.
        static let mostAtOnce = 16

        private(set) var ids: Set<String> = []
        private var at = Instant.never
        private var wait = waits.first
        /// When an agent that was asked to go leaves without them.
        private(set) var end = Instant.never

        /// When to try; `.never` with nothing to write.
        var due: Instant { ids.isEmpty ? .never : at }

        mutating func remove(_ id: String) {
            ids.remove(id)
            guard ids.isEmpty else { return }
            at = .never
            wait = Self.waits.first
        }

        /// To be written as soon as somebody has the time.
        mutating func add(_ id: String, _ now: Instant) {
            if ids.isEmpty { at = now }
            ids.insert(id)
        }

        /// It was tried, and not for the last time.
        mutating func failed(_ id: String, _ now: Instant) {
            let isFirst = ids.isEmpty
            ids.insert(id)
            // One wait for all that are tried together.
            guard isFirst || at <= now else { return }
            at = now.advanced(by: wait)
            wait = min(wait * 2, Self.waits.last)
        }

        mutating func leave(_ now: Instant) {
            end = now.advanced(by: Self.farewell)
            at = now
            wait = Self.waits.first
        }
    }

    /// How many records are not on disk as they are here.
    package var unsavedCount: Int { unsaved.ids.count }

    /// A record is on disk as it is here.
    package mutating func saved(_ id: String, _ time: Time) {
        entries[id]?.before = nil
        unsaved.remove(id)
        noteIdleness(time)
    }

    /// A record could not be written: it is kept, tried again, and the agent stays for that.
    package mutating func saveFailed(_ id: String, _ time: Time) {
        guard entries[id] != nil else { return }
        unsaved.failed(id, time.now)
        noteIdleness(time)
    }

    /// Writes a record when nothing else is to be done.
    mutating func saveSoon(_ id: String, _ time: Time) { unsaved.add(id, time.now) }

    /// What is to be written now.
    func savesDue(_ time: Time) -> [Action] {
        guard unsaved.due <= time.now else { return [] }
        return unsaved.ids.sorted().prefix(Unsaved.mostAtOnce).compactMap { id in
            entries[id].map { .save($0.record) }
        }
    }

    /// There is no such job any more.
    mutating func drop(_ id: String) {
        entries[id] = nil
        unsaved.remove(id)
    }
}
