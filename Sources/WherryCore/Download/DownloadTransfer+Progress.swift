// Wherry: progress reports of a download.
// SPDX-License-Identifier: Apache-2.0

import WherryDownloads
import WherryHTTP
import WherrySystem
import WherryTransport

extension DownloadTransfer {
    /// Returns the number of received bytes of the file, including those still in the transport.
    static func completed(_ core: inout State) -> Int64 {
        let pending = core.hops.map { hop in
            (attempt: hop.attempt, count: max(0, hop.exchange.received - hop.delivered))
        }
        let generation = core.machine.currentGeneration
        var completed = core.machine.completed(with: pending)
        // Bytes lost with a cancelled exchange arrive again: do not show less progress than before.
        if generation == core.shown.generation { completed = max(completed, core.shown.completed) }
        core.shown = (generation, completed)
        return completed
    }

    /// Returns the progress to report now; `nil` if it is too early.
    static func measure(_ core: inout State, now: Instant, isForced: Bool) -> Progress? {
        let wire = core.hops.reduce(core.wireBefore) { $0 &+ $1.exchange.receivedOnWire }
        let received = wire &- core.wireTold
        core.wireTold = wire
        return core.meter.update(
            completed: completed(&core), present: core.machine.completed,
            total: core.machine.total, generation: core.machine.currentGeneration,
            received: received, now: now,
            isForced: isForced)
    }

    /// Returns the last progress to report (DR28); `nil` if the previous report said the same. A
    /// file that was complete from the start gets a report, too.
    static func measureEnd(
        _ core: inout State, of outcome: DownloadOutcome, now: Instant
    ) -> Progress? {
        if case .done = outcome {
            let isTold = core.meter.hasTold(
                core.machine.completed, of: core.machine.total,
                generation: core.machine.currentGeneration)
            let last = measure(&core, now: now, isForced: true)
            return isTold ? nil : last
        }
        guard core.meter.hasReported else { return nil }
        if let progress = measure(&core, now: now, isForced: false) { return progress }
        return core.meter.owedAt == nil ? nil : measure(&core, now: now, isForced: true)
    }

    /// Reports new progress, now or as soon as the next report is due.
    ///
    /// Called when bytes arrive, and before a wait. Reports nothing before the download has begun.
    /// If the caller wants no events, only updates ``progress`` and its speed.
    func tellProgress() {
        let now = client.transport.clock.now()
        let due = core.withLock { core -> Instant? in
            guard core.meter.hasReported else { return nil }
            let progress = Self.measure(&core, now: now, isForced: false)
            guard wantsProgress else { return nil }
            if let progress { core.steps.append(.progress(progress)) }
            return Self.dueProgress(&core)
        }
        if let due { setProgress(at: due) }
    }

    /// Returns when delayed progress is due; `nil` if its timer is already set.
    private static func dueProgress(_ core: inout State) -> Instant? {
        guard !core.isProgressSet, let due = core.meter.owedAt else { return nil }
        core.isProgressSet = true
        return due
    }

    private func setProgress(at due: Instant) {
        client.transport.schedule(at: due) { [weak self] in self?.tellOwedProgress() }
    }

    private func tellOwedProgress() {
        let now = client.transport.clock.now()
        let due = core.withLock { core -> Instant? in
            core.isProgressSet = false
            // Measure again: the delayed progress may be lower than what callers have seen since.
            if let progress = Self.measure(&core, now: now, isForced: false) {
                core.steps.append(.progress(progress))
            }
            // Another report may have come first, with more progress after it.
            return Self.dueProgress(&core)
        }
        if let due { setProgress(at: due) }
        carry()
    }
}

extension DownloadMachine {
    /// Returns ``completed`` plus bytes of each body that were not passed in yet.
    func completed(with pending: [(attempt: Int, count: Int64)]) -> Int64 {
        pending.reduce(have.count) { sum, pending in
            guard pending.count > 0, let body = body(of: pending.attempt) else { return sum }
            let last = min(body.position.addingSaturating(pending.count), body.end ?? .max)
            return sum.addingSaturating(max(0, last - max(body.position, body.wantedFrom)))
        }
    }
}
