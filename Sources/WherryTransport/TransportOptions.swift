// Wherry: the options that the transport reads.
// SPDX-License-Identifier: Apache-2.0
// Written by scripts/make-options from options.toml.

/// The options of a request that the transport reads.
package struct TransportOptions: Sendable {
    /// The maximum size of the response headers in bytes.
    package var maxHeaderBytes: Int64 = 307_200
    /// The maximum send rate of one transfer in bytes per second. 0: no limit.
    package var maxSendSpeed: Int64 = 0
    /// The maximum receive rate of one transfer in bytes per second. 0: no limit.
    package var maxReceiveSpeed: Int64 = 0
    /// Whether to fail with `metered` instead of connecting over a mobile network.
    package var denyMetered = false

    package init() {}
}
