// Wherry: disk events of the download state machine.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherrySystem

/// Events from the disk queue, and the end of the run.
extension DownloadMachine {
    /// Handles a durable checkpoint.
    ///
    /// - Parameter duration: The duration of the checkpoint, in nanoseconds.
    package mutating func checkpointed(after duration: Int64 = 0) -> [DownloadAction] {
        checkpoints.end(after: duration)
        guard state == .pausing, checkpoints.pending == 0 else { return [] }
        state = .paused
        guard resumesAfterPause else { return settle([]) }
        resumesAfterPause = false
        return settle(goOn())
    }

    /// Handles the end of a verification.
    ///
    /// - Parameters:
    ///   - digests: The digests that were requested, in the same order; `nil` if the verification
    ///     was stopped.
    ///   - path: The path of the finished file, for a message.
    package mutating func verified(_ digests: [[UInt8]]?, of path: String) -> [DownloadAction] {
        guard state == .verifying, let digests else { return [] }
        for (expected, actual) in zip(promised, digests) where expected.bytes != actual {
            guard !hasRestartedForChecksum else {
                var error = DownloadError(
                    .checksum,
                    "\(path) does not match \(expected.source.name): expected \(expected.hex), got "
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

    /// Handles the rename to the final name. Nothing can fail after it.
    package mutating func published(_ path: String) -> [DownloadAction] {
        guard state == .publishing else { return [] }
        return settle(end(.done(path: path), as: .done))
    }

    /// Handles a failed disk action. Data that was durable stays durable (DR23), and the action is
    /// not retried.
    package mutating func diskFailed(_ error: DownloadError) -> [DownloadAction] {
        switch state {
        case .queued, .ended, .ending: return []
        default: return settle([.stop, .stopWaiting] + fail(error))
        }
    }

    /// Handles the release of the partial file.
    ///
    /// - Parameter partialPath: The path of the partial file, if it was kept.
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
