// Wherry: the in-memory layer of a cache.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// A least-recently-used cache with a size limit in bytes (K14).
package final class MemoryLayer<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct Node {
        var key: Key
        var value: Value?
        var cost: Int
        /// The next more recently used entry; -1 at the end.
        var newer: Int
        /// The next less recently used entry; -1 at the end.
        var older: Int
    }

    private struct State {
        var nodes: [Node] = []
        var places: [Key: Int] = [:]
        var free: [Int] = []
        var newest = -1
        var oldest = -1
        var cost = 0
        var limit: Int
    }

    private let state: Lock<State>

    /// - Parameter limit: The maximum size in bytes; 0 keeps nothing.
    package init(limit: Int) { state = Lock(State(limit: max(0, limit))) }

    /// Sets the maximum size and removes the excess.
    package func setLimit(_ limit: Int) {
        state.withLock { state in
            state.limit = max(0, limit)
            Self.shrink(&state)
        }
    }

    /// The current size in bytes.
    package var cost: Int { state.withLock { $0.cost } }
    package var count: Int { state.withLock { $0.places.count } }

    /// Returns a value and marks it as most recently used.
    package func value(_ key: Key) -> Value? {
        state.withLock { state in
            guard let place = state.places[key] else { return nil }
            if state.newest != place {
                Self.unlink(place, &state)
                Self.link(place, &state)
            }
            return state.nodes[place].value
        }
    }

    /// Inserts or replaces a value, and removes others until all fit. A value larger than a quarter
    /// of the limit is not kept.
    package func insert(_ value: Value, for key: Key, cost: Int) {
        state.withLock { state in
            Self.remove(key, &state)
            guard cost <= state.limit / 4 else { return }
            let node = Node(key: key, value: value, cost: cost, newer: -1, older: -1)
            let place: Int
            if let free = state.free.popLast() {
                place = free
                state.nodes[place] = node
            } else {
                place = state.nodes.count
                state.nodes.append(node)
            }
            state.places[key] = place
            state.cost += cost
            Self.link(place, &state)
            Self.shrink(&state)
        }
    }

    private static func shrink(_ state: inout State) {
        while state.cost > state.limit, state.oldest >= 0 {
            remove(state.nodes[state.oldest].key, &state)
        }
    }

    package func remove(_ key: Key) { state.withLock { Self.remove(key, &$0) } }
    package func removeAll() { state.withLock { $0 = State(limit: $0.limit) } }

    private static func remove(_ key: Key, _ state: inout State) {
        guard let place = state.places.removeValue(forKey: key) else { return }
        unlink(place, &state)
        state.cost -= state.nodes[place].cost
        state.nodes[place].value = nil
        state.free.append(place)
    }

    private static func link(_ place: Int, _ state: inout State) {
        state.nodes[place].newer = -1
        state.nodes[place].older = state.newest
        if state.newest >= 0 { state.nodes[state.newest].newer = place }
        state.newest = place
        if state.oldest < 0 { state.oldest = place }
    }

    private static func unlink(_ place: Int, _ state: inout State) {
        let (newer, older) = (state.nodes[place].newer, state.nodes[place].older)
        if newer >= 0 { state.nodes[newer].older = older } else { state.newest = older }
        if older >= 0 { state.nodes[older].newer = newer } else { state.oldest = newer }
    }
}
