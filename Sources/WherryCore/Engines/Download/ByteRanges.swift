// Wherry: which bytes of a file are there
// SPDX-License-Identifier: Apache-2.0

/// A set of byte positions, kept as ascending half-open ranges with gaps between them.
package struct ByteRanges: Hashable, Sendable {
    /// Ascending, not empty, neither overlapping nor touching.
    package private(set) var ranges: [Range<Int64>] = []

    package init() {}

    /// The union of some ranges in any order. Empty ones count for nothing.
    package init(_ ranges: some Sequence<Range<Int64>>) {
        for range in ranges { insert(range) }
    }

    package var isEmpty: Bool { ranges.isEmpty }

    /// How many bytes there are.
    package var count: Int64 { ranges.reduce(0) { $0 &+ ($1.upperBound &- $1.lowerBound) } }

    /// One past the last byte; 0 if there is none.
    package var end: Int64 { ranges.last?.upperBound ?? 0 }

    /// Adds a range, and merges what touches it.
    package mutating func insert(_ range: Range<Int64>) {
        guard !range.isEmpty else { return }
        // The usual case: the file grows at the end of its last piece.
        if let last = ranges.last, last.upperBound == range.lowerBound {
            ranges[ranges.count - 1] = last.lowerBound..<range.upperBound
            return
        }
        let first = ranges.firstIndex { $0.upperBound >= range.lowerBound } ?? ranges.count
        let after = ranges.firstIndex { $0.lowerBound > range.upperBound } ?? ranges.count
        guard first < after else {
            ranges.insert(range, at: first)
            return
        }
        let lower = min(range.lowerBound, ranges[first].lowerBound)
        let upper = max(range.upperBound, ranges[after - 1].upperBound)
        ranges.replaceSubrange(first..<after, with: [lower..<upper])
    }

    /// Forgets everything from `end` on.
    package mutating func clip(to end: Int64) {
        ranges = ranges.compactMap { range in
            guard range.lowerBound < end else { return nil }
            return range.lowerBound..<min(range.upperBound, end)
        }
    }

    /// Whether every byte of the range is there; true for an empty one.
    package func contains(_ range: Range<Int64>) -> Bool {
        range.isEmpty
            || ranges.contains {
                $0.lowerBound <= range.lowerBound && range.upperBound <= $0.upperBound
            }
    }

    /// The first run of missing bytes below `total`, or `nil` if nothing is missing.
    package func firstGap(below total: Int64) -> Range<Int64>? {
        var start: Int64 = 0
        for range in ranges {
            if range.lowerBound > start { break }
            start = range.upperBound
        }
        guard start < total else { return nil }
        let next = ranges.first { $0.lowerBound > start }?.lowerBound ?? total
        return start..<min(next, total)
    }

    /// Every run of missing bytes below `total`, in order.
    package func gaps(below total: Int64) -> [Range<Int64>] {
        var gaps: [Range<Int64>] = []
        var start: Int64 = 0
        for range in ranges where start < total {
            if range.lowerBound > start {
                gaps.append(start..<min(range.lowerBound, total))
            }
            start = range.upperBound
        }
        if start < total { gaps.append(start..<total) }
        return gaps
    }

    /// The set with at most `limit` ranges: the smallest are left out, which claims less than
    /// there is but never more.
    package func limited(to limit: Int) -> ByteRanges {
        guard ranges.count > limit else { return self }
        let kept = ranges.sorted { $0.upperBound - $0.lowerBound > $1.upperBound - $1.lowerBound }
        return ByteRanges(kept.prefix(max(0, limit)))
    }
}
