// Wherry: retries and restarts of a download.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherrySystem

extension DownloadMachine {
    /// Waits, then requests the missing bytes again, as long as retries are left.
    mutating func retry(
        _ error: DownloadError, notBefore seconds: Int64? = nil, receivedAt: Int64 = 0
    ) -> [DownloadAction] {
        let floor = (seconds ?? 0).multipliedSaturating(by: 1_000_000_000)
        let step = max(0, policy.retries - retriesLeft)
        let delay = Backoff.delay(
            after: step, asked: floor, longest: policy.maximumRetryAfter, &random)
        guard let delay else {
            var later = DownloadError(
                .retryLater, "\(error.message). The server asks to try again in \(seconds ?? 0) s.")
            later.status = error.status
            later.retryAfter = seconds
            later.retryAt = receivedAt.addingSaturating(seconds ?? 0)
            return fail(later)
        }
        if let actions = loseFirst(kept: body?.kept ?? 0) { return actions }
        guard retriesLeft > 0 else { return fail(error) }
        retriesLeft -= 1
        var actions: [DownloadAction] = []
        if isResumable {
            if !have.isEmpty { actions.append(checkpoint()) }
        } else if !have.isEmpty {
            actions += forget(isWholeOnly ? .rangesUnsupported : .noValidator)
        }
        state = .waiting
        actions.append(.wait(delay, error))
        return actions
    }

    /// Discards the received bytes. The partial file is emptied only when new bytes arrive.
    mutating func forget(_ reason: RestartReason) -> [DownloadAction] {
        generation &+= 1
        dropFacts()
        return [.report(.restarted(reason, generation: generation))]
    }

    /// Restarts at once with a request for the whole file.
    mutating func restart(_ reason: RestartReason) -> [DownloadAction] {
        if let error = countRestart(reason) { return fail(error) }
        switch reason {
        // The response was unusable, which says nothing about the bytes on disk. They stay there
        // until a whole file arrives, for a later run.
        case .badRange, .encoding, .noValidator: leavesFound = isWorthKeeping
        case .changed, .rangeNotSatisfiable, .rangesUnsupported, .checksum: leavesFound = false
        }
        dropFacts()
        return [.report(.restarted(reason, generation: generation))] + send()
    }

    mutating func dropFacts() {
        have = ByteRanges()
        checkpoints.forget()
        facts = nil
        mirrorValidator = nil
        isResumable = false
        keptSinceRefill = 0
        segments = []
    }

    /// Starts the next generation. Returns an error after too many restarts in this run (DR9).
    mutating func countRestart(_ reason: RestartReason) -> DownloadError? {
        restarts += 1
        generation &+= 1
        guard restarts > policy.maximumRestarts else { return nil }
        return DownloadError(
            .unstable,
            "The download restarted \(policy.maximumRestarts) times, the last time because of "
                + "\(reason.rawValue). Try again later.")
    }

    /// Handles the arrival of the last byte.
    mutating func finishBytes(_ length: Int64) -> [DownloadAction] {
        body = nil
        let stop = stopSegments()
        if algorithms.isEmpty {
            state = .publishing
            let news: [DownloadAction] = isComplete ? [.report(.alreadyComplete)] : []
            return stop + news + [.publish(length: length)]
        }
        state = .verifying
        return stop + [.verify(algorithms, length: length)]
    }

    /// The digests that the finished file must have.
    var promised: [DownloadDigest] { [policy.expected, facts?.announced].compactMap { $0 } }

    /// The digest algorithms to compute: those that are checked, then one that is only reported.
    var algorithms: [DigestAlgorithm] {
        let checked = promised.map(\.algorithm)
        guard let told = policy.computed, !checked.contains(told) else { return checked }
        return checked + [told]
    }

    /// Whether a later run can resume from the bytes on disk.
    var isWorthKeeping: Bool { leavesFound || isResumable && !have.isEmpty }

    /// Switches to If-Match requests after a server has answered If-Range with the whole file,
    /// although the entity tag is the same. Some servers support If-Range with a date only.
    /// Switches at most once in a run, and only if more than half of the file is there (DR6).
    ///
    /// - Returns: Whether the machine switched.
    @discardableResult
    mutating func asksByMatch() -> Bool {
        guard condition == .ifRange, isResumable, case .entityTag? = validator,
            let total = facts?.total, have.count > total - have.count
        else { return false }
        condition = .ifMatch
        return true
    }

    mutating func fail(_ error: DownloadError) -> [DownloadAction] {
        if let actions = nextMirror(after: error) { return actions }
        let isKept = isWorthKeeping && error.reason != .checksum
        state = .ending(.failed(error))
        return stopSegments() + [.release(keeping: isKept)]
    }
}

extension DownloadMachine {
    /// Continues with the next mirror. Returns `nil` if there is none, or if a mirror could not
    /// help.
    private mutating func nextMirror(after error: DownloadError) -> [DownloadAction]? {
        guard policy.expected != nil, source < policy.mirrors, error.isOfServer else { return nil }
        var actions = stopSegments() + [.report(.mirror(error))]
        source += 1
        mirrorValidator = nil
        growth = SegmentGrowth(segments: policy.segments, most: policy.mostSegments)
        retriesLeft = max(0, policy.retries)
        restarts = 0
        isWholeOnly = false
        condition = .ifRange
        if error.reason == .checksum {
            // Nothing shows which server sent the wrong bytes.
            hasRestartedForChecksum = false
            isComplete = false
            leavesFound = false
            generation &+= 1
            dropFacts()
            actions.append(.report(.restarted(.checksum, generation: generation)))
        } else if isResumable, var facts {
            // Another server's validator says nothing about this server's bytes. The digest
            // decides.
            facts.validator = nil
            facts.announced = nil
            self.facts = facts
            if !have.isEmpty { actions += [.adopt(facts), checkpoint()] }
        } else if !have.isEmpty {
            actions += forget(.noValidator)
        }
        return actions + send()
    }
}

extension DownloadError {
    /// Whether another server might succeed.
    fileprivate var isOfServer: Bool {
        switch reason {
        case .connectTimeout, .firstByteTimeout, .idleTimeout, .stalled, .resolve, .connect,
            .connectionReset, .truncated, .badProtocol, .lengthUnverified, .unstable, .untrusted,
            .certificateExpired, .wrongName, .tls, .httpStatus, .tooManyRedirects,
            .redirectRefused, .expired, .retryLater, .headerTooLarge, .checksum:
            true
        default: false
        }
    }
}

extension Int64 {
    func multipliedSaturating(by other: Int64) -> Int64 {
        let (value, overflow) = multipliedReportingOverflow(by: other)
        return overflow ? .max : value
    }
}
