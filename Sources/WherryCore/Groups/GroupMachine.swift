// Wherry: the state of a group.
// SPDX-License-Identifier: Apache-2.0

/// The state of a group whose members run concurrently. A value.
///
/// running -> stopping (after a fatal failure or a cancel) or over; stopping -> over.
struct GroupMachine: Sendable {
    /// The consequence of the end of a member.
    enum Action: Sendable, Equatable {
        case nothing
        /// Cancel the other members.
        case cancelOthers
    }

    let policy: RequestGroup.Policy
    let count: Int
    private(set) var ended = 0
    /// The member that failed first, in time.
    private(set) var firstFailed: Int?
    /// Whether members started from now on are cancelled at once.
    private(set) var isStopping = false
    private(set) var wasCancelled = false

    init(_ policy: RequestGroup.Policy, count: Int) {
        self.policy = policy
        self.count = count
    }

    var isOver: Bool { ended == count }
    /// Whether the group fails because of a member.
    var hasFailed: Bool { policy == .failFast && firstFailed != nil }

    /// Handles the end of a member.
    mutating func memberEnded(_ index: Int, isFailure: Bool) -> Action {
        ended += 1
        // Members cancelled because of a failure end after it.
        if isFailure, firstFailed == nil { firstFailed = index }
        guard isFailure, policy == .failFast, !isStopping, !isOver else { return .nothing }
        isStopping = true
        return .cancelOthers
    }

    /// Cancels the group. No effect after a fatal failure.
    mutating func cancel() {
        isStopping = true
        if !hasFailed { wasCancelled = true }
    }
}
