// Wherry: division of a download into segments.
// SPDX-License-Identifier: Apache-2.0

/// Divides the missing bytes of a file among additional connections. Stateless.
package enum SegmentPlan {
    /// The smallest segment to take from another connection, in bytes.
    package static let minimum: Int64 = 1 << 20
    /// The smallest segment to take from a slow connection, in bytes.
    package static let smallMinimum: Int64 = 65_536

    /// A run of missing bytes.
    package struct Chunk: Hashable, Sendable {
        package var range: Range<Int64>
        /// Whether a connection is receiving the bytes, starting with the first.
        package var isTaken: Bool

        package init(_ range: Range<Int64>, isTaken: Bool) {
            self.range = range
            self.isTaken = isTaken
        }
    }

    /// Returns the segments for up to `count` additional connections, in ascending order.
    ///
    /// The largest chunk is divided first, and chunks are divided evenly. If a segment begins
    /// inside a taken chunk, the connection that receives this chunk ends there.
    ///
    /// - Parameters:
    ///   - chunks: Separate chunks in any order.
    ///   - minimum: The smallest segment to take from a connection, in bytes. A chunk without a
    ///     connection may be smaller.
    package static func shares(
        of chunks: [Chunk], for count: Int, minimum: Int64 = minimum
    ) -> [Range<Int64>] {
        var parts = chunks.map { $0.isTaken ? 1 : 0 }
        for _ in 0..<max(0, count) {
            let best = chunks.indices.max {
                size(chunks[$0], parts[$0]) < size(chunks[$1], parts[$1])
            }
            guard let best, size(chunks[best], parts[best]) > 0,
                parts[best] == 0 || size(chunks[best], parts[best]) >= minimum
            else { break }
            parts[best] += 1
        }
        var shares: [Range<Int64>] = []
        for (chunk, count) in zip(chunks, parts) {
            var bounds = (0..<count).map { cut(chunk.range, $0, of: count) }
            bounds.append(chunk.range.upperBound)
            for (start, end) in zip(bounds, bounds.dropFirst()).dropFirst(chunk.isTaken ? 1 : 0) {
                shares.append(start..<end)
            }
        }
        return shares.sorted { $0.lowerBound < $1.lowerBound }
    }

    /// Returns the size of a chunk's segments after another division.
    private static func size(_ chunk: Chunk, _ parts: Int) -> Int64 {
        Int64(chunk.range.count) / Int64(parts + 1)
    }

    /// Returns the start of a segment, rounded to a whole block if the segments are large.
    private static func cut(_ range: Range<Int64>, _ index: Int, of count: Int) -> Int64 {
        guard index > 0 else { return range.lowerBound }
        let piece = (range.upperBound - range.lowerBound) / Int64(count)
        let start = range.lowerBound + piece * Int64(index)
        // Writes of whole blocks are faster. A segment is at least twice as large as its block.
        let block: Int64 = piece >= minimum ? 262_144 : 4_096
        let rounded = start - start % block
        return rounded > range.lowerBound + piece * Int64(index - 1) ? rounded : start
    }
}
