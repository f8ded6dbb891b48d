// Wherry: pause, resume and cancel a download.
// SPDX-License-Identifier: Apache-2.0

/// Requests of the caller (DR27).
extension DownloadMachine {
    package enum Verb: Hashable, Sendable {
        case pause, resume
        case cancel(discarding: Bool)

        /// Whether the verb ends the download.
        package var isCancel: Bool { if case .cancel = self { true } else { false } }
    }

    /// Applies a verb.
    package mutating func apply(_ verb: Verb) -> [DownloadAction] {
        switch verb {
        case .pause: pause()
        case .resume: resume()
        case .cancel(let discarding): cancel(discarding: discarding)
        }
    }

    /// Whether a verb ends the exchange and leaves a partial file that needs its last bytes.
    package func keepsLastBytes(_ verb: Verb) -> Bool {
        guard state == .receiving || !segments.isEmpty, isResumable else { return false }
        return verb == .pause || verb == .cancel(discarding: false)
    }

    /// Whether a pause has begun and its journal is not durable yet.
    package var isPausing: Bool { state == .pausing }

    /// Whether the download is paused, with or without an open connection.
    package var isPaused: Bool { state == .paused || state == .held }

    /// Pauses the download until ``resume()``. The journal is durable once the state is `paused`. A
    /// second call has no effect, nor does a call during the final rename or after the end.
    package mutating func pause() -> [DownloadAction] {
        switch state {
        case .pausing:
            resumesAfterPause = false
            return []
        case .requesting, .waiting:
            return settle(stopForPause())
        case .receiving where isResumable:
            return settle(stopForPause())
        case .receiving:
            // The received bytes could not be resumed, so keep the connection open as long as the
            // server does.
            state = .held
            return settle([.hold])
        case .verifying:
            // Every byte is here. ``resume()`` starts the verification again.
            wasVerifying = true
            state = .pausing
            return settle([.stopVerifying, checkpoint()])
        default: return []
        }
    }

    private mutating func stopForPause() -> [DownloadAction] {
        let isWaiting = state == .waiting
        attempt = nextAttempt()  // Ignores later events of the old attempts.
        body = nil
        segments = []
        state = .pausing
        return (isWaiting ? [.stopWaiting] : [.stop]) + [checkpoint()]
    }

    /// Continues after ``pause()``, with a Range request if possible.
    package mutating func resume() -> [DownloadAction] {
        switch state {
        case .pausing:
            resumesAfterPause = true
            return []
        case .paused: return settle(goOn())
        case .held:
            state = .receiving
            guard let end = endWhileHeld else { return settle([.unhold]) }
            endWhileHeld = nil
            guard let error = end else { return ended(attempt: attempt) }
            return failed(error, attempt: attempt)
        default: return []
        }
    }

    mutating func goOn() -> [DownloadAction] {
        if wasVerifying {
            wasVerifying = false
            return finishBytes(facts?.total ?? have.count)
        }
        var actions: [DownloadAction] = []
        if !have.isEmpty, !isResumable {
            actions = forget(isWholeOnly ? .rangesUnsupported : .noValidator)
        }
        return actions + send()
    }

    /// Cancels the download. During the final rename the download still succeeds, and after the end
    /// nothing changes.
    ///
    /// - Parameter discarding: Whether to delete a resumable partial file as well. Default: false.
    package mutating func cancel(discarding: Bool = false) -> [DownloadAction] {
        switch state {
        case .publishing, .ended, .ending: return []
        case .queued: return settle(end(.cancelled(partialPath: nil), as: .cancelled))
        default: break
        }
        var actions: [DownloadAction] = []
        switch state {
        case .waiting: actions = [.stopWaiting]
        case .requesting, .receiving, .held: actions = [.stop]
        case .verifying: actions = [.stopVerifying]
        default: break
        }
        attempt = nextAttempt()
        segments = []
        let isKept = !discarding && isWorthKeeping
        state = .ending(.cancelled)
        return settle(actions + [.release(keeping: isKept)])
    }
}
