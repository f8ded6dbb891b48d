// Wherry: sets of byte ranges in a file.
// SPDX-License-Identifier: Apache-2.0

/// A set of byte positions, kept as ascending half-open ranges with gaps between them.
package struct ByteRanges: Hashable, Sendable {
    /// In ascending order, nonempty, and neither overlapping nor adjacent.
    package private(set) var ranges: [Range<Int64>] = []

    package init() {}

    /// Creates the union of ranges in any order. Ignores empty ranges.
    package init(_ ranges: some Sequence<Range<Int64>>) {
        for range in ranges { insert(range) }
    }

    package var isEmpty: Bool { ranges.isEmpty }

    /// The number of bytes in the set.
    package var count: Int64 { ranges.reduce(0) { $0 &+ ($1.upperBound &- $1.lowerBound) } }

    /// One past the last byte; 0 if the set is empty.
    package var end: Int64 { ranges.last?.upperBound ?? 0 }

    /// Adds a range and merges overlapping and adjacent ranges.
    package mutating func insert(_ range: Range<Int64>) {
        guard !range.isEmpty else { return }
        // The usual case: the last range grows at its end.
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

    /// Removes every byte at or after `end`.
    package mutating func clip(to end: Int64) {
        ranges = ranges.compactMap { range in
            guard range.lowerBound < end else { return nil }
            return range.lowerBound..<min(range.upperBound, end)
        }
    }

    /// Returns whether every byte of the range is in the set. An empty range always is.
    package func contains(_ range: Range<Int64>) -> Bool {
        range.isEmpty
            || ranges.contains {
                $0.lowerBound <= range.lowerBound && range.upperBound <= $0.upperBound
            }
    }

    /// Returns the first run of missing bytes below `total`, or `nil` if no byte is missing.
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

    /// Returns every run of missing bytes below `total`, in ascending order.
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

    /// Returns the set reduced to its `limit` largest ranges. The result never contains a byte that
    /// is not in the set.
    package func limited(to limit: Int) -> ByteRanges {
        guard ranges.count > limit else { return self }
        let kept = ranges.sorted { $0.upperBound - $0.lowerBound > $1.upperBound - $1.lowerBound }
        return ByteRanges(kept.prefix(max(0, limit)))
    }
}
