// Wherry: statistics of the image loader.
// SPDX-License-Identifier: Apache-2.0

/// The decoded images of a client in memory, and what has happened to loads.
public struct ImageMemoryUsage: Sendable, Hashable {
    /// The number of decoded images in memory.
    public var count = 0
    /// Their size in bytes.
    public var bytes = 0
    /// The maximum of `bytes`.
    public var limit = 0
    /// The number of loads and lookups that found the image in memory.
    public var hits = 0
    /// The number of loads that did not.
    public var misses = 0
    /// The number of requests that were started for loads.
    public var requests = 0

    package init() {}
}
