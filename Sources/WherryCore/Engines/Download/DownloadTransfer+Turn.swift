// Wherry: a download that waits for its turn among its client's
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// Whether it runs is the queue's to say; what is done about that is decided here, under the lock
/// of the download, by what the queue says at that moment. So the last verb counts, whichever
/// thread it came from.
extension DownloadTransfer {
    /// Its place among the client's downloads that have no turn, 0 for the next; `nil` while it runs
    /// and after its end.
    package var place: Int? { client.queue.place(of: id) }

    /// Higher goes first; `nil` after its end.
    package var priority: Int? { client.queue.priority(of: id) }

    /// Takes it to a place among the downloads that have no turn: 0 is the next. Where its priority
    /// would forbid that place it changes. One that runs stays.
    package func move(to place: Int) { client.queue.move(id, to: place) }

    /// Enters the queue, and says so if it has to wait.
    func enterQueue() {
        let isFirst = core.withLock { core -> Bool in
            // Another thread may have cancelled it before it began.
            guard !core.hasBegun else { return false }
            core.hasWaited = client.queue.enter(self, priority: options[.priority])
            // What comes of its turn waits until it is said that there is none yet.
            defer { core.isCarrying = true }
            return !core.isCarrying
        }
        if core.withLock({ $0.hasWaited }) { emit(.state(.queued, reason: nil)) }
        client.queue.advance()
        carry(isOurs: isFirst)
    }

    /// It is its turn: it begins, or goes on after a pause.
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

    /// Takes its turn away.
    func giveUpTurn() {
        client.queue.pause(id)
        let mustStop = core.withLock { core -> Bool in
            let standing = client.queue.standing(of: id)
            // Another thread may have resumed it meanwhile.
            guard standing == nil || standing == .paused else { return false }
            // One that does not stand in line is just about to, or has ended and does nothing.
            guard !core.hasBegun, standing != nil else { return true }
            core.hasWaited = true
            core.steps.append(.show(.paused))
            return false
        }
        if mustStop { apply(.pause) } else { carry() }
    }

    /// Wants a turn again.
    func wantTurn() {
        client.queue.resume(id)
        client.queue.advance()
        core.withLock { core in
            let standing = client.queue.standing(of: id)
            if standing == .active { return Self.applyOrDefer(.resume, to: &core) }
            guard standing == .waiting else { return }
            core.hasWaited = true
            if !core.hasBegun || core.machine.isStanding { core.steps.append(.show(.queued)) }
        }
        carry()
    }

    /// A verb that has to wait for the part, or for the last bytes, is put with the others.
    static func applyOrDefer(_ verb: Verb, to core: inout State) {
        guard !core.isOpening, !core.isStopping else { return core.deferred.append(verb) }
        apply(verb, to: &core)
    }

    /// Lets one begin that never had a turn, since that is how it ends.
    static func beginToEnd(_ core: inout State, of transfer: DownloadTransfer) {
        guard !core.hasBegun else { return }
        core.hasBegun = true
        transfer.client.queue.leave(transfer.id)
        core.steps.append(.begin)
    }
}

extension DownloadMachine {
    /// Whether it is paused.
    fileprivate var isStanding: Bool { state == .paused || state == .held }
}
