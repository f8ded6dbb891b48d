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
        var standing = Standing.waiting
    }

    /// Falling by priority.
    private var entries: [Entry] = []
    package private(set) var activeCount = 0
    /// How many may be active; 0 is no limit.
    package var limit: Int
    /// Nobody gets a turn while this is more than 0.
    package var holds = 0

    package init(limit: Int) { self.limit = limit }

    /// Whether one more would have to wait.
    package var isFull: Bool { holds > 0 || limit > 0 && activeCount >= limit }

    package func standing(of id: UInt64) -> Standing? { index(of: id).map { entries[$0].standing } }

    package func priority(of id: UInt64) -> Int? { index(of: id).map { entries[$0].priority } }

    /// How many that are not active stand before it; `nil` for an active one.
    package func place(of id: UInt64) -> Int? {
        guard let index = index(of: id), entries[index].standing != .active else { return nil }
        return entries[..<index].count { $0.standing != .active }
    }

    /// Enters one at the end of its priority.
    package mutating func enter(_ id: UInt64, priority: Int) {
        insert(Entry(id: id, priority: priority))
    }

    /// Takes one out, whatever its standing.
    package mutating func leave(_ id: UInt64) {
        guard let index = index(of: id) else { return }
        if entries.remove(at: index).standing == .active { activeCount -= 1 }
    }

    package mutating func pause(_ id: UInt64) {
        guard let index = index(of: id) else { return }
        if entries[index].standing == .active { activeCount -= 1 }
        entries[index].standing = .paused
    }

    package mutating func resume(_ id: UInt64) {
        guard let index = index(of: id), entries[index].standing == .paused else { return }
        entries[index].standing = .waiting
    }

    /// The next one whose turn it is, which is active now; `nil` while none may be.
    package mutating func next() -> UInt64? {
        guard !isFull, let index = entries.firstIndex(where: { $0.standing == .waiting }) else {
            return nil
        }
        entries[index].standing = .active
        activeCount += 1
        return entries[index].id
    }

    /// Another priority: it goes to the end of those that have it. The same one moves nothing.
    package mutating func setPriority(of id: UInt64, to priority: Int) {
        guard let index = index(of: id), entries[index].priority != priority else { return }
        var entry = entries.remove(at: index)
        entry.priority = priority
        insert(entry)
    }

    /// Moves one that has no turn to a place among such: 0 is the first. Its priority becomes one
    /// that this place may have, where its own may not.
    package mutating func move(_ id: UInt64, to place: Int) {
        guard let old = index(of: id), entries[old].standing != .active else { return }
        var entry = entries.remove(at: old)
        let others = entries.indices.filter { entries[$0].standing != .active }
        let place = min(max(0, place), others.count)
        if place > 0 { entry.priority = min(entry.priority, entries[others[place - 1]].priority) }
        guard place < others.count else { return insert(entry) }
        entry.priority = max(entry.priority, entries[others[place]].priority)
        var index = others[place]
        // Active ones in between stand where their priority says.
        while index > 0, entries[index - 1].priority < entry.priority { index -= 1 }
        entries.insert(entry, at: index)
    }

    private mutating func insert(_ entry: Entry) {
        var index = entries.count
        while index > 0, entries[index - 1].priority < entry.priority { index -= 1 }
        entries.insert(entry, at: index)
    }

    private func index(of id: UInt64) -> Int? { entries.firstIndex { $0.id == id } }
}
