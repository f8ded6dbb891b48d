// Wherry: what has ended of the transfers that have a tag in common.
// SPDX-License-Identifier: Apache-2.0

/// The sums over ended members of groups, by tag (D29).
///
/// A group begins with the first transfer of its tag that starts while none is under way. So the sum
/// over all its members, those that have ended among them, never goes back because one ends.
package struct TransferGroups: Sendable {
    private struct Group: Sendable {
        var running = 0
        /// Those that are through, and those of no path that are not.
        var ended: Progress?
        var count = 0
        /// Downloads that failed, which may be started again, by their path.
        var broken: [String: Progress] = [:]
    }
    /// So many groups without a member under way are remembered.
    package static let mostIdle = 256
    private var groups: [String: Group] = [:]
    /// Groups without a member under way, the one that ended first in front.
    private var idle: [String] = []

    package init() {}

    package mutating func began(_ tag: String, path: String?) {
        var group = groups[tag] ?? Group()
        if group.running == 0 {
            group = Group()
            if let place = idle.firstIndex(of: tag) { idle.remove(at: place) }
        }
        group.running += 1
        if let path { group.broken[path] = nil }
        groups[tag] = group
    }

    /// - Parameter outcome: `nil` if it never started.
    package mutating func ended(
        _ tag: String, path: String?, _ progress: Progress, as outcome: TransferState?
    ) {
        guard var group = groups[tag] else { return }
        group.running -= 1
        if let outcome {
            var last = progress
            last.total = last.total ?? last.completed
            last.bytesPerSecond = nil
            last.remaining = nil
            if let path, outcome != .done {
                group.broken[path] = last
            } else {
                group.ended = Progress(sumOf: [group.ended, last].compactMap { $0 })
                group.count += 1
            }
        }
        groups[tag] = group
        guard group.running == 0 else { return }
        idle.append(tag)
        if idle.count > Self.mostIdle { groups[idle.removeFirst()] = nil }
    }

    /// What has ended of a group: sums whose sum is all of it, and how many transfers they are of.
    package func ended(of tag: String) -> (parts: [Progress], count: Int) {
        guard let group = groups[tag] else { return ([], 0) }
        return (
            [group.ended].compactMap { $0 } + group.broken.values, group.count + group.broken.count
        )
    }
}
