// Wherry: groups of requests, awaited as one.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

extension Client {
    /// Sends the requests of a group and returns what they brought when all have ended.
    ///
    /// Cancelling the task cancels all of them.
    ///
    /// - Throws: what one of them could not be sent for, before anything is; where one failure is
    ///   that of all the error of the first, whose message names it and whose `underlying` is its
    ///   own.
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
    /// Those that are told what follows a step, by the chain.
    private let tasks = Lock<[UInt64: Task<Void, Never>]>([:])

    init(_ events: TransferEvents, _ decisions: Decisions?) {
        self.events = events
        self.decisions = decisions
    }

    func transfer(_ transfer: Transfer, did event: TransferEvent) {
        if transfer.kind == .group { stepped(transfer, event) }
        // Members have observers of their own, which hand on what they hear.
        if transfer.observer === self { return events.transfer(transfer, did: event) }
        switch event {
        case .decision where transfer.kind == .group: break
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

    /// Asks the closure of a chain; without one the question is let go of.
    private func stepped(_ transfer: Transfer, _ event: TransferEvent) {
        switch event {
        case .decision(let decision):
            guard case .next(let previous) = decision.kind,
                let steps = (transfer as? CompoundTransfer)?.group.next as? ChainSteps
            else { return }
            // Made under the lock, so that the one of a next question comes after it.
            let (task, old) = tasks.withLock { tasks in
                let old = tasks[transfer.id]
                let task = Task {
                    let answer = await steps.answer(to: previous)
                    do {
                        try decision.answer(answer)
                    } catch {
                        // Too late: the time for it was over, or the chain has ended.
                    }
                }
                tasks[transfer.id] = task
                return (task, old)
            }
            // The one before had its time.
            old?.cancel()
            // Cancelled meanwhile, and told so before the task was there.
            if transfer.state.isFinal || transfer.isCancelled { task.cancel() }
        case .done: tasks.withLock { $0.removeValue(forKey: transfer.id) }?.cancel()
        default: break
        }
    }
}
