// Wherry: startup and shutdown of the agent's state machine.
// SPDX-License-Identifier: Apache-2.0

import WherryCore
import WherryHTTP
import WherrySystem

extension AgentMachine {
    /// The least number of bytes between two crashes that counts as progress.
    private static let leastKept: Int64 = 65_536
    /// How long an unacknowledged record of a finished job is kept: 7 days.
    private static let endedLife: Double = 7 * 86_400
    /// How long an untouched unfinished job is kept: 30 days.
    private static let untouchedLife: Double = 30 * 86_400
    /// The longest wait of a record that does not contain its wait: one day, in milliseconds.
    private static let longestWait: Int64 = 86_400_000

    /// Takes over the records that another agent or a caller left. Call it once, holding the lock.
    ///
    /// Does not save changes that the next agent would derive again. Opening a thousand jobs then
    /// does not cost a thousand writes.
    ///
    /// - Parameter autostart: Whether to continue jobs whose agent died.
    package mutating func open(_ records: [JobRecord], autostart: Bool, _ time: Time) -> [Action] {
        var actions: [Action] = []
        for record in records {
            let job = record.job
            // Keep a damaged record until a client has seen it.
            if job.isFinal, !record.isDamaged, time.wall - job.changedAt > Self.endedLife {
                actions += [
                    .note("\(job.id) was removed, because it was never acknowledged"),
                    .remove(id: job.id),
                ]
                continue
            }
            entries[job.id] = Entry(record: record)
            if !job.isFinal, record.remains != .all {
                actions += left(job.id, record.remains, time)
                continue
            }
            switch job.state {
            case .done, .failed, .cancelled: break
            case .paused: actions += forgetUntouched(job.id, time)
            case .interrupted where !autostart: actions += forgetUntouched(job.id, time)
            case .interrupted, .queued, .waiting:
                if autostart { goOn(job.id, time) } else { interrupt(job.id, time) }
            case .running, .restarted, .verifying:
                actions += crashed(job.id, autostart: autostart, time)
            }
        }
        return actions + pump(time)
    }

    /// Queues a job, or lets it wait until the time the server asked for.
    ///
    /// The wait is never longer than it was at first, since the wall clock may have been set back.
    /// In that case the new time is saved, so that the next agent uses it.
    private mutating func goOn(_ id: String, _ time: Time) {
        guard let due = entries[id]?.record.job.retryAt else {
            entries[id]?.activity = .queued
            entries[id]?.record.job.state = .queued
            entries[id]?.record.job.reason = nil
            return
        }
        let longest = Double(entries[id]?.record.wait ?? Self.longestWait) / 1_000
        let left = min(max(0, due - time.wall), longest)
        if due - time.wall > longest {
            entries[id]?.record.job.retryAt = time.wall + left
            saveSoon(id, time)
        }
        entries[id]?.activity = .sleeping(until: time.now.advanced(by: Int64(left * 1e9)))
        entries[id]?.record.job.state = .waiting
        entries[id]?.record.job.reason = ErrorReason.retryLater.rawValue
    }

    /// Marks a waiting job as interrupted. No agent was running it, so this does not count as a
    /// crash. The job keeps its retry time.
    private mutating func interrupt(_ id: String, _ time: Time) {
        entries[id]?.record.job.state = .interrupted
        entries[id]?.record.job.reason = nil
        entries[id]?.record.job.changedAt = time.wall
        saveSoon(id, time)
    }

    /// Handles a job that was running when its agent died.
    private mutating func crashed(_ id: String, autostart: Bool, _ time: Time) -> [Action] {
        guard var entry = entries[id] else { return [] }
        let bytes = entry.record.job.progress.completed
        let moved = bytes >= entry.record.bytesBefore.addingSaturating(Self.leastKept)
        entry.record.crashes = moved ? 1 : entry.record.crashes.addingSaturating(1)
        entry.record.bytesBefore = bytes
        entries[id] = entry
        guard entry.record.crashes < Self.mostCrashes else {
            var ending = Ending()
            ending.error = JobFailure(
                WherryError(
                    .interrupted,
                    "The job failed: its agent crashed \(entry.record.crashes) times without progress. Start the job again."
                ))
            return finish(id, .failed, ending, time)
        }
        let note = Action.note("\(id) was interrupted at \(bytes) bytes")
        return [note] + (autostart ? queue(id, time) : change(id, .interrupted, time))
    }

    /// Ends an upload whose response was complete before its agent died. The upload is never sent
    /// again.
    private mutating func left(
        _ id: String, _ remains: JobRecord.Remains, _ time: Time
    ) -> [Action] {
        if case .ending(let ending, let progress) = remains {
            entries[id]?.record.job.progress = progress
            return endedByItself(id, ending, time)
        }
        var ending = Ending()
        ending.error = JobFailure(
            WherryError(
                .interrupted,
                "The result of the upload is unknown: the upload ended, but its agent could not record the result. Check whether the server received the upload."
            ))
        return finish(id, .failed, ending, time)
    }

    private mutating func forgetUntouched(_ id: String, _ time: Time) -> [Action] {
        guard let entry = entries[id],
            time.wall - entry.record.job.changedAt > Self.untouchedLife
        else { return [] }
        drop(id)
        return [
            .note("\(id) was removed after 30 days without a change"),
            .discard(entry.record), .remove(id: id),
        ]
    }

    /// Prepares to exit on request. Transfers stop, and the next agent continues them.
    package mutating func leave(_ time: Time) -> [Action] {
        isLeaving = true
        unsaved.leave(time.now)
        var actions: [Action] = []
        for id in entries.keys.sorted() {
            guard var entry = entries[id] else { continue }
            if entry.activity == .active {
                entry.activity = .stopping(.leave)
                actions.append(.stop(id: id, discarding: false))
            } else if entry.activity == .stopping(.restart) {
                entry.activity = .stopping(.leave)
            }
            entries[id] = entry
        }
        return actions
    }
}
