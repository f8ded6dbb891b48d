// Wherry: how a request uses the HTTP cache.
// SPDX-License-Identifier: Apache-2.0

/// The four policies of NSURLRequest (K12), and that of a request which was shown what is stored.
package enum HTTPCachePolicy: Sendable {
    /// As RFC 9111 says.
    case byProtocol
    /// Nothing is read; the answer is stored.
    case reload
    /// A stored answer of any age, else the network.
    case anyAge
    /// A stored answer of any age, else none: the network is not asked.
    case anyAgeOnly
    /// The origin is asked whether what is stored is still good, however fresh it is (K16).
    case validate
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
