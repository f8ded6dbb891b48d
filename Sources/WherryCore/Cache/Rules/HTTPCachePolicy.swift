// Wherry: how a request uses the HTTP cache.
// SPDX-License-Identifier: Apache-2.0

/// The four policies of NSURLRequest (K12).
package enum HTTPCachePolicy: Int, Sendable {
    /// As RFC 9111 says.
    case byProtocol = 10
    /// Nothing is read; the answer is stored.
    case reload = 11
    /// A stored answer of any age, else the network.
    case anyAge = 12
    /// A stored answer of any age, else none: the network is not asked.
    case anyAgeOnly = 13
}

/// What a caller sets beside the policy.
package struct HTTPCacheOptions: Sendable {
    package var policy = HTTPCachePolicy.byProtocol
    /// How long past its end an answer may serve where the origin fails (K17); milliseconds.
    package var staleIfError: Int64 = 0

    package init(policy: HTTPCachePolicy = .byProtocol, staleIfError: Int64 = 0) {
        self.policy = policy
        self.staleIfError = staleIfError
    }
}
