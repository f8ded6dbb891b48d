// Wherry: what a download's machine wants, done
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

extension DownloadTransfer {
    /// Carries one step out. Never blocks: what takes time goes to the disk's queue.
    func perform(_ step: Step) {
        switch step {
        case .action(let action): perform(action)
        case .follow(let start): send(start)
        case .write(let bytes, let placement, let exchange):
            onDisk { part throws(DownloadError) in
                defer { exchange.consumed() }
                try part.write(bytes, placement)
            } otherwise: {
                exchange.consumed()
            }
        case .progress(let progress): emit(.progress(progress))
        case .head(let response): emit(.head(response))
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
        case .stopWaiting: core.withLock { $0.timer &+= 1 }
        case .begin(let facts, let isJournaled):
            onDisk { part throws(DownloadError) in
                try part.begin(facts, isJournaled: isJournaled)
            }
        case .adopt(let facts):
            onDisk { part throws(DownloadError) in try part.adopt(facts) }
        case .checkpoint:
            onDisk { [self] part throws(DownloadError) in
                try part.checkpoint()
                feed { $0.checkpointed() }
            }
        case .verify(let algorithms, let length):
            onDisk { [self] part throws(DownloadError) in
                let found = try part.verify(
                    algorithms, length: length,
                    isStopped: { stopsReading.load(ordering: .relaxed) })
                feed { $0.verified(found) }
            }
        case .stopVerifying: stopsReading.store(true, ordering: .relaxed)
        case .publish(let length):
            onDisk { [self] part throws(DownloadError) in
                let path = try part.publish(length: length)
                // Its lock is on the finished file now.
                files.part = nil
                feed { $0.published(path) }
            }
        case .release(let keeping): release(keeping: keeping)
        case .report(let report): tell(report)
        case .finish(let outcome): end(outcome)
        }
    }

    // MARK: Disk

    /// Queues a job for the part. If it fails, what is queued behind it is left out.
    private func onDisk(
        _ job: @escaping @Sendable (PartFile) throws(DownloadError) -> Void,
        otherwise: @escaping @Sendable () -> Void = {}
    ) {
        disk.submit { [self] in
            guard !files.isBroken, let part = files.part else { return otherwise() }
            do throws(DownloadError) {
                try job(part)
            } catch {
                files.isBroken = true
                feed { $0.diskFailed(error) }
            }
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

    // MARK: News

    private func tell(_ report: DownloadReport) {
        switch report {
        // Told with its reason, when the wait begins; and the end tells itself.
        case .state(.waiting), .state(.done), .state(.failed), .state(.cancelled): break
        case .state(let state):
            if state == .paused || state == .verifying { tellProgress() }
            if state == .paused { core.withLock { $0.meter.pause() } }
            show(state, quiet: self.state == .queued && state == .running)
        case .restarted(let reason, _):
            // It was held, the connection broke meanwhile, and nothing of it can be gone on with.
            if self.state == .paused { show(.running, quiet: true) }
            emit(.state(.restarted, reason: reason.word))
            emit(.state(state, reason: nil))
        case .journalIgnored: emit(.state(state, reason: .journalInvalid))
        case .mirror(let error): emit(.state(state, reason: error.reason))
        case .alreadyComplete: emit(.state(state, reason: .alreadyComplete))
        case .resumed: break  // The first progress has it.
        }
    }

    // MARK: Time

    private func wait(_ nanoseconds: Int64, _ error: DownloadError) {
        tellProgress()
        let timer = core.withLock { core -> UInt64 in
            core.retries += 1
            core.timer &+= 1
            return core.timer
        }
        // Past the deadline the next attempt ends at once, and says why.
        let now = client.transport.clock.now()
        client.transport.schedule(at: min(now.advanced(by: nanoseconds), deadline)) {
            [weak self] in
            guard let self else { return }
            let isDue = core.withLock { $0.timer == timer }
            if isDue { feed { $0.retryDue() } }
        }
        show(.waiting, reason: error.reason)
    }
}

extension RestartReason {
    /// The word for it in the one table.
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
