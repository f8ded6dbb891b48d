// Wherry: what the disk tells a download
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// The answers of the disk's queue, and the end of the run.
extension DownloadMachine {
    /// A checkpoint is durable.
    ///
    /// - Parameter duration: how long it took, in nanoseconds.
    package mutating func checkpointed(after duration: Int64 = 0) -> [DownloadAction] {
        checkpoints.end(after: duration)
        guard state == .pausing, checkpoints.pending == 0 else { return [] }
        state = .paused
        guard resumesAfterPause else { return settle([]) }
        resumesAfterPause = false
        return settle(goOn())
    }

    /// The part was read back.
    ///
    /// - Parameters:
    ///   - digests: as many as were asked for, in their order; `nil` if it was stopped.
    ///   - path: of the file to be, for a sentence.
    package mutating func verified(_ digests: [[UInt8]]?, of path: String) -> [DownloadAction] {
        guard state == .verifying, let digests else { return [] }
        for (expected, actual) in zip(promised, digests) where expected.bytes != actual {
            guard !hasRestartedForChecksum else {
                var error = DownloadError(
                    .checksum,
                    "\(path) does not have \(expected.source.name): expected \(expected.hex), got "
                        + "\(Hex.encode(actual))")
                error.expectedDigest = expected.hex
                error.actualDigest = Hex.encode(actual)
                return settle(fail(error))
            }
            hasRestartedForChecksum = true
            isComplete = false
            return settle(restart(.checksum))
        }
        state = .publishing
        for (algorithm, bytes) in zip(algorithms, digests) { found[algorithm] = bytes }
        let length = facts?.total ?? have.count
        let news: [DownloadAction] = isComplete ? [.report(.alreadyComplete)] : []
        return settle(news + [.publish(length: length)])
    }

    /// The file has its name. Nothing can fail any more.
    package mutating func published(_ path: String) -> [DownloadAction] {
        guard state == .publishing else { return [] }
        return settle(end(.done(path: path), as: .done))
    }

    /// A disk action failed. What was durable before stays so (DR23); there is no other attempt.
    package mutating func diskFailed(_ error: DownloadError) -> [DownloadAction] {
        switch state {
        case .queued, .ended, .ending: return []
        default: return settle([.stop, .stopWaiting] + fail(error))
        }
    }

    /// The part was let go of.
    ///
    /// - Parameter partialPath: of the part if it was kept.
    package mutating func released(partialPath: String?) -> [DownloadAction] {
        guard case .ending(let how) = state else { return [] }
        switch how {
        case .failed(let error):
            return settle(end(.failed(error, partialPath: partialPath), as: .failed))
        case .cancelled:
            return settle(end(.cancelled(partialPath: partialPath), as: .cancelled))
        }
    }

    mutating func end(_ outcome: DownloadOutcome, as final: TransferState)
        -> [DownloadAction]
    {
        state = .ended(final)
        return [.report(.state(final)), .finish(outcome)]
    }
}
