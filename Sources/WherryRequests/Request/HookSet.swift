// Wherry: a set of hooks.
// SPDX-License-Identifier: Apache-2.0

/// A set of hooks. The raw values are those of `wherry_hook`.
@usableFromInline package struct HookSet: OptionSet, Hashable, Sendable {
    @usableFromInline package let rawValue: UInt32
    @inlinable package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Whether to edit the request before each attempt.
    @inlinable package static var adapt: Self { Self(rawValue: 1) }
    /// Whether to follow a redirect, and with which request.
    @inlinable package static var redirect: Self { Self(rawValue: 2) }
    /// The credentials after a 401 response.
    @inlinable package static var credentials: Self { Self(rawValue: 4) }
    /// Whether to continue, stop, or save the body, after the response headers.
    @inlinable package static var headers: Self { Self(rawValue: 16) }
    /// Whether to retry after a failure.
    @inlinable package static var retry: Self { Self(rawValue: 8) }
    /// Whether to store a response.
    @inlinable package static var store: Self { Self(rawValue: 32) }
    /// The new bearer token after a 401 response.
    @inlinable package static var token: Self { Self(rawValue: 64) }
    /// The next step of a chain. Called by chains only; clients and requests cannot set it.
    @inlinable package static var next: Self { Self(rawValue: 128) }
    /// The response in place of the network. Called by a rule of a stub; clients and requests cannot
    /// set it.
    @inlinable package static var respond: Self { Self(rawValue: 256) }
    package static let all: HookSet = [
        .adapt, .redirect, .credentials, .retry, .headers, .store, .token,
    ]
}
