// Wherry: the Range header.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP

/// The Range header of a request (RFC 9110, section 14.2).
package enum RangeRequest: Hashable, Sendable {
    /// No range.
    case whole
    /// `bytes=first-last`, both ends inclusive; `bytes=first-` has no end.
    case from(Int64, to: Int64?)
    /// `bytes=-count`.
    case suffix(Int64)
    /// Several ranges, other units, or malformed: the origin must handle it.
    case other

    /// Parses the header of a request.
    package init(_ headers: Headers) {
        let lines = headers.values("range")
        guard let line = lines.first else {
            self = .whole
            return
        }
        self = lines.count == 1 ? RangeRequest(line) ?? .other : .other
    }

    private init?(_ text: String) {
        var scanner = FieldScanner(text.utf8)
        scanner.skipSpace()
        guard scanner.token()?.lowercased() == "bytes", scanner.skip(0x3D) else { return nil }
        scanner.skipSpace()
        if scanner.skip(0x2D) {
            guard let count = scanner.number() else { return nil }
            self = .suffix(count)
        } else {
            guard let first = scanner.number(), scanner.skip(0x2D) else { return nil }
            var last: Int64?
            if let next = scanner.next, next != 0x20, next != 0x09 {
                guard let number = scanner.number(), number >= first else { return nil }
                last = number
            }
            self = .from(first, to: last)
        }
        scanner.skipSpace()
        guard scanner.isAtEnd else { return nil }
    }

    /// The range applied to a representation.
    package enum Resolved: Hashable, Sendable {
        case bytes(first: Int64, last: Int64)
        /// The range is outside of the representation.
        case unsatisfiable
        /// Unknown.
        case unknown
    }

    /// Applies the range to a representation of a length.
    package func resolved(length: Int64) -> Resolved {
        switch self {
        case .whole, .other: return .unknown
        case .from(let first, let last):
            guard first < length else { return .unsatisfiable }
            return .bytes(first: first, last: min(last ?? .max, length - 1))
        case .suffix(let count):
            guard count > 0, length > 0 else { return .unsatisfiable }
            return .bytes(first: max(0, length - count), last: length - 1)
        }
    }

    /// Applies the range to a stored part that contains all of it.
    package func resolved(in part: StoredPart) -> Resolved {
        let range: Resolved
        if let total = part.total {
            range = resolved(length: total)
        } else if case .from(let first, let last?) = self {
            range = .bytes(first: first, last: last)
        } else {
            return .unknown
        }
        guard case .bytes(let first, let last) = range else { return .unknown }
        return first >= part.first && last <= part.last ? range : .unknown
    }
}
