// Wherry: cache policies.
// SPDX-License-Identifier: Apache-2.0

/// The four policies of NSURLRequest (K12), and one for a request after its stored response was
/// shown.
package enum HTTPCachePolicy: Sendable {
    /// According to RFC 9111.
    case byProtocol
    /// Does not read the cache; stores the response.
    case reload
    /// Uses a stored response of any age, otherwise the network.
    case anyAge
    /// Uses a stored response of any age, otherwise fails without the network.
    case anyAgeOnly
    /// Validates the stored response, even if it is fresh (K16).
    case validate
}

/// The caller's cache options besides the policy.
package struct HTTPCacheOptions: Sendable {
    package var policy = HTTPCachePolicy.byProtocol
    /// The time that a stale response may be used if the origin fails (K17), in milliseconds.
    package var staleIfError: Int64 = 0

    package init(policy: HTTPCachePolicy = .byProtocol, staleIfError: Int64 = 0) {
        self.policy = policy
        self.staleIfError = staleIfError
    }
}
