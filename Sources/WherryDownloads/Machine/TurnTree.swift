// Wherry: ordered queue of downloads with operations in logarithmic time.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP

/// The entries of a ``DownloadLine`` in order, as a balanced tree (a treap).
///
/// Each node counts the entries of its subtree that have no turn, and those that wait for one. The
/// next waiting entry, the place of an entry, and the entry at a place are therefore found without
/// visiting the others. Thousands of downloads may be paused, resumed, or ended in any order.
struct TurnTree: Sendable {
    private struct Node: Sendable {
        var id: UInt64
        var priority: Int
        var standing: DownloadLine.Standing
        /// A random weight, never less than those of the children, which balances the tree.
        var weight: UInt64
        var left = -1
        var right = -1
        var parent = -1
        /// The counts of the subtree.
        var count = 1
        var idle = 0
        var waiting = 0
    }

    private var nodes: [Node] = []
    private var unused: [Int] = []
    private var indices: [UInt64: Int] = [:]
    private var root = -1
    private var random = SplitMix(state: 1)
    /// How many nodes the operations so far have visited; for tests.
    private(set) var visits = 0

    var count: Int { root < 0 ? 0 : nodes[root].count }
    /// The number of entries without a turn.
    var idleCount: Int { root < 0 ? 0 : nodes[root].idle }

    func standing(of id: UInt64) -> DownloadLine.Standing? {
        indices[id].map { nodes[$0].standing }
    }

    func priority(of id: UInt64) -> Int? { indices[id].map { nodes[$0].priority } }

    // MARK: Lookup

    /// Returns the number of entries before an entry: all of them, and those without a turn.
    mutating func rank(of id: UInt64) -> (all: Int, idle: Int)? {
        guard var index = indices[id] else { return nil }
        var rank = (all: 0, idle: 0)
        if nodes[index].left >= 0 {
            rank = (nodes[nodes[index].left].count, nodes[nodes[index].left].idle)
        }
        while nodes[index].parent >= 0 {
            visits += 1
            let parent = nodes[index].parent
            if nodes[parent].right == index {
                rank.all += nodes[parent].count - nodes[index].count
                rank.idle += nodes[parent].idle - nodes[index].idle
            }
            index = parent
        }
        return rank
    }

    /// Returns the first entry that waits for its turn.
    mutating func firstWaiting() -> UInt64? {
        var index = root
        guard index >= 0, nodes[index].waiting > 0 else { return nil }
        while true {
            visits += 1
            let left = nodes[index].left
            if left >= 0, nodes[left].waiting > 0 {
                index = left
            } else if nodes[index].standing == .waiting {
                return nodes[index].id
            } else {
                // The count of waiting entries guarantees that there is one on the right.
                index = nodes[index].right
            }
        }
    }

    /// Returns the entry at a place among those without a turn.
    mutating func idle(at place: Int) -> UInt64? {
        var index = root
        var place = place
        guard index >= 0, place >= 0, place < nodes[index].idle else { return nil }
        while true {
            visits += 1
            let before = nodes[index].left < 0 ? 0 : nodes[nodes[index].left].idle
            let own = nodes[index].standing == .active ? 0 : 1
            if place < before {
                index = nodes[index].left
            } else if place < before + own {
                return nodes[index].id
            } else {
                place -= before + own
                index = nodes[index].right
            }
        }
    }

    /// Returns the number of entries with at least this priority. They precede all others.
    mutating func count(withPriority priority: Int) -> Int {
        var index = root
        var count = 0
        while index >= 0 {
            visits += 1
            guard nodes[index].priority >= priority else {
                index = nodes[index].left
                continue
            }
            count += 1 + (nodes[index].left < 0 ? 0 : nodes[nodes[index].left].count)
            index = nodes[index].right
        }
        return count
    }

    // MARK: Changes

    mutating func setStanding(of id: UInt64, to standing: DownloadLine.Standing) {
        guard var index = indices[id] else { return }
        nodes[index].standing = standing
        while index >= 0 {
            update(index)
            index = nodes[index].parent
        }
    }

    mutating func insert(
        _ id: UInt64, priority: Int, as standing: DownloadLine.Standing, at position: Int
    ) {
        let node = Node(
            id: id, priority: priority, standing: standing, weight: random.next())
        let index: Int
        if let old = unused.popLast() {
            index = old
            nodes[old] = node
        } else {
            index = nodes.count
            nodes.append(node)
        }
        update(index)
        indices[id] = index
        let (left, right) = split(root, at: position)
        root = merge(merge(left, index), right)
        nodes[root].parent = -1
    }

    /// Removes an entry.
    ///
    /// - Returns: The standing of the entry.
    @discardableResult
    mutating func remove(_ id: UInt64) -> DownloadLine.Standing? {
        guard let index = indices.removeValue(forKey: id) else { return nil }
        let merged = merge(nodes[index].left, nodes[index].right)
        var parent = nodes[index].parent
        if merged >= 0 { nodes[merged].parent = parent }
        if parent < 0 {
            root = merged
        } else if nodes[parent].left == index {
            nodes[parent].left = merged
        } else {
            nodes[parent].right = merged
        }
        while parent >= 0 {
            update(parent)
            parent = nodes[parent].parent
        }
        unused.append(index)
        return nodes[index].standing
    }

    /// Updates the counts of a node from its children.
    private mutating func update(_ index: Int) {
        visits += 1
        let standing = nodes[index].standing
        var counts = (
            all: 1, idle: standing == .active ? 0 : 1, waiting: standing == .waiting ? 1 : 0
        )
        for child in [nodes[index].left, nodes[index].right] where child >= 0 {
            counts.all += nodes[child].count
            counts.idle += nodes[child].idle
            counts.waiting += nodes[child].waiting
        }
        nodes[index].count = counts.all
        nodes[index].idle = counts.idle
        nodes[index].waiting = counts.waiting
    }

    /// Splits a subtree after its first `position` entries.
    private mutating func split(_ index: Int, at position: Int) -> (Int, Int) {
        guard index >= 0 else { return (-1, -1) }
        let before = nodes[index].left < 0 ? 0 : nodes[nodes[index].left].count
        if position <= before {
            let (first, second) = split(nodes[index].left, at: position)
            attach(second, asLeftOf: index)
            if first >= 0 { nodes[first].parent = -1 }
            return (first, index)
        }
        let (first, second) = split(nodes[index].right, at: position - before - 1)
        attach(first, asRightOf: index)
        if second >= 0 { nodes[second].parent = -1 }
        return (index, second)
    }

    /// Joins two subtrees; all entries of the first precede those of the second.
    private mutating func merge(_ first: Int, _ second: Int) -> Int {
        if first < 0 { return second }
        if second < 0 { return first }
        if nodes[first].weight >= nodes[second].weight {
            attach(merge(nodes[first].right, second), asRightOf: first)
            return first
        }
        attach(merge(first, nodes[second].left), asLeftOf: second)
        return second
    }

    private mutating func attach(_ child: Int, asLeftOf index: Int) {
        nodes[index].left = child
        if child >= 0 { nodes[child].parent = index }
        update(index)
    }

    private mutating func attach(_ child: Int, asRightOf index: Int) {
        nodes[index].right = child
        if child >= 0 { nodes[child].parent = index }
        update(index)
    }
}
