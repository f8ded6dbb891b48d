// Wherry: queue of a client's downloads.
// SPDX-License-Identifier: Apache-2.0

/// Decides which downloads may run and which one is next (D25). Uses no thread and no clock.
///
/// A download is in the queue from its start to its end. The queue is sorted by priority, and by
/// arrival within a priority, unless a download was moved. A paused download keeps its place but
/// not its turn.
package struct DownloadLine: Sendable {
    package enum Standing: Hashable, Sendable {
        /// Waits for its turn. Exits: active, paused.
        case waiting
        /// Has its turn. Exit: paused.
        case active
        /// Does not want a turn. Exit: waiting.
        case paused
    }

    /// In descending order of priority.
    private var entries = TurnTree()
    package private(set) var activeCount = 0
    /// The maximum number of active downloads; 0 for no limit.
    package var limit: Int
    /// The number of holds. While it is above 0, no download gets a turn.
    package var holds = 0

    package init(limit: Int) { self.limit = limit }

    /// Whether another download would have to wait.
    package var isFull: Bool { holds > 0 || limit > 0 && activeCount >= limit }

    /// How many entries the operations so far have visited; for tests.
    var visits: Int { entries.visits }

    package func standing(of id: UInt64) -> Standing? { entries.standing(of: id) }

    package func priority(of id: UInt64) -> Int? { entries.priority(of: id) }

    /// Returns the number of inactive downloads before this one; `nil` if it is active.
    package mutating func place(of id: UInt64) -> Int? {
        guard standing(of: id) != .active else { return nil }
        return entries.rank(of: id)?.idle
    }

    /// Adds a download at the end of its priority.
    package mutating func enter(_ id: UInt64, priority: Int) {
        insert(id, priority: priority, as: .waiting)
    }

    /// Removes a download, whatever its standing.
    package mutating func leave(_ id: UInt64) {
        if entries.remove(id) == .active { activeCount -= 1 }
    }

    package mutating func pause(_ id: UInt64) {
        guard let standing = standing(of: id) else { return }
        if standing == .active { activeCount -= 1 }
        entries.setStanding(of: id, to: .paused)
    }

    package mutating func resume(_ id: UInt64) {
        guard standing(of: id) == .paused else { return }
        entries.setStanding(of: id, to: .waiting)
    }

    /// Activates the next waiting download and returns it; `nil` if none may become active.
    package mutating func next() -> UInt64? {
        guard !isFull, let id = entries.firstWaiting() else { return nil }
        entries.setStanding(of: id, to: .active)
        activeCount += 1
        return id
    }

    /// Changes the priority and moves the download to the end of that priority. Does nothing if the
    /// priority is the same.
    package mutating func setPriority(of id: UInt64, to priority: Int) {
        guard let old = self.priority(of: id), old != priority,
            let standing = entries.remove(id)
        else { return }
        insert(id, priority: priority, as: standing)
    }

    /// Moves an inactive download to a place among the inactive ones: 0 is the first. Changes its
    /// priority if the place requires another one.
    package mutating func move(_ id: UInt64, to place: Int) {
        guard standing(of: id) != .active, var priority = priority(of: id),
            let standing = entries.remove(id)
        else { return }
        let place = min(max(0, place), entries.idleCount)
        if let before = entries.idle(at: place - 1).flatMap(entries.priority(of:)) {
            priority = min(priority, before)
        }
        guard let follower = entries.idle(at: place),
            let after = entries.priority(of: follower), let rank = entries.rank(of: follower)
        else { return insert(id, priority: priority, as: standing) }
        priority = max(priority, after)
        // Active downloads in between stay where their priority puts them.
        let position = min(rank.all, entries.count(withPriority: priority))
        entries.insert(id, priority: priority, as: standing, at: position)
    }

    private mutating func insert(_ id: UInt64, priority: Int, as standing: Standing) {
        entries.insert(
            id, priority: priority, as: standing, at: entries.count(withPriority: priority))
    }
}
