// Wherry: who of a group still runs, and what the end of one means for the others.
// SPDX-License-Identifier: Apache-2.0

/// The life of a group whose members run at once, as a value.
///
/// running -> stopping (one failed that may not, or it was cancelled) or over; stopping -> over.
struct GroupMachine: Sendable {
    /// What follows from the end of a member.
    enum Action: Sendable, Equatable {
        case nothing
        /// The others are to be cancelled.
        case cancelOthers
        /// None is left.
        case end
    }

    let policy: RequestGroup.Policy
    let count: Int
    private(set) var ended = 0
    /// The member that failed first, in time.
    private(set) var firstFailed: Int?
    /// What is started from now on is cancelled at once.
    private(set) var isStopping = false
    private(set) var wasCancelled = false

    init(_ policy: RequestGroup.Policy, count: Int) {
        self.policy = policy
        self.count = count
    }

    var isOver: Bool { ended == count }
    /// Whether the group fails for a member's sake.
    var hasFailed: Bool { policy == .failFast && firstFailed != nil }

    /// A member has ended.
    mutating func memberEnded(_ index: Int, isFailure: Bool) -> Action {
        ended += 1
        // Those that end because the others are cancelled come after it.
        if isFailure, firstFailed == nil { firstFailed = index }
        if isOver { return .end }
        guard isFailure, policy == .failFast, !isStopping else { return .nothing }
        isStopping = true
        return .cancelOthers
    }

    /// All of it is to end. After a failure that ends it anyway this changes nothing.
    mutating func cancel() {
        isStopping = true
        if !hasFailed { wasCancelled = true }
    }
}
