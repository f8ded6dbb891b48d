// Wherry: the wait before a retry.
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

    /// Returns a random delay up to the bound, but not before the server allows a retry, in
    /// nanoseconds; `nil` if the server asks for a longer wait than the caller accepts.
    ///
    /// - Parameters:
    ///   - asked: The wait that the server asks for, in nanoseconds; 0 or less for none.
    ///   - longest: The longest wait to accept; `nil` for any.
    package static func delay(
        after retries: Int, asked: Int64, longest: Int64?, _ random: inout SplitMix
    ) -> Int64? {
        if let longest, asked > longest { return nil }
        return max(asked, delay(after: retries, &random))
    }
}

/// The current wait of a transfer. Its number tells its end from that of an earlier wait.
package struct PendingWait: Sendable {
    private var last: UInt64 = 0
    /// Whether a wait has begun, and neither ended nor been cancelled.
    package private(set) var isActive = false

    package init() {}

    /// Begins a wait, and returns its number. An earlier wait does not count any more.
    package mutating func begin() -> UInt64 {
        last &+= 1
        isActive = true
        return last
    }

    /// Returns whether a wait is the current one.
    package func isCurrent(_ wait: UInt64) -> Bool { isActive && wait == last }

    /// Ends a wait. Returns `false` if it is not the current one.
    package mutating func end(_ wait: UInt64) -> Bool {
        guard isCurrent(wait) else { return false }
        isActive = false
        return true
    }

    package mutating func cancel() { isActive = false }
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
