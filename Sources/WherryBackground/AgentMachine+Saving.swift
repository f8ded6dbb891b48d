// Wherry: retries of records that could not be saved.
// SPDX-License-Identifier: Apache-2.0

import WherryCore
import WherrySystem

extension AgentMachine {
    /// The records to save again, and the time of the next attempt.
    struct Unsaved: Sendable {
        /// The first and the longest wait between attempts: 1 s and 60 s.
        private static let waits = (
            first: Int64.milliseconds(1_000), last: Int64.milliseconds(60_000)
        )
        /// How long an exiting agent keeps trying to save records: 10 s.
        private static let farewell = Int64.milliseconds(10_000)
        /// The maximum number of records to save before the agent serves clients again.
        static let mostAtOnce = 16

        private(set) var ids: Set<String> = []
        private var at = Instant.never
        private var wait = waits.first
        /// The time at which an exiting agent gives up on the records.
        private(set) var end = Instant.never

        /// The time of the next attempt. `.never` if no record is waiting.
        var due: Instant { ids.isEmpty ? .never : at }

        mutating func remove(_ id: String) {
            ids.remove(id)
            guard ids.isEmpty else { return }
            at = .never
            wait = Self.waits.first
        }

        /// Schedules a save at the next opportunity.
        mutating func add(_ id: String, _ now: Instant) {
            if ids.isEmpty { at = now }
            ids.insert(id)
        }

        /// Schedules a retry after a failed save.
        mutating func failed(_ id: String, _ now: Instant) {
            let isFirst = ids.isEmpty
            ids.insert(id)
            // Records that are retried together share one wait.
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

    /// The number of records that differ from the version on disk.
    package var unsavedCount: Int { unsaved.ids.count }

    /// Notes that a record was saved.
    package mutating func saved(_ id: String, _ time: Time) {
        entries[id]?.before = nil
        unsaved.remove(id)
        noteIdleness(time)
    }

    /// Notes that a record could not be saved. The agent keeps it and retries before it exits.
    package mutating func saveFailed(_ id: String, _ time: Time) {
        guard entries[id] != nil else { return }
        unsaved.failed(id, time.now)
        noteIdleness(time)
    }

    /// Schedules a save for the next idle moment.
    mutating func saveSoon(_ id: String, _ time: Time) { unsaved.add(id, time.now) }

    /// Returns the saves that are due.
    func savesDue(_ time: Time) -> [Action] {
        guard unsaved.due <= time.now else { return [] }
        return unsaved.ids.sorted().prefix(Unsaved.mostAtOnce).compactMap { id in
            entries[id].map { .save($0.record) }
        }
    }

    /// Removes a job from memory.
    mutating func drop(_ id: String) {
        entries[id] = nil
        unsaved.remove(id)
    }
}
