// Wherry: every transfer of a client that has not ended.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// Which transfers are meant.
public enum TransferMatch: Sendable {
    /// A snapshot: what starts later is not touched.
    case all
    /// Any method and parameters; joined with the base as a request's URL is.
    case url(String)
    /// Those of any of these URLs.
    case urls([String])
    case tag(String)
    /// The exact request, by `Client.identifier(of:)`.
    case identifier(String)
    /// A download's destination.
    case path(String)
    case id(UInt64)
}

/// The transfers of one client, by id (M1).
package final class TransferPool: Sendable {
    private struct State {
        /// In no order; each knows its place, so that a busy client pays for no hashing. Those
        /// that have ended stay until they are through with telling so.
        var transfers: [Transfer] = []
        /// What has ended of those with a tag.
        var groups = TransferGroups()
        var waiters = 0
        var isClosed = false
    }
    private let state = Monitor(State())

    package init() {}

    /// `false` if the client takes nothing new.
    package func add(_ transfer: Transfer) -> Bool {
        state.withLock { state in
            guard !state.isClosed else { return false }
            transfer.poolIndex = state.transfers.count
            state.transfers.append(transfer)
            if let tag = transfer.tag { state.groups.began(tag, path: transfer.path) }
            return true
        }
    }

    /// Takes one out that has told of its end, or never started.
    ///
    /// - Parameter outcome: how it ended; `nil` if it never started.
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

    /// Nothing new from now on.
    package func close() { state.withLock { $0.isClosed = true } }

    package var isClosed: Bool { state.withLock { $0.isClosed } }

    /// How many have not ended.
    package var count: Int {
        state.withLock { $0.transfers }.reduce(0) { $1.isFinal ? $0 : $0 + 1 }
    }

    /// All that it knows just now, in no order.
    var all: [Transfer] { state.withLock { $0.transfers } }

    /// Those that have not ended, by id.
    package func matching(_ matches: (Transfer) -> Bool) -> [Transfer] {
        let all = state.withLock { $0.transfers }
        return all.filter { !$0.isFinal && matches($0) }.sorted { $0.id < $1.id }
    }

    /// The sum over those with a tag, those that have ended among them.
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

    /// Waits until none that matches is left, its final event told.
    ///
    /// - Parameter timeout: nanoseconds of real time; `nil` waits for ever.
    /// - Returns: `false` when the time ran out.
    package func wait(timeout: Int64?, _ matches: (Transfer) -> Bool) -> Bool {
        state.withLock { $0.waiters += 1 }
        defer { state.withLock { $0.waiters -= 1 } }
        let clock = SystemClock.shared
        let limit = timeout.map { clock.now().advanced(by: max(0, $0)) }
        while true {
            // What matches is found out without the lock: it may ask each for its URL.
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
