// Wherry: turns of a download in its client's queue.
// SPDX-License-Identifier: Apache-2.0

import WherryDownloads
import WherrySystem

/// The queue decides whether a download runs. These methods read the decision under the lock of the
/// download, so the last verb wins, whichever thread it came from.
extension DownloadTransfer {
    /// The place among the client's downloads without a turn, 0 for the next; `nil` while this one
    /// runs and after its end.
    package var place: Int? { client.queue.place(of: id) }

    /// The priority; higher values run first. `nil` after the end.
    package var priority: Int? { client.queue.priority(of: id) }

    /// Moves the download to a place among those without a turn: 0 is the next. Changes the
    /// priority if the place requires another one. A running download does not move.
    package func move(to place: Int) { client.queue.move(id, to: place) }

    /// Enters the queue, and reports it if the download has to wait.
    func enterQueue() {
        let isFirst = core.withLock { core -> Bool in
            // Another thread may have cancelled the download before it began.
            guard !core.hasBegun else { return false }
            core.hasWaited = client.queue.enter(self, priority: options[.priority])
            // The events of its turn wait until the queued state was reported.
            defer { core.isCarrying = true }
            return !core.isCarrying
        }
        if core.withLock({ $0.hasWaited }) { emit(.state(.queued, reason: nil)) }
        client.queue.advance()
        carry(isOurs: isFirst)
    }

    /// Starts the download, or resumes it after a pause.
    func takeTurn() {
        core.withLock { core in
            guard client.queue.standing(of: id) == .active else { return }
            guard core.hasBegun else {
                core.hasBegun = true
                core.steps.append(.begin)
                return
            }
            Self.applyOrDefer(.resume, to: &core)
        }
        carry()
    }

    /// Gives up the turn of the download.
    func giveUpTurn() {
        client.queue.pause(id)
        let mustStop = core.withLock { core -> Bool in
            let standing = client.queue.standing(of: id)
            // Another thread may have resumed the download in the meantime.
            guard standing == nil || standing == .paused else { return false }
            // A download outside the queue is about to enter it, or has ended and ignores the
            // pause.
            guard !core.hasBegun, standing != nil else { return true }
            core.hasWaited = true
            core.steps.append(.show(.paused))
            return false
        }
        if mustStop { apply(.pause) } else { carry() }
    }

    /// Asks for a turn again.
    func wantTurn() {
        client.queue.resume(id)
        client.queue.advance()
        core.withLock { core in
            let standing = client.queue.standing(of: id)
            if standing == .active { return Self.applyOrDefer(.resume, to: &core) }
            guard standing == .waiting else { return }
            core.hasWaited = true
            if !core.hasBegun || core.machine.isPaused { core.steps.append(.show(.queued)) }
        }
        carry()
    }

    /// Applies a verb, or defers it until the partial file is open and the last bytes have arrived.
    static func applyOrDefer(_ verb: DownloadMachine.Verb, to core: inout State) {
        guard !core.isOpening, !core.isStopping else { return core.deferred.append(verb) }
        add(core.machine.apply(verb), to: &core)
    }

    /// Begins a download that never had a turn, so that it can end.
    static func beginToEnd(_ core: inout State, of transfer: DownloadTransfer) {
        guard !core.hasBegun else { return }
        core.hasBegun = true
        transfer.client.queue.leave(transfer.id)
        core.steps.append(.begin)
    }
}
