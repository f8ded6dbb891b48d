// Wherry: the range that a request asks for.
// SPDX-License-Identifier: Apache-2.0

/// The Range field of a request (RFC 9110, section 14.2).
package enum RangeRequest: Hashable, Sendable {
    /// None.
    case whole
    /// `bytes=first-last`, both ends included; `bytes=first-` has no end.
    case from(Int64, to: Int64?)
    /// `bytes=-count`
    case suffix(Int64)
    /// Several ranges, other units, or what breaks the grammar: for the origin to judge.
    case other

    /// Reads the field of a request.
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

    /// What the range means for a representation.
    package enum Resolved: Hashable, Sendable {
        case bytes(first: Int64, last: Int64)
        /// Nothing of it is there.
        case unsatisfiable
        /// Cannot be told.
        case unknown
    }

    /// The bytes of a representation of that length that are asked for.
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

    /// The bytes that are asked for, where all of them lie in the part.
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
