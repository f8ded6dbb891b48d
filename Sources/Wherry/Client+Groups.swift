// Wherry: groups of requests, awaited as one.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

extension Client {
    /// Sends the requests of a group and returns what they brought when all have ended.
    ///
    /// Cancelling the task cancels all of them.
    ///
    /// - Throws: what one of them could not be sent for, before anything is; where one failure is that
    ///   of all the error of the first, whose message names it and whose `underlying` is its own.
    public func send(_ group: RequestGroup) async throws(WherryError) -> GroupAnswer {
        if Task.isCancelled { throw Transfer.cancelledError }
        return try await start(group).value
    }

    /// Starts a group, to follow it and steer all of it at once.
    ///
    /// The handle's progress comes as each member ends: `ended` of `count`. Its verbs are for all.
    ///
    /// - Throws: what is known at once of any member; then nothing has started.
    public func start(_ group: RequestGroup) throws(WherryError) -> TransferHandle<GroupAnswer> {
        let events = TransferEvents(nil)
        let decisions = extras.withLock { $0 as? Decisions }
        let observer = GroupObserver(events, decisions)
        let transfer = try send(group, keepsAnswers: true, observer: observer)
        return TransferHandle(transfer, events) { outcome throws(WherryError) in
            if let error = outcome.error { throw error }
            return transfer.answer
        }
    }
}

/// Hears of a group and of all its members: tells of the group, and answers the members' questions.
private final class GroupObserver: TransferObserver {
    private let events: TransferEvents
    private let decisions: Decisions?
    private let responders = Lock<[UInt64: DecisionResponder]>([:])

    init(_ events: TransferEvents, _ decisions: Decisions?) {
        self.events = events
        self.decisions = decisions
    }

    func transfer(_ transfer: Transfer, did event: TransferEvent) {
        // Members have observers of their own, which hand on what they hear.
        if transfer.observer === self { return events.transfer(transfer, did: event) }
        switch event {
        case .decision(let decision):
            guard let decisions else { return }
            responders.withLock { responders in
                let known = responders[transfer.id] ?? DecisionResponder(decisions)
                responders[transfer.id] = known
                return known
            }.answer(decision)
        case .done: responders.withLock { $0.removeValue(forKey: transfer.id) }?.stop()
        default: break
        }
    }
}
