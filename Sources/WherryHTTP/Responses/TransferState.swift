// Wherry: the state of a transfer.
// SPDX-License-Identifier: Apache-2.0

/// The state of a transfer. The raw values are those of `wherry_state`.
public enum TransferState: Int32, Sendable {
    /// Waiting for its turn. Can change to any other state.
    case queued = 1
    case running = 2
    /// Waiting for a retry, or for the result of a callback.
    case waiting = 3
    case paused = 4
    /// Starting again from byte 0; followed by `running`.
    case restarted = 5
    case verifying = 6
    /// Final, like the two states that follow.
    case done = 7
    case failed = 8
    case cancelled = 9
    /// A background job whose agent died. Changes to `queued` when another agent takes over.
    case interrupted = 10

    /// Whether the state is final.
    public var isFinal: Bool { self == .done || self == .failed || self == .cancelled }
}
