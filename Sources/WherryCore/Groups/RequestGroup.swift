// Wherry: requests that belong together, before they are sent.
// SPDX-License-Identifier: Apache-2.0

/// Requests that belong together, sent at once (R34) or one after the other (R35), ended as one.
///
///     var group = RequestGroup()
///     for id in ids { group.add(Request("items/\(id)")) }
///     let items = try await client.send(group).responses
///
/// A plain value, as ``Request`` is: sending takes a snapshot. A member may be a group itself.
public struct RequestGroup: Sendable {
    /// What becomes of the others when one fails. The raw values are `wherry_group_policy`'s.
    public enum Policy: Int32, Sendable, Hashable, CaseIterable {
        /// All are sent at once. The first that fails cancels the others and fails the group.
        case failFast = 0
        /// All are sent at once, and each goes to its end, whatever becomes of the others. The
        /// group is done when all have ended, also if some failed.
        case allSettled = 1
        /// One begins when the one before has succeeded; the first that fails is the end. After
        /// each it may be decided what follows.
        case chain = 2
    }

    /// One member, and what the face of a language knows it by.
    package struct Member: Sendable {
        package enum Content: Sendable {
            case request(Request)
            case group(RequestGroup)
        }
        package var content: Content
        package var userData: UInt

        package init(content: Content, userData: UInt) {
            self.content = content
            self.userData = userData
        }

        package var isGroup: Bool {
            if case .group = content { true } else { false }
        }
    }

    /// So deep groups stand in each other at most.
    package static let mostDepth = 16

    /// What becomes of the others when one fails; fail fast by default.
    public var policy: Policy
    package private(set) var members: [Member] = []
    /// How deep groups stand in each other; 1 without a group among its members.
    package private(set) var depth = 1
    /// Who says what follows a step of a chain; known to the face of a language.
    package var next: (any Sendable)?

    /// A group without members.
    public init(_ policy: Policy = .failFast) { self.policy = policy }

    /// A group of requests.
    public init(_ requests: [Request], policy: Policy = .failFast) {
        self.policy = policy
        for request in requests { add(request) }
    }

    /// How many members it has; a group among them is one.
    public var count: Int { members.count }

    /// Adds a request, or an upload.
    public mutating func add(_ request: Request) { add(request, userData: UInt(members.count)) }

    /// Adds a group as it is now. It ends as its own policy says, and counts as one member.
    ///
    /// - Throws: `bad_argument` where groups would be more than 16 deep in each other.
    public mutating func add(_ group: RequestGroup) throws(WherryError) {
        try add(group, userData: UInt(members.count))
    }

    package mutating func add(_ request: Request, userData: UInt) {
        members.append(Member(content: .request(request), userData: userData))
    }

    package mutating func add(_ group: RequestGroup, userData: UInt) throws(WherryError) {
        guard group.depth < Self.mostDepth else {
            throw .tooDeepGroups
        }
        depth = max(depth, group.depth + 1)
        members.append(Member(content: .group(group), userData: userData))
    }
}

/// What a group brought, in the order in which its members were added; a chain step by step.
public struct GroupAnswer: Sendable {
    /// What became of one member.
    public enum Member: Sendable {
        /// A request that succeeded.
        case response(Response)
        /// A group that was done; in one of all settled ones some may have failed.
        case group(GroupAnswer)
        /// A member that failed or was cancelled; the error's `response` has the server's words.
        case failed(WherryError)

        /// The answer of a request, also one that refused it; `nil` for a group, or without one.
        public var response: Response? {
            switch self {
            case .response(let response): response
            case .failed(let error): error.response
            case .group: nil
            }
        }
        /// Why it failed; `nil` if it did not.
        public var error: WherryError? {
            if case .failed(let error) = self { error } else { nil }
        }
    }

    /// What became of each.
    public let members: [Member]
    /// Whether all of it came from a cache, without asking a server. Not so for a group of none.
    public let isFromCache: Bool

    package init(members: [Member], isFromCache: Bool) {
        self.members = members
        self.isFromCache = isFromCache
    }

    /// The answers of the requests that succeeded, those of groups among the members too.
    public var responses: [Response] {
        members.flatMap { member -> [Response] in
            switch member {
            case .response(let response): [response]
            case .group(let group): group.responses
            case .failed: []
            }
        }
    }
    /// Why members failed, in the order of adding; those of groups among them too.
    public var errors: [WherryError] {
        members.flatMap { member -> [WherryError] in
            switch member {
            case .response: []
            case .group(let group): group.errors
            case .failed(let error): [error]
            }
        }
    }
}
