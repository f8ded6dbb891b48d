// Wherry: sending groups of requests.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

extension Client {
    /// Sends the requests of a group and returns their results when all have ended.
    ///
    /// Cancelling the task cancels all requests.
    ///
    /// - Throws: Errors detected before anything is sent. If the failure of a member fails the
    ///   group, the error of the first failed member: its message names the member, and
    ///   `underlying` is the member's own error.
    public func send(_ group: RequestGroup) async throws(WherryError) -> GroupResult {
        if Task.isCancelled { throw Transfer.cancelledError }
        return try await start(group).value
    }

    /// Starts a group, to observe and control it as one transfer.
    ///
    /// The handle's progress changes as each member ends: `ended` of `count`. Pause, resume and
    /// cancel apply to all members.
    ///
    /// - Throws: Errors of any member that are detected immediately. Nothing has been started in
    ///   that case.
    public func start(_ group: RequestGroup) throws(WherryError) -> TransferHandle<GroupResult> {
        let events = TransferEvents(nil)
        let hooks = extras.withLock { $0 as? Hooks }
        let observer = GroupObserver(events, hooks)
        let transfer = try send(group, keepsResults: true, observer: observer)
        return TransferHandle(transfer, events) { outcome throws(WherryError) in
            if let error = outcome.error { throw error }
            return transfer.result
        }
    }
}

/// Observes a group and all of its members: forwards the events of the group, and runs the
/// hooks of the members.
private final class GroupObserver: TransferObserver {
    private let events: TransferEvents
    private let hooks: Hooks?
    private let runners = Lock<[UInt64: HookRunner]>([:])
    /// The tasks that run the closures of chains, by chain.
    private let tasks = Lock<[UInt64: Task<Void, Never>]>([:])

    init(_ events: TransferEvents, _ hooks: Hooks?) {
        self.events = events
        self.hooks = hooks
    }

    func transfer(_ transfer: Transfer, did event: TransferEvent) {
        if transfer.kind == .group { stepped(transfer, event) }
        // Members have their own observers, which forward their events.
        if transfer.observer === self { return events.transfer(transfer, did: event) }
        switch event {
        case .hook where transfer.kind == .group: break
        case .hook(let call):
            guard let hooks else { return }
            runners.withLock { runners in
                let known = runners[transfer.id] ?? HookRunner(hooks)
                runners[transfer.id] = known
                return known
            }.run(call)
        case .done: runners.withLock { $0.removeValue(forKey: transfer.id) }?.stop()
        default: break
        }
    }

    /// Runs the closure of a chain; without one the call is released.
    private func stepped(_ transfer: Transfer, _ event: TransferEvent) {
        switch event {
        case .hook(let call):
            guard case .next(let previous) = call.kind,
                let steps = (transfer as? CompoundTransfer)?.group.next as? ChainSteps
            else { return }
            // Created under the lock, so that the task of the next call comes after it.
            let (task, old) = tasks.withLock { tasks in
                let old = tasks[transfer.id]
                let task = Task {
                    let resolution = await steps.resolution(after: previous)
                    do {
                        try call.resolve(resolution)
                    } catch {
                        // Too late: the hook timed out, or the chain has ended.
                    }
                }
                tasks[transfer.id] = task
                return (task, old)
            }
            // The previous task timed out.
            old?.cancel()
            // Cancelled before the task was registered.
            if transfer.state.isFinal || transfer.isCancelled { task.cancel() }
        case .done: tasks.withLock { $0.removeValue(forKey: transfer.id) }?.cancel()
        default: break
        }
    }
}
