// Wherry: the order in which the downloads of a client get their turn
// SPDX-License-Identifier: Apache-2.0

/// Which downloads may run, and which of the others is next (D25). No thread, no clock.
///
/// One stands here from its start to its end, in one order by priority; within a priority in the
/// order of entering, unless it was moved. One that is paused keeps its place and gives its turn up.
package struct DownloadLine: Sendable {
    package enum Standing: Hashable, Sendable {
        /// For its turn. Exits: active, paused.
        case waiting
        /// It has its turn. Exit: paused.
        case active
        /// It wants no turn. Exit: waiting.
        case paused
    }

    /// Falling by priority.
    private var entries = TurnTree()
    package private(set) var activeCount = 0
    /// How many may be active; 0 is no limit.
    package var limit: Int
    /// No download gets a turn while this is more than 0.
    package var holds = 0

    package init(limit: Int) { self.limit = limit }

    /// Whether one more would have to wait.
    package var isFull: Bool { holds > 0 || limit > 0 && activeCount >= limit }

    /// How many entries the operations so far have touched; for tests.
    var visits: Int { entries.visits }

    package func standing(of id: UInt64) -> Standing? { entries.standing(of: id) }

    package func priority(of id: UInt64) -> Int? { entries.priority(of: id) }

    /// How many that are not active stand before it; `nil` for an active one.
    package mutating func place(of id: UInt64) -> Int? {
        guard standing(of: id) != .active else { return nil }
        return entries.rank(of: id)?.idle
    }

    /// Enters one at the end of its priority.
    package mutating func enter(_ id: UInt64, priority: Int) {
        insert(id, priority: priority, as: .waiting)
    }

    /// Takes one out, whatever its standing.
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

    /// The next one whose turn it is, which is active now; `nil` while none may be.
    package mutating func next() -> UInt64? {
        guard !isFull, let id = entries.firstWaiting() else { return nil }
        entries.setStanding(of: id, to: .active)
        activeCount += 1
        return id
    }

    /// Another priority: it goes to the end of those that have it. The same one moves nothing.
    package mutating func setPriority(of id: UInt64, to priority: Int) {
        guard let old = self.priority(of: id), old != priority,
            let standing = entries.remove(id)
        else { return }
        insert(id, priority: priority, as: standing)
    }

    /// Moves one that has no turn to a place among such: 0 is the first. Its priority becomes one
    /// that this place may have, where its own may not.
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
        // Active ones in between stand where their priority says.
        let position = min(rank.all, entries.count(withPriority: priority))
        entries.insert(id, priority: priority, as: standing, at: position)
    }

    private mutating func insert(_ id: UInt64, priority: Int, as standing: Standing) {
        entries.insert(
            id, priority: priority, as: standing, at: entries.count(withPriority: priority))
    }
}
