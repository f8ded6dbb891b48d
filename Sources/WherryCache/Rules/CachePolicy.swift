// Wherry: cache policies and cache settings of a request.
// SPDX-License-Identifier: Apache-2.0

/// The use of a cache by a request. The raw values are those of `wherry_cache_policy`.
public enum CachePolicy: Int32, Sendable, CaseIterable {
    /// Neither reads nor stores. An unsafe method still invalidates entries of the HTTP cache if
    /// the client uses it.
    case off = 0
    /// The timed cache: returns a valid stored response without the network, otherwise sends the
    /// request.
    case use = 1
    /// The timed cache only: never uses the network; fails with `cacheMiss` and the reason if no
    /// valid response is stored.
    case only = 2
    /// Ignores stored responses, sends the request, and stores the response: in the timed cache if
    /// `Request.cacheDuration` is above zero, and in the HTTP cache if the client has one.
    case refresh = 3
    /// Returns the stored response at once, then sends the request, whose response completes the
    /// transfer. The HTTP cache returns a stored response of any age, and the request only
    /// validates it.
    case thenNetwork = 4
    /// The HTTP cache according to RFC 9111. The default if `Client.Configuration.usesHTTPCache`
    /// is on.
    case `protocol` = 10
    /// The HTTP cache: ignores stored responses and stores the new one.
    case reload = 11
    /// The HTTP cache: returns a stored response of any age, otherwise uses the network.
    case anyAge = 12
    /// The HTTP cache: returns a stored response of any age, otherwise fails with `cacheMiss`;
    /// never uses the network.
    case anyAgeOnly = 13
}

/// The cache settings of a request.
package struct RequestCaching: Hashable, Sendable {
    package var policy: CachePolicy?
    /// In milliseconds.
    package var duration: Int64 = 0
    package var version: Int64 = 0
    package var partition = ""
    package var ignored: Set<String> = []
    /// Header names as written.
    package var fields: [String] = []

    package init() {}

    /// In milliseconds.
    package var staleIfError: Int64 = 0

    /// Whether the request reads the timed cache.
    package var reads: Bool { policy == .use || policy == .only || policy == .thenNetwork }

    /// Whether the response is stored in the timed cache.
    package var writes: Bool {
        switch policy {
        case nil, .use, .refresh, .thenNetwork: duration > 0
        case .off, .only, .protocol, .reload, .anyAge, .anyAgeOnly: false
        }
    }

    /// Returns how the request uses the HTTP cache; `nil` if it does not.
    ///
    /// - Parameter isOn: Whether requests of the client use it by default.
    package static func httpPolicy(_ policy: CachePolicy?, isOn: Bool) -> HTTPCachePolicy? {
        switch policy {
        case .off, .only: nil
        case .protocol: .byProtocol
        case .reload: .reload
        case .anyAge: .anyAge
        case .anyAgeOnly: .anyAgeOnly
        case nil, .use: isOn ? .byProtocol : nil
        case .refresh: isOn ? .reload : nil
        case .thenNetwork: isOn ? .validate : nil
        }
    }
}
