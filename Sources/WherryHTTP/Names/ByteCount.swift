// Wherry: byte counts for people.
// SPDX-License-Identifier: Apache-2.0

/// Formats sizes in bytes.
package enum ByteCount {
    /// Returns `1023.9990 KB` below 1 MiB, otherwise `1.2385 MB`: units of 1,024 and four decimals,
    /// rounded half to even like C's `%.4f`. Negative counts as 0.
    package static func text(_ bytes: Int64) -> String {
        let bytes = max(0, bytes)
        let (shift, unit): (Int64, String) = bytes < 1 << 20 ? (10, "KB") : (20, "MB")
        let scale = Int64(1) << shift
        var whole = bytes >> shift
        let (quotient, rest) = ((bytes & (scale - 1)) * 10_000).quotientAndRemainder(
            dividingBy: scale)
        var decimals = quotient
        if rest * 2 > scale || rest * 2 == scale && !decimals.isMultiple(of: 2) { decimals += 1 }
        if decimals == 10_000 { (whole, decimals) = (whole + 1, 0) }
        let digits = String(decimals)
        return "\(whole).\(String(repeating: "0", count: 4 - digits.count))\(digits) \(unit)"
    }
}
