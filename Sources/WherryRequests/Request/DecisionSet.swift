// Wherry: the decisions of the caller.
// SPDX-License-Identifier: Apache-2.0

/// The decisions that the caller is asked for. The raw values are those of `wherry_decision`.
@usableFromInline package struct DecisionSet: OptionSet, Sendable {
    @usableFromInline package let rawValue: UInt32
    @inlinable package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Whether to edit the request before each attempt.
    @inlinable package static var adapt: Self { Self(rawValue: 1) }
    /// Whether to follow a redirect, and with which request.
    @inlinable package static var redirect: Self { Self(rawValue: 2) }
    /// The credentials after a 401 response.
    @inlinable package static var credentials: Self { Self(rawValue: 4) }
    /// Whether to continue, stop, or save the body, after the response headers.
    @inlinable package static var head: Self { Self(rawValue: 16) }
    /// Whether to retry after a failure.
    @inlinable package static var retry: Self { Self(rawValue: 8) }
    /// Whether to store a response.
    @inlinable package static var store: Self { Self(rawValue: 32) }
    /// The new bearer token after a 401 response.
    @inlinable package static var token: Self { Self(rawValue: 64) }
    /// The next step of a chain. Always asked for by chains; clients and requests cannot set it.
    @inlinable package static var next: Self { Self(rawValue: 128) }
    /// The response in place of the network. Asked for by a rule of a stub; clients and requests
    /// cannot set it.
    @inlinable package static var respond: Self { Self(rawValue: 256) }
    package static let all: DecisionSet = [
        .adapt, .redirect, .credentials, .retry, .head, .store, .token,
    ]
}
