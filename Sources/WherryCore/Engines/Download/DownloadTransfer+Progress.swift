// Wherry: how far a download is, told in time
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

extension DownloadTransfer {
    /// Bytes of the file that are here, those still in the transport's hands included.
    static func completed(_ core: inout State) -> Int64 {
        let pending = core.hops.map { hop in
            (attempt: hop.attempt, count: max(0, hop.exchange.received - hop.delivered))
        }
        let generation = core.machine.currentGeneration
        var completed = core.machine.completed(with: pending)
        // Bytes that were broken off with their exchange come again.
        if generation == core.shown.generation { completed = max(completed, core.shown.completed) }
        core.shown = (generation, completed)
        return completed
    }

    /// The progress to tell now, if it is time for it.
    static func measure(_ core: inout State, now: Instant, isForced: Bool) -> Progress? {
        let wire = core.hops.reduce(core.wireBefore) { $0 &+ $1.exchange.receivedOnWire }
        let received = wire &- core.wireTold
        core.wireTold = wire
        return core.meter.update(
            completed: completed(&core), total: core.machine.total,
            generation: core.machine.currentGeneration, received: received, now: now,
            isForced: isForced)
    }

    /// The last progress to report (DR28); `nil` if the previous report said the same. A file that was
    /// complete from the start has one, too.
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

    /// Tells how far it is: what is new, now or as soon as it is time for it.
    ///
    /// Called when bytes came and when none will come for a while; of a file that was not begun
    /// there is nothing to tell. Who wants no events is told none, and may look at ``progress``, which
    /// has its speed from here.
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

    /// When what came too early is to be told, unless that is seen to.
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
            // Measured anew: what was owed then may be less than what is shown now.
            if let progress = Self.measure(&core, now: now, isForced: false) {
                core.steps.append(.progress(progress))
            }
            // Another report may have come first, and more after it.
            return Self.dueProgress(&core)
        }
        if let due { setProgress(at: due) }
        carry()
    }
}

extension DownloadMachine {
    /// ``completed`` with so many further bytes of each body that were not handed in yet.
    func completed(with pending: [(attempt: Int, count: Int64)]) -> Int64 {
        pending.reduce(have.count) { sum, pending in
            guard pending.count > 0, let body = body(of: pending.attempt) else { return sum }
            let last = min(body.position.addingSaturating(pending.count), body.end ?? .max)
            return sum.addingSaturating(max(0, last - max(body.position, body.wantedFrom)))
        }
    }
}
