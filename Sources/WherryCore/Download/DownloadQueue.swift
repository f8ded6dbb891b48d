// Wherry: the queue of a client's downloads.
// SPDX-License-Identifier: Apache-2.0

import WherryDownloads
import WherrySystem

/// Decides which downloads of a client run and which wait. Calls no other code while it holds its
/// lock.
package final class DownloadQueue: Sendable {
    private struct State: Sendable {
        var line: DownloadLine
        var downloads: [UInt64: DownloadTransfer] = [:]
    }
    private let state: Lock<State>

    package init(limit: Int64) {
        state = Lock(State(line: DownloadLine(limit: Int(clamping: limit))))
    }

    /// Sets the maximum number of concurrent downloads; 0 means no limit. Running downloads
    /// continue.
    package func setLimit(_ limit: Int64) {
        state.withLock { $0.line.limit = Int(clamping: limit) }
        advance()
    }

    /// Adds a download behind the others of its priority. Call ``advance()`` afterwards.
    ///
    /// - Returns: Whether the download has to wait.
    func enter(_ download: DownloadTransfer, priority: Int64) -> Bool {
        state.withLock { state in
            state.line.enter(download.id, priority: Int(priority))
            state.downloads[download.id] = download
            return state.line.isFull
        }
    }

    /// Removes a download that has ended.
    func leave(_ id: UInt64) {
        state.withLock { state in
            state.line.leave(id)
            state.downloads[id] = nil
        }
    }

    /// Pauses a download. The next ``advance()`` gives its slot to another one.
    func pause(_ id: UInt64) { state.withLock { $0.line.pause(id) } }

    /// Puts a paused download back in the queue.
    func resume(_ id: UInt64) { state.withLock { $0.line.resume(id) } }

    /// Returns the standing of a download. `nil` if the download has ended.
    func standing(of id: UInt64) -> DownloadLine.Standing? {
        state.withLock { $0.line.standing(of: id) }
    }

    func place(of id: UInt64) -> Int? { state.withLock { $0.line.place(of: id) } }

    func priority(of id: UInt64) -> Int? { state.withLock { $0.line.priority(of: id) } }

    func setPriority(of id: UInt64, to priority: Int) {
        state.withLock { $0.line.setPriority(of: id, to: priority) }
    }

    func move(_ id: UInt64, to place: Int) { state.withLock { $0.line.move(id, to: place) } }

    /// Starts waiting downloads while there are free slots.
    func advance() {
        while true {
            let next = state.withLock { state in
                state.line.next().flatMap { state.downloads[$0] }
            }
            guard let next else { return }
            next.takeTurn()
        }
    }

    /// Applies a command to several downloads. Delays ``advance()``, so that no download starts
    /// only to be stopped by the same command.
    func holding<Result>(_ body: () -> Result) -> Result {
        state.withLock { $0.line.holds += 1 }
        defer {
            state.withLock { $0.line.holds -= 1 }
            advance()
        }
        return body()
    }

    /// Starts no more downloads.
    func close() { state.withLock { $0.line.holds += 1 } }
}
