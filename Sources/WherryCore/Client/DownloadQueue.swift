// Wherry: the downloads of a client that run, and those that wait for their turn.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// Holds the line of a client's downloads and gives them their turns. Calls nobody under its lock.
package final class DownloadQueue: Sendable {
    private struct State: Sendable {
        var line: DownloadLine
        var downloads: [UInt64: DownloadTransfer] = [:]
    }
    private let state: Lock<State>

    package init(limit: Int64) {
        state = Lock(State(line: DownloadLine(limit: Int(clamping: limit))))
    }

    /// How many may run at once, from now on; 0 is no limit. Those that run go on.
    package func setLimit(_ limit: Int64) {
        state.withLock { $0.line.limit = Int(clamping: limit) }
        advance()
    }

    /// Enters a download at the end of its priority; ``advance()`` follows.
    ///
    /// - Returns: whether it has to wait.
    func enter(_ download: DownloadTransfer, priority: Int64) -> Bool {
        state.withLock { state in
            state.line.enter(download.id, priority: Int(priority))
            state.downloads[download.id] = download
            return state.line.isFull
        }
    }

    /// It has ended.
    func leave(_ id: UInt64) {
        state.withLock { state in
            state.line.leave(id)
            state.downloads[id] = nil
        }
    }

    /// Its turn is another's, once ``advance()`` is called.
    func pause(_ id: UInt64) { state.withLock { $0.line.pause(id) } }

    /// It wants a turn again.
    func resume(_ id: UInt64) { state.withLock { $0.line.resume(id) } }

    /// `nil` for one that has ended.
    func standing(of id: UInt64) -> DownloadLine.Standing? {
        state.withLock { $0.line.standing(of: id) }
    }

    func place(of id: UInt64) -> Int? { state.withLock { $0.line.place(of: id) } }

    func priority(of id: UInt64) -> Int? { state.withLock { $0.line.priority(of: id) } }

    func setPriority(of id: UInt64, to priority: Int) {
        state.withLock { $0.line.setPriority(of: id, to: priority) }
    }

    func move(_ id: UInt64, to place: Int) { state.withLock { $0.line.move(id, to: place) } }

    /// Gives turns to those that may have one.
    func advance() {
        while true {
            let next = state.withLock { state in
                state.line.next().flatMap { state.downloads[$0] }
            }
            guard let next else { return }
            next.takeTurn()
        }
    }

    /// Runs a verb over several downloads. None gets the turn of another that the verb is just
    /// taking it from, only to lose it again.
    func holding<Result>(_ body: () -> Result) -> Result {
        state.withLock { $0.line.holds += 1 }
        defer {
            state.withLock { $0.line.holds -= 1 }
            advance()
        }
        return body()
    }

    /// Nobody gets a turn any more.
    func close() { state.withLock { $0.line.holds += 1 } }
}
