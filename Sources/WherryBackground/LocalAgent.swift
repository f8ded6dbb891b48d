// Wherry: job requests handled without an agent.
// SPDX-License-Identifier: Apache-2.0

import WherryCore
import WherryHTTP
import WherrySystem

/// Applies the agent's rules in the calling process, which must hold the lock. Runs no transfers.
enum LocalAgent {
    static func answer(_ request: AgentRequest, _ folder: StateFolder) throws(WherryError)
        -> [BackgroundJob]
    {
        let clock = SystemClock.shared
        let time = AgentMachine.Time(now: clock.now(), wall: clock.wallSeconds())
        var machine = AgentMachine(idle: 0, at: time)
        for action in machine.open(try folder.load(), autostart: false, time) {
            // Ignore write errors: the next process that opens the session makes the same changes.
            _ = try? carryOut(action, folder)
        }
        if case .verb(let verb, let id) = request {
            for action in machine.apply(verb, to: id, 1, time) { try carryOut(action, folder) }
        }
        return machine.jobs
    }

    private static func carryOut(
        _ action: AgentMachine.Action, _ folder: StateFolder
    ) throws(WherryError) {
        switch action {
        case .save(let record):
            try folder.save(record)
            if record.job.isFinal { folder.removeRemains(record.job.id) }
        case .discard(let record): record.discardPartials()
        case .remove(let id): try folder.remove(id)
        case .answer(_, let failure): if let failure { throw failure.error }
        // This process has no followers and runs no transfers.
        case .begin, .stop, .tell, .forget, .note: break
        }
    }
}
