// Wherry: the decisions of the caller.
// SPDX-License-Identifier: Apache-2.0

/// The decisions that the caller is asked for. The raw values are those of `wherry_decision`.
package struct DecisionSet: OptionSet, Sendable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Whether to edit the request before each attempt.
    package static let adapt = DecisionSet(rawValue: 1)
    /// Whether to follow a redirect, and with which request.
    package static let redirect = DecisionSet(rawValue: 2)
    /// The credentials after a 401 response.
    package static let credentials = DecisionSet(rawValue: 4)
    /// Whether to continue, stop, or save the body, after the response headers.
    package static let head = DecisionSet(rawValue: 16)
    /// Whether to retry after a failure.
    package static let retry = DecisionSet(rawValue: 8)
    /// Whether to store a response.
    package static let store = DecisionSet(rawValue: 32)
    /// The new bearer token after a 401 response.
    package static let token = DecisionSet(rawValue: 64)
    /// The next step of a chain. Always asked for by chains; clients and requests cannot set it.
    package static let next = DecisionSet(rawValue: 128)
    /// The response in place of the network. Asked for by a rule of a stub; clients and requests
    /// cannot set it.
    package static let respond = DecisionSet(rawValue: 256)
    package static let all: DecisionSet = [
        .adapt, .redirect, .credentials, .retry, .head, .store, .token,
    ]
}
