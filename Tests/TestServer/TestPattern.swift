// Wherry: the bytes of the test server's /bytes route.
// SPDX-License-Identifier: Apache-2.0

/// The deterministic bytes of `/bytes/N?seed=S`. wherry_testserver/pattern.py explains the formula.
public enum TestPattern {
    private static let gamma: UInt64 = 0x9E37_79B9_7F4A_7C15

    /// Returns the bytes in `range` of the stream with a seed.
    public static func bytes(seed: UInt64 = 1, _ range: Range<Int>) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(range.count)
        var offset = range.lowerBound
        while offset < range.upperBound {
            var value = word(seed: seed, index: UInt64(offset / 8)) >> UInt64(8 * (offset % 8))
            let end = min(range.upperBound, (offset / 8 + 1) * 8)
            while offset < end {
                bytes.append(UInt8(truncatingIfNeeded: value))
                value >>= 8
                offset += 1
            }
        }
        return bytes
    }

    /// Returns the first `count` bytes of the stream with a seed.
    public static func bytes(seed: UInt64 = 1, count: Int) -> [UInt8] {
        bytes(seed: seed, 0..<count)
    }

    private static func word(seed: UInt64, index: UInt64) -> UInt64 {
        mix(seed &+ (index % 8192 &+ 1) &* gamma)
            ^ mix((seed ^ 0x6A09_E667_F3BC_C909) &+ (index / 8192) &* gamma)
    }

    private static func mix(_ start: UInt64) -> UInt64 {
        var z = start
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
