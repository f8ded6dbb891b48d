// Wherry: a group of requests.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherryRequests

/// A group of requests, sent concurrently (R34) or one after another (R35), that ends as one
/// transfer.
///
///     var group = RequestGroup()
///     for id in ids { group.add(Request("items/\(id)")) }
///     let items = try await client.send(group).responses
///
/// A value type, like ``/WherryRequests/Request``: sending copies the group. A member may be another group.
public struct RequestGroup: Sendable {
    /// The effect of a failed member on the others. The raw values are those of
    /// `wherry_group_policy`.
    public enum Policy: Int32, Sendable, Hashable, CaseIterable {
        /// Sends all members concurrently. The first failure cancels the others and fails the
        /// group.
        case failFast = 0
        /// Sends all members concurrently, and lets each one run to its end. The group succeeds
        /// when all have ended, even if some failed.
        case allSettled = 1
        /// Starts each member after the previous one succeeded; the first failure ends the chain. A
        /// hook may add members after each step.
        case chain = 2
    }

    /// A member, with the identifier that a language binding uses.
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

    /// The maximum nesting depth of groups.
    package static let mostDepth = 16

    /// The effect of a failed member on the others. Default: fail fast.
    public var policy: Policy
    package private(set) var members: [Member] = []
    /// The nesting depth; 1 without a group among the members.
    package private(set) var depth = 1
    /// The hook that adds steps to a chain; its type belongs to the language binding.
    package var next: (any Sendable)?
    /// A value that the program attaches to the group, as ``/WherryRequests/Request/userInfo`` is
    /// attached to a request. It becomes ``Transfer/userInfo`` of the group's transfer. Default:
    /// `nil`.
    public var userInfo: (any Sendable)?

    /// Creates an empty group.
    public init(_ policy: Policy = .failFast) { self.policy = policy }

    /// Creates a group of requests.
    public init(_ requests: [Request], policy: Policy = .failFast) {
        self.policy = policy
        for request in requests { add(request) }
    }

    /// The number of members; a nested group counts as one.
    public var count: Int { members.count }

    /// Adds a request or an upload.
    public mutating func add(_ request: Request) { add(request, userData: UInt(members.count)) }

    /// Adds a snapshot of a group. It follows its own policy and counts as one member.
    ///
    /// - Throws: `bad_argument` if groups would be nested more than 16 deep.
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

/// The results of a group, in the order in which its members were added. The results of a chain are
/// in step order.
public struct GroupResult: Sendable {
    /// The result of a member.
    public enum Member: Sendable {
        /// A request that succeeded.
        case response(Response)
        /// A nested group that succeeded; with the all-settled policy some members may have failed.
        case group(GroupResult)
        /// A member that failed or was cancelled; the error's `response` holds the server's
        /// response.
        case failed(WherryError)

        /// The response of a request, even an error response; `nil` for a group, or without a
        /// response.
        public var response: Response? {
            switch self {
            case .response(let response): response
            case .failed(let error): error.response
            case .group: nil
            }
        }
        /// The error of a failed member; otherwise `nil`.
        public var error: WherryError? {
            if case .failed(let error) = self { error } else { nil }
        }
    }

    /// The results of the members.
    public let members: [Member]
    /// Whether all responses came from a cache without contacting a server. False for an empty
    /// group.
    public let isFromCache: Bool

    package init(members: [Member], isFromCache: Bool) {
        self.members = members
        self.isFromCache = isFromCache
    }

    /// The responses of the successful requests, including those in nested groups.
    public var responses: [Response] {
        members.flatMap { member -> [Response] in
            switch member {
            case .response(let response): [response]
            case .group(let group): group.responses
            case .failed: []
            }
        }
    }
    /// The errors of failed members in the order of adding, including those in nested groups.
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

extension WherryError {
    static let tooDeepGroups = WherryError(
        .badArgument, "Groups can be nested at most 16 deep")
}
