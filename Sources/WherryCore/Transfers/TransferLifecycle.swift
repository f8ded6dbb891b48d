// Wherry: the states of a transfer, and which follows which.
// SPDX-License-Identifier: Apache-2.0

/// The life of one transfer, as a value. Every verb answers whether it changed anything.
package struct TransferLifecycle: Sendable {
    /// The state beneath a pause. queued -> running or final; running -> waiting, verifying or
    /// final; waiting -> running or final; verifying -> running or final.
    private var activity = TransferState.queued
    private var isPaused = false
    package private(set) var isCancelled = false

    package init() {}

    package var state: TransferState {
        isPaused && !activity.isFinal ? .paused : activity
    }

    package var isFinal: Bool { activity.isFinal }

    /// Carries on with another activity; nothing leaves a final state.
    package mutating func become(_ state: TransferState) -> Bool {
        guard !activity.isFinal, !state.isFinal, state != .paused, state != activity else {
            return false
        }
        activity = state
        return !isPaused
    }

    /// Takes over a state from one who keeps pauses himself.
    package mutating func show(_ state: TransferState) -> Bool {
        guard !activity.isFinal, !state.isFinal, state != self.state else { return false }
        isPaused = state == .paused
        if !isPaused { activity = state }
        return true
    }

    package mutating func pause() -> Bool {
        guard !activity.isFinal, !isPaused else { return false }
        isPaused = true
        return true
    }

    package mutating func resume() -> Bool {
        guard !activity.isFinal, isPaused else { return false }
        isPaused = false
        return true
    }

    /// Asks for an end; the end itself is `finish`.
    package mutating func cancel() -> Bool {
        guard !activity.isFinal, !isCancelled else { return false }
        isCancelled = true
        return true
    }

    /// The one final step.
    package mutating func finish(_ state: TransferState) -> Bool {
        guard !activity.isFinal, state.isFinal else { return false }
        activity = state
        return true
    }
}
