// Wherry: execution of download actions.
// SPDX-License-Identifier: Apache-2.0

import WherryDownloads
import WherryHTTP
import WherrySystem
import WherryTransport

extension DownloadTransfer {
    /// Carries out one step. Never blocks: slow operations go to the disk queue.
    func perform(_ step: Step) {
        switch step {
        case .action(let action): perform(action)
        case .follow(let start):
            if let last = start.follower.redirects.last {
                noteRedirect(
                    from: last.url, status: last.status, to: start.follower.url.text,
                    isCounted: origin)
            }
            send(start)
        case .write(let bytes, let placement, let exchange):
            disk.submit { [self] in
                withPart { part throws(DownloadError) in
                    try part.write(bytes, placement)
                    part.beginWriteBack(on: client.workers)
                }
                exchange.consumed()
            } orRunHereIf: {
                files.part?.isQuick == true
            }
        case .progress(let progress): emit(.progress(progress))
        case .head(let response): emit(.headers(response))
        case .begin: disk.submit { [self] in open() }
        case .show(let state): show(state)
        }
    }

    private func perform(_ action: DownloadAction) {
        switch action {
        case .send(let request):
            core.withLock { $0.response = nil }
            send(start(of: request))
        case .sendSegment(let request): send(start(of: request))
        case .stopSegment(let attempt): stop { $0 == attempt }
        case .stop: stop { _ in true }
        case .hold: setHeld(true)
        case .unhold: setHeld(false)
        case .wait(let nanoseconds, let error): wait(nanoseconds, error)
        case .stopWaiting: stopWaiting()
        case .begin(let facts, let isJournaled):
            onDisk { part throws(DownloadError) in
                try part.begin(facts, isJournaled: isJournaled)
            }
        case .adopt(let facts):
            onDisk { part throws(DownloadError) in try part.adopt(facts) }
        case .checkpoint:
            onDisk(wakes: false) { [self] part throws(DownloadError) in
                let begin = SystemClock.shared.now()
                try part.checkpoint()
                let duration = SystemClock.shared.now().since(begin)
                feed { $0.checkpointed(after: duration) }
            }
        case .verify(let algorithms, let length):
            // A verification that a pause has stopped has left the disk queue by now.
            stopsReading.store(false, ordering: .relaxed)
            onDisk { [self] part throws(DownloadError) in
                let found = try part.verify(
                    algorithms, length: length,
                    isStopped: { stopsReading.load(ordering: .relaxed) })
                feed { $0.verified(found, of: part.target.path) }
            }
        case .stopVerifying: stopsReading.store(true, ordering: .relaxed)
        case .publish(let length):
            onDisk { [self] part throws(DownloadError) in
                let path = try part.publish(length: length)
                // The lock is on the finished file now.
                files.part = nil
                feed { $0.published(path) }
            }
        case .release(let keeping): release(keeping: keeping)
        case .report(let report): tell(report)
        case .finish(let outcome): end(outcome)
        }
    }

    // MARK: Disk

    /// Queues a job for the partial file. If a job fails, the jobs queued after it are skipped.
    ///
    /// - Parameter wakes: Whether to open the files for the job if they are closed. Default: true.
    private func onDisk(
        wakes: Bool = true, _ job: @escaping @Sendable (PartFile) throws(DownloadError) -> Void
    ) {
        disk.submit { [self] in withPart(wakes: wakes, job) }
    }

    private func withPart(
        wakes: Bool = true, _ job: (PartFile) throws(DownloadError) -> Void
    ) {
        guard !files.isBroken, let part = files.part else { return }
        do throws(DownloadError) {
            if wakes { try part.wake() }
            try job(part)
        } catch {
            files.isBroken = true
            feed { $0.diskFailed(error) }
        }
    }

    private func release(keeping: Bool) {
        disk.submit { [self] in
            let discards = core.withLock { $0.discards }
            let (kept, error) = files.release(keeping: keeping && !discards)
            let mustDelete = core.withLock { core -> Bool in
                core.releaseError = error
                guard kept != nil, !core.discards else { return kept != nil }
                core.keptPath = kept
                return false
            }
            if mustDelete, let kept { delete(kept) }
            feed { $0.released(partialPath: mustDelete ? nil : kept) }
        }
    }

    // MARK: Reports

    private func tell(_ report: DownloadReport) {
        switch report {
        // A wait reports its reason when it begins, and the end has its own report.
        case .state(.waiting), .state(.done), .state(.failed), .state(.cancelled): break
        case .state(let state):
            if state == .paused || state == .verifying { tellProgress() }
            if state == .paused {
                core.withLock { $0.meter.pause() }
                disk.submit { [self] in files.rest(releasing: true) }
            }
            // An immediate start needs no report.
            let isFirstTurn = self.state == .queued && state == .running
            show(state, quiet: isFirstTurn && !core.withLock { $0.hasWaited })
        case .restarted(let reason, _):
            // The connection of a held download was dropped, and its bytes cannot be resumed.
            if self.state == .paused { show(.running) }
            emit(.state(.restarted, reason: reason.word))
            emit(.state(state, reason: nil))
        case .journalIgnored: emit(.state(state, reason: .journalInvalid))
        case .mirror(let error): emit(.state(state, reason: error.reason))
        case .alreadyComplete: emit(.state(state, reason: .alreadyComplete))
        case .resumed: break  // the first progress report says it
        }
    }

    // MARK: Time

    private func wait(_ nanoseconds: Int64, _ error: DownloadError) {
        tellProgress()
        disk.submit { [self] in files.rest() }
        let timer = core.withLock { core -> UInt64 in
            core.retries += 1
            return core.wait.begin()
        }
        // After the deadline, the next attempt fails at once with the right error.
        let now = client.transport.clock.now()
        let due = min(now.advanced(by: nanoseconds), deadline)
        if waitForNetwork(error, timer: timer, notBefore: due) {
            return show(.waiting, reason: .offline)
        }
        schedule(timer, at: due)
        show(.waiting, reason: error.reason)
    }

    /// Schedules another try to open the partial file, since the process has no free file
    /// descriptor. Other downloads may release theirs in the meantime.
    ///
    /// - Returns: False after half a minute.
    func waitForDescriptors() -> Bool {
        let now = client.transport.clock.now()
        let since = files.shortSince ?? now
        files.shortSince = since
        guard now.since(since) < .milliseconds(30_000), now < deadline else { return false }
        client.transport.schedule(at: now.advanced(by: .milliseconds(100))) { [weak self] in
            guard let self else { return }
            disk.submit { [self] in open() }
        }
        return true
    }

    /// Schedules a checkpoint, so that received bytes are recorded even if no more arrive.
    func scheduleCheckpoint(at due: Instant) {
        client.transport.schedule(at: due) { [weak self] in
            guard let self else { return }
            let now = client.transport.clock.now()
            let next = core.withLock { core -> Instant? in
                core.isCheckpointSet = false
                Self.add(core.machine.checkpointDue(now: now), to: &core)
                // The checkpoint in progress has to finish first.
                return Self.dueCheckpoint(&core).map {
                    max($0, now.advanced(by: CheckpointPace.delay))
                }
            }
            if let next { scheduleCheckpoint(at: next) }
            carry()
        }
    }

    /// Returns when the next checkpoint is due; `nil` if its timer is already set.
    static func dueCheckpoint(_ core: inout State) -> Instant? {
        guard !core.isCheckpointSet, let due = core.machine.checkpointDueAt else { return nil }
        core.isCheckpointSet = true
        return due
    }

    /// Retries at that time, or now if it has passed, unless the wait was cancelled in the
    /// meantime.
    private func schedule(_ timer: UInt64, at due: Instant) {
        client.transport.schedule(at: due) { [weak self] in
            guard let self else { return }
            let isDue = core.withLock { $0.wait.end(timer) }
            if isDue { feed { $0.retryDue() } }
        }
    }

    /// Waits for the network if it is down, then retries when it is back and the delay has passed
    /// (D13). Retrying without a network would use up the retries at once. Returns false if the
    /// network is not the problem.
    private func waitForNetwork(
        _ error: DownloadError, timer: UInt64, notBefore due: Instant
    ) -> Bool {
        guard error.isOfNetwork else { return false }
        let setting = options[.waitForNetwork]
        let patience = Int64.milliseconds(setting < 0 ? 60_000 : setting)
        let left = deadline.since(client.transport.clock.now())
        let source = core.withLock { $0.machine.source }
        let url = source > 0 && source <= mirrors.count ? mirrors[source - 1] : firstURL
        guard patience > 0 else { return false }
        return NetworkWait.begin(
            for: url, of: client, within: min(patience, left),
            register: { wait in
                core.withLock { core in
                    core.networkWait = wait
                    return !core.wait.isCurrent(timer)
                }
            }
        ) { [weak self] end in
            guard let self else { return }
            core.withLock { $0.networkWait = nil }
            if end != .cancelled { schedule(timer, at: due) }
        }
    }

    /// Cancels a wait for a retry.
    func stopWaiting() {
        let wait = core.withLock { core in
            core.wait.cancel()
            return core.networkWait
        }
        wait?.cancel()
    }
}

extension RestartReason {
    /// The error reason with the same meaning.
    var word: ErrorReason {
        switch self {
        case .changed: .changed
        case .noValidator: .noValidator
        case .rangesUnsupported: .rangesUnsupported
        case .badRange: .badRange
        case .rangeNotSatisfiable: .rangeNotSatisfiable
        case .encoding: .encoding
        case .checksum: .checksum
        }
    }
}
