// Wherry: the progress of ended transfers by tag.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP

/// The progress of the ended members of each group, by tag (D29).
///
/// A group begins when a transfer with its tag starts while no other one is running. The sum over
/// all members includes those that have ended, so that it does not decrease when a member ends.
package struct TransferGroups: Sendable {
    private struct Group: Sendable {
        var running = 0
        /// The sum over completed members, and over failed members without a path.
        var ended: Progress?
        var count = 0
        /// Failed downloads by path; removed when the same download restarts.
        var broken: [String: Progress] = [:]
    }
    /// The number of groups without a running member to keep.
    package static let mostIdle = 256
    private var groups: [String: Group] = [:]
    /// The tags of groups without a running member, oldest end first.
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

    /// - Parameter outcome: The final state; `nil` if the transfer never started.
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

    /// Returns the progress of the ended members of a group, in parts to add, and the number of
    /// ended members.
    package func ended(of tag: String) -> (parts: [Progress], count: Int) {
        guard let group = groups[tag] else { return ([], 0) }
        return (
            [group.ended].compactMap { $0 } + group.broken.values, group.count + group.broken.count
        )
    }
}
