// Wherry: groups of similar hashes.
// SPDX-License-Identifier: Apache-2.0

/// A tree of hashes that finds similar ones without comparing all pairs (a Burkhard-Keller tree).
///
/// The distance of a hash to the root selects the branch for it. By the triangle inequality, all
/// hashes within a distance are in few branches.
struct HashTree {
    private struct Node {
        let hash: ImageHash
        /// The indices of the children, by their distance.
        var children: [Int: Int] = [:]
    }

    private var nodes: [Node] = []

    /// Inserts a hash that the tree does not contain. Returns its index: the number of hashes
    /// inserted before it.
    @discardableResult
    mutating func insert(_ hash: ImageHash) -> Int {
        let added = nodes.count
        nodes.append(Node(hash: hash))
        guard added > 0 else { return added }
        var at = 0
        while true {
            let distance = nodes[at].hash.distance(to: hash)
            guard let child = nodes[at].children[distance] else {
                nodes[at].children[distance] = added
                return added
            }
            at = child
        }
    }

    /// Returns the indices of all hashes within `distance` of a hash.
    func indices(within distance: Int, of hash: ImageHash) -> [Int] {
        var found: [Int] = []
        var waiting = nodes.isEmpty ? [] : [0]
        while let at = waiting.popLast() {
            let own = nodes[at].hash.distance(to: hash)
            if own <= distance { found.append(at) }
            for (branch, child) in nodes[at].children where abs(branch - own) <= distance {
                waiting.append(child)
            }
        }
        return found
    }
}

extension ImageHash {
    /// Returns the groups of similar hashes, as indices in `hashes`.
    ///
    /// Two hashes are in the same group if they differ in at most `distance` bits, or if a chain of
    /// such hashes connects them. Groups and their members are in the order of `hashes`; hashes
    /// without a similar one are left out.
    package static func groups(of hashes: [ImageHash], within distance: Int) -> [[Int]] {
        var tree = HashTree()
        var known: [ImageHash: Int] = [:]
        var members: [[Int]] = []
        /// A member of the same group for each hash of the tree; its own index for one per group.
        var parents: [Int] = []
        func root(_ index: Int) -> Int {
            var at = index
            while parents[at] != at {
                parents[at] = parents[parents[at]]
                at = parents[at]
            }
            return at
        }
        for (index, hash) in hashes.enumerated() {
            if let place = known[hash] {
                members[place].append(index)
                continue
            }
            let similar = tree.indices(within: distance, of: hash)
            let place = tree.insert(hash)
            known[hash] = place
            members.append([index])
            parents.append(place)
            for other in similar { parents[root(other)] = root(place) }
        }
        var groups: [Int: [Int]] = [:]
        for place in members.indices { groups[root(place), default: []] += members[place] }
        return groups.values.filter { $0.count > 1 }.map { $0.sorted() }.sorted { $0[0] < $1[0] }
    }
}
