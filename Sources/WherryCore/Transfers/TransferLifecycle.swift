// Wherry: the state machine of a transfer.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP

/// The state of one transfer. A value. Its methods return whether they changed anything.
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

    /// Changes the state beneath a pause. No effect in a final state.
    package mutating func become(_ state: TransferState) -> Bool {
        guard !activity.isFinal, !state.isFinal, state != .paused, state != activity else {
            return false
        }
        activity = state
        return !isPaused
    }

    /// Sets a state of a subclass that handles pauses itself.
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

    /// Marks the transfer as cancelled; `finish` ends it.
    package mutating func cancel() -> Bool {
        guard !activity.isFinal, !isCancelled else { return false }
        isCancelled = true
        return true
    }

    /// Sets the final state.
    package mutating func finish(_ state: TransferState) -> Bool {
        guard !activity.isFinal, state.isFinal else { return false }
        activity = state
        return true
    }
}
