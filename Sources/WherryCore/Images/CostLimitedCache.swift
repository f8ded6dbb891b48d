// Wherry: values up to a total cost.
// SPDX-License-Identifier: Apache-2.0

/// Values with costs. If their sum exceeds the limit, the least recently used ones are removed. A
/// value type.
///
/// Removed values are returned, so that the caller can release them without its lock.
package struct CostLimitedCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// An entry in the list by use. A free entry has no content.
    private struct Node: Sendable {
        var content: (key: Key, value: Value, cost: Int)?
        /// The next entry that was used later; `none` for the newest one.
        var newer = none
        /// The next entry that was used earlier; `none` for the oldest one.
        var older = none
    }
    private static var none: Int { -1 }

    private var nodes: [Node] = []
    private var free: [Int] = []
    private var places: [Key: Int] = [:]
    private var newest = Self.none
    private var oldest = Self.none
    /// The maximum of ``cost``; at least 0.
    package private(set) var limit: Int
    /// The sum of the costs of all values.
    package private(set) var cost = 0

    package init(limit: Int) { self.limit = max(0, limit) }

    /// The number of values.
    package var count: Int { places.count }

    /// Returns a value, which becomes the most recently used one. `nil` if there is none.
    package mutating func use(_ key: Key) -> Value? {
        guard let place = places[key] else { return nil }
        if place != newest {
            unlink(place)
            link(place)
        }
        return nodes[place].content?.value
    }

    /// Adds or replaces a value, which becomes the most recently used one. A value whose cost
    /// exceeds the limit is not kept, and removes the previous value of its key.
    ///
    /// - Returns: The values that are no longer kept.
    package mutating func insert(_ value: Value, for key: Key, cost: Int) -> [Value] {
        var removed = remove(key).map { [$0] } ?? []
        let cost = max(0, cost)
        guard cost <= limit else { return removed }
        let place = free.popLast() ?? nodes.count
        if place == nodes.count { nodes.append(Node()) }
        nodes[place].content = (key, value, cost)
        places[key] = place
        link(place)
        self.cost += cost
        removed += trim()
        return removed
    }

    /// Removes the value of a key and returns it.
    package mutating func remove(_ key: Key) -> Value? {
        places[key].flatMap { take($0) }
    }

    /// Changes the limit, and returns the values that exceed it.
    package mutating func setLimit(_ limit: Int) -> [Value] {
        self.limit = max(0, limit)
        return trim()
    }

    /// Removes all values and returns them.
    package mutating func removeAll() -> [Value] {
        let removed = nodes.compactMap { $0.content?.value }
        self = Self(limit: limit)
        return removed
    }

    private mutating func trim() -> [Value] {
        var removed: [Value] = []
        while cost > limit, let value = take(oldest) { removed.append(value) }
        return removed
    }

    private mutating func take(_ place: Int) -> Value? {
        guard place != Self.none, let content = nodes[place].content else { return nil }
        unlink(place)
        nodes[place].content = nil
        free.append(place)
        places[content.key] = nil
        cost -= content.cost
        return content.value
    }

    private mutating func link(_ place: Int) {
        nodes[place].older = newest
        nodes[place].newer = Self.none
        if newest == Self.none { oldest = place } else { nodes[newest].newer = place }
        newest = place
    }

    private mutating func unlink(_ place: Int) {
        let (newer, older) = (nodes[place].newer, nodes[place].older)
        if newer == Self.none { newest = older } else { nodes[newer].older = older }
        if older == Self.none { oldest = newer } else { nodes[older].newer = newer }
    }
}
