// Wherry: the order in which the downloads of a client get their turn
// SPDX-License-Identifier: Apache-2.0

/// Which downloads may run, and which of the others is next (D25). No thread, no clock.
///
/// One stands here from its start to its end, in one order by priority; within a priority in the
/// order of entering, unless it was moved. One that is paused keeps its place and gives its turn up.
package struct DownloadLine: Hashable, Sendable {
    package enum Standing: Hashable, Sendable {
        /// For its turn. Exits: active, paused.
        case waiting
        /// It has its turn. Exit: paused.
        case active
        /// It wants no turn. Exit: waiting.
        case paused
    }

    private struct Entry: Hashable, Sendable {
        let id: UInt64
        var priority: Int
    }

    /// Falling by priority.
    private var entries: [Entry] = []
    private var standings: [UInt64: Standing] = [:]
    /// No entry before this index is waiting: thousands may stand before the next one.
    private var firstWaiting = 0
    package private(set) var activeCount = 0
    /// How many may be active; 0 is no limit.
    package var limit: Int
    /// Nobody gets a turn while this is more than 0.
    package var holds = 0

    package init(limit: Int) { self.limit = limit }

    /// Whether one more would have to wait.
    package var isFull: Bool { holds > 0 || limit > 0 && activeCount >= limit }

    package func standing(of id: UInt64) -> Standing? { standings[id] }

    package func priority(of id: UInt64) -> Int? { index(of: id).map { entries[$0].priority } }

    /// How many that are not active stand before it; `nil` for an active one.
    package func place(of id: UInt64) -> Int? {
        guard standings[id] != .active, let index = index(of: id) else { return nil }
        return entries[..<index].count { standings[$0.id] != .active }
    }

    /// Enters one at the end of its priority.
    package mutating func enter(_ id: UInt64, priority: Int) {
        insert(Entry(id: id, priority: priority), as: .waiting)
    }

    /// Takes one out, whatever its standing.
    package mutating func leave(_ id: UInt64) {
        guard let index = index(of: id) else { return }
        if remove(at: index) == .active { activeCount -= 1 }
    }

    package mutating func pause(_ id: UInt64) {
        guard let standing = standings[id] else { return }
        if standing == .active { activeCount -= 1 }
        standings[id] = .paused
    }

    package mutating func resume(_ id: UInt64) {
        guard standings[id] == .paused, let index = index(of: id) else { return }
        standings[id] = .waiting
        firstWaiting = min(firstWaiting, index)
    }

    /// The next one whose turn it is, which is active now; `nil` while none may be.
    package mutating func next() -> UInt64? {
        guard !isFull else { return nil }
        while firstWaiting < entries.count {
            let id = entries[firstWaiting].id
            firstWaiting += 1
            guard standings[id] == .waiting else { continue }
            standings[id] = .active
            activeCount += 1
            return id
        }
        return nil
    }

    /// Another priority: it goes to the end of those that have it. The same one moves nothing.
    package mutating func setPriority(of id: UInt64, to priority: Int) {
        guard let index = index(of: id), entries[index].priority != priority else { return }
        var entry = entries[index]
        guard let standing = remove(at: index) else { return }
        entry.priority = priority
        insert(entry, as: standing)
    }

    /// Moves one that has no turn to a place among such: 0 is the first. Its priority becomes one
    /// that this place may have, where its own may not.
    package mutating func move(_ id: UInt64, to place: Int) {
        guard standings[id] != .active, let old = index(of: id) else { return }
        var entry = entries[old]
        guard let standing = remove(at: old) else { return }
        let others = entries.indices.filter { standings[entries[$0].id] != .active }
        let place = min(max(0, place), others.count)
        if place > 0 { entry.priority = min(entry.priority, entries[others[place - 1]].priority) }
        guard place < others.count else { return insert(entry, as: standing) }
        entry.priority = max(entry.priority, entries[others[place]].priority)
        var index = others[place]
        // Active ones in between stand where their priority says.
        while index > 0, entries[index - 1].priority < entry.priority { index -= 1 }
        insert(entry, as: standing, at: index)
    }

    private mutating func insert(_ entry: Entry, as standing: Standing) {
        var index = entries.count
        while index > 0, entries[index - 1].priority < entry.priority { index -= 1 }
        insert(entry, as: standing, at: index)
    }

    private mutating func insert(_ entry: Entry, as standing: Standing, at index: Int) {
        entries.insert(entry, at: index)
        standings[entry.id] = standing
        firstWaiting = min(firstWaiting, index)
    }

    private mutating func remove(at index: Int) -> Standing? {
        if index < firstWaiting { firstWaiting -= 1 }
        return standings.removeValue(forKey: entries.remove(at: index).id)
    }

    private func index(of id: UInt64) -> Int? { entries.firstIndex { $0.id == id } }
}
