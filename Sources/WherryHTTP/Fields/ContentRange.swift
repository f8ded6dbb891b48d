// Wherry: the Content-Range header.
// SPDX-License-Identifier: Apache-2.0

/// A Content-Range header in bytes (RFC 9110, section 14.4).
package enum ContentRange: Hashable, Sendable {
    /// `bytes first-last/total`, both ends inclusive; `total` is `nil` for `*`.
    case part(first: Int64, last: Int64, total: Int64?)
    /// `bytes */total`: no part, as in a 416 response.
    case unsatisfied(total: Int64)

    /// The size of the whole representation, if known.
    package var total: Int64? {
        switch self {
        case .part(_, _, let total): total
        case .unsatisfied(let total): total
        }
    }

    /// The number of bytes in the part; 0 for none.
    package var count: Int64 {
        switch self {
        case .part(let first, let last, _): last - first + 1
        case .unsatisfied: 0
        }
    }

    /// Parses a header value; `nil` for other units, malformed values, and impossible ranges: the
    /// end before the start, or beyond the total.
    package init?(_ text: some StringProtocol) {
        var scanner = FieldScanner(text.utf8)
        guard scanner.token()?.lowercased() == "bytes", scanner.skip(0x20) else { return nil }
        scanner.skipSpace()
        if scanner.skip(0x2A) {
            guard scanner.skip(0x2F), let total = scanner.number(), scanner.isAtEnd else {
                return nil
            }
            self = .unsatisfied(total: total)
            return
        }
        guard let first = scanner.number(), scanner.skip(0x2D), let last = scanner.number(),
            scanner.skip(0x2F), first <= last, last < .max
        else { return nil }
        var total: Int64?
        if !scanner.skip(0x2A) {
            total = scanner.number()
            guard let total, last < total else { return nil }
        }
        guard scanner.isAtEnd else { return nil }
        self = .part(first: first, last: last, total: total)
    }
}
