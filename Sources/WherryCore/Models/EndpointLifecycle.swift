// Wherry: which access of an endpoint counts.
// SPDX-License-Identifier: Apache-2.0

/// Where an endpoint or a model stands. The raw values are those of the system it follows.
public enum EndpointState: Int32, Sendable {
    /// Nothing was accessed yet. Goes to loading.
    case created = 1
    /// An access is on its way. Goes to any of the next three, and to loading when replaced.
    case loading = 2
    /// The last access succeeded. Goes to loading, as the two that follow do.
    case succeeded = 3
    /// The last access failed.
    case failed = 4
    /// The last access was cancelled.
    case cancelled = 5
}

/// Decides which of several accesses is the one that counts (O2). Pure.
package struct EndpointLifecycle: Sendable {
    /// What becomes of an end.
    package enum End: Sendable, Hashable {
        /// It is the access that counts.
        case tell
        /// A newer access took its place: it ends as replaced, whatever it brought.
        case replaced
    }

    package private(set) var state = EndpointState.created
    /// The access that counts; 0 before the first.
    private var current: UInt64 = 0

    package init() {}

    /// A new access begins. Returns its number, and whether it takes the place of one.
    package mutating func begin() -> (number: UInt64, replaces: Bool) {
        let replaces = state == .loading
        current += 1
        state = .loading
        return (current, replaces)
    }

    /// Whether a cancel has something to cancel.
    package var mayCancel: Bool { state == .loading }

    /// An access has ended. A late one changes nothing.
    package mutating func end(_ number: UInt64, _ outcome: EndpointState) -> End {
        guard number == current, state == .loading else { return .replaced }
        state = outcome
        return .tell
    }
}
