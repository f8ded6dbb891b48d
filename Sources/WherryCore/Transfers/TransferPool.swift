// Wherry: the transfers of a client that have not ended.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherrySystem

/// A selection of transfers.
public enum TransferMatch: Sendable {
    /// All current transfers; later ones are not affected.
    case all
    /// Transfers of this URL with any method and parameters. A relative URL is resolved against the
    /// base URL.
    case url(String)
    /// Transfers of any of these URLs.
    case urls([String])
    case tag(String)
    /// Transfers of exactly this request; see `Client.identifier(of:)`.
    case identifier(String)
    /// The download with this destination.
    case path(String)
    case id(UInt64)
}

/// The transfers of one client, by id (M1).
package final class TransferPool: Sendable {
    private struct State {
        /// In no order; each transfer stores its index, which avoids hashing. Transfers remain
        /// until they have reported their end.
        var transfers: [Transfer] = []
        /// The progress of ended transfers, by tag.
        var groups = TransferGroups()
        var waiters = 0
        var isClosed = false
    }
    private let state = Monitor(State())

    package init() {}

    /// Adds a transfer. Returns `false` if the client is closed.
    package func add(_ transfer: Transfer) -> Bool {
        state.withLock { state in
            guard !state.isClosed else { return false }
            transfer.poolIndex = state.transfers.count
            state.transfers.append(transfer)
            if let tag = transfer.tag { state.groups.began(tag, path: transfer.path) }
            return true
        }
    }

    /// Removes a transfer that has reported its end, or never started.
    ///
    /// - Parameter outcome: The final state; `nil` if the transfer never started.
    package func remove(_ transfer: Transfer, _ outcome: TransferState? = nil) {
        let last = transfer.tag == nil ? Progress() : transfer.progress
        let mustTell = state.withLock { state in
            let index = transfer.poolIndex
            guard index < state.transfers.count, state.transfers[index] === transfer else {
                return false
            }
            if let tag = transfer.tag {
                state.groups.ended(tag, path: transfer.path, last, as: outcome)
            }
            let last = state.transfers.removeLast()
            if last !== transfer {
                state.transfers[index] = last
                last.poolIndex = index
            }
            return state.waiters > 0
        }
        if mustTell { state.notify() }
    }

    /// Rejects new transfers from now on.
    package func close() { state.withLock { $0.isClosed = true } }

    package var isClosed: Bool { state.withLock { $0.isClosed } }

    /// The number of transfers that have not ended.
    package var count: Int {
        state.withLock { $0.transfers }.reduce(0) { $1.isFinal ? $0 : $0 + 1 }
    }

    /// All transfers in the pool, in no order.
    var all: [Transfer] { state.withLock { $0.transfers } }

    /// Returns the matching transfers that have not ended, ordered by id.
    package func matching(_ matches: (Transfer) -> Bool) -> [Transfer] {
        let all = state.withLock { $0.transfers }
        return all.filter { !$0.isFinal && matches($0) }.sorted { $0.id < $1.id }
    }

    /// Returns the combined progress of the transfers with a tag, including ended ones, and their
    /// number.
    package func progress(ofGroup tag: String) -> (progress: Progress, count: Int) {
        let (running, ended) = state.withLock { state in
            (state.transfers.filter { $0.tag == tag }, state.groups.ended(of: tag))
        }
        let parts = running.map(\.progress) + ended.parts
        return (Progress(sumOf: parts), running.count + ended.count)
    }

    package subscript(id: UInt64) -> Transfer? {
        state.withLock { $0.transfers }.first { $0.id == id && !$0.isFinal }
    }

    private static func isIn(_ state: State, _ transfer: Transfer) -> Bool {
        let index = transfer.poolIndex
        return index < state.transfers.count && state.transfers[index] === transfer
    }

    /// Waits until all matching transfers have reported their final event.
    ///
    /// - Parameter timeout: The timeout in nanoseconds of real time; `nil` waits forever.
    /// - Returns: `false` on timeout.
    package func wait(timeout: Int64?, _ matches: (Transfer) -> Bool) -> Bool {
        state.withLock { $0.waiters += 1 }
        defer { state.withLock { $0.waiters -= 1 } }
        let clock = SystemClock.shared
        let limit = timeout.map { clock.now().advanced(by: max(0, $0)) }
        while true {
            // Match without the lock, since matching may read a transfer's URL.
            var pending = state.withLock { $0.transfers }.filter(matches)
            guard !pending.isEmpty else { return true }
            let left = limit.map { max(0, $0.since(clock.now())) }
            let areGone = state.wait(timeout: left) { state -> Bool? in
                while let last = pending.last, !Self.isIn(state, last) { pending.removeLast() }
                return pending.isEmpty ? true : nil
            }
            guard areGone == true else { return false }
        }
    }
}
