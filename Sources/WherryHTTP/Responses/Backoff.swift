// Wherry: the delay before a retry.
// SPDX-License-Identifier: Apache-2.0

/// The delays between attempts of requests and downloads: a random delay up to a bound that doubles
/// from half a second to 30 seconds (DR15, "full jitter"). The random part spreads the retries of
/// clients that failed at the same time.
package enum Backoff {
    /// Returns the longest delay after a number of retries, in nanoseconds: from 0.5 s, doubled up
    /// to 30 s.
    package static func bound(after retries: Int) -> Int64 {
        min(30_000_000_000, 500_000_000 << Int64(max(0, min(retries, 16))))
    }

    /// Returns a random delay up to the bound, in nanoseconds.
    package static func delay(after retries: Int, _ random: inout SplitMix) -> Int64 {
        Int64(random.unit() * Double(bound(after: retries)))
    }
}

/// A small random number generator (splitmix64), sufficient to spread delays.
package struct SplitMix: Sendable {
    package var state: UInt64

    /// Creates a generator from a seed. The same seed gives the same numbers.
    package init(state: UInt64) { self.state = state }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }

    /// Returns a number from 0 up to, but not including, 1.
    package mutating func unit() -> Double { Double(next() >> 11) / 9_007_199_254_740_992 }
}
