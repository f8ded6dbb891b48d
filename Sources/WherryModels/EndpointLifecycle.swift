// Wherry: the state of an endpoint.
// SPDX-License-Identifier: Apache-2.0

import WherryCore

/// The state of an endpoint or a model. The raw values are those of SJNetwork.
public enum EndpointState: Int32, Sendable {
    /// Not accessed yet. Next: loading.
    case created = 1
    /// An access is in progress. Next: succeeded, failed or cancelled, or loading if replaced.
    case loading = 2
    /// The last access succeeded. Next: loading, as for the following states.
    case succeeded = 3
    /// The last access failed.
    case failed = 4
    /// The last access was cancelled.
    case cancelled = 5
}

/// Decides which of several accesses is current (O2). Performs no I/O.
package struct EndpointLifecycle: Sendable {
    /// The report of the end of an access.
    package enum End: Sendable, Hashable {
        /// The access is current: report its result.
        case tell
        /// A newer access replaced this one: report `replaced`, whatever its result.
        case replaced
    }

    package private(set) var state = EndpointState.created
    /// The number of the current access; 0 before the first.
    private var current: UInt64 = 0

    package init() {}

    /// Starts an access. Returns its number, and whether it replaces another one.
    package mutating func begin() -> (number: UInt64, replaces: Bool) {
        let replaces = state == .loading
        current += 1
        state = .loading
        return (current, replaces)
    }

    /// Whether there is an access to cancel.
    package var mayCancel: Bool { state == .loading }

    /// Handles the end of an access. Only the current access changes the state.
    package mutating func end(_ number: UInt64, _ outcome: EndpointState) -> End {
        guard number == current, state == .loading else { return .replaced }
        state = outcome
        return .tell
    }
}
