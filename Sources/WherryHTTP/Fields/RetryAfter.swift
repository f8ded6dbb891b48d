// Wherry: the Retry-After header.
// SPDX-License-Identifier: Apache-2.0

/// The Retry-After header (RFC 9110, section 10.2.3).
package enum RetryAfter {
    /// Returns the seconds to wait from `now` (seconds since 1970), for a number or a date.
    ///
    /// A date in the past gives 0, a number above 64 bits the largest value. `nil` for anything
    /// else.
    package static func seconds(_ text: some StringProtocol, now: Int64) -> Int64? {
        let digits = text.utf8
        if !digits.isEmpty, digits.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) {
            return FieldScanner.number(digits) ?? .max
        }
        guard let date = HTTPDate.parse(text, now: now) else { return nil }
        let (wait, overflowed) = date.subtractingReportingOverflow(now)
        return overflowed ? (now < 0 ? .max : 0) : max(0, wait)
    }
}
