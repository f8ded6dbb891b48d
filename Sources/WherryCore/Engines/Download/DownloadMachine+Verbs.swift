// Wherry: pause, resume and cancel a download
// SPDX-License-Identifier: Apache-2.0

/// The caller's verbs (DR27).
extension DownloadMachine {
    /// Stops until ``resume()``. The journal is durable when the state is `paused`. Twice is once;
    /// while the finished file is named, and after the end, it does nothing.
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
            // Nothing of it could be gone on with, be it here or still on its way to the machine:
            // keep the connection as long as the server does.
            state = .held
            return settle([.hold])
        case .verifying:
            // Every byte is here, and is read back from the start when it goes on.
            wasVerifying = true
            state = .pausing
            return settle([.stopVerifying, checkpoint()])
        default: return []
        }
    }

    private mutating func stopForPause() -> [DownloadAction] {
        let isWaiting = state == .waiting
        attempt = nextAttempt()  // What still comes of the old ones is ignored.
        body = nil
        segments = []
        state = .pausing
        return (isWaiting ? [.stopWaiting] : [.stop]) + [checkpoint()]
    }

    /// Goes on after ``pause()``; with Range where that is possible.
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

    /// Ends the download. Once the file is being named it ends well instead, and after the end
    /// nothing changes.
    ///
    /// - Parameter discarding: whether a resumable partial goes too. Default false.
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
