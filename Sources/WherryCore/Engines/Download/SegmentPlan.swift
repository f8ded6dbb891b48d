// Wherry: how the missing bytes of a file are shared among connections
// SPDX-License-Identifier: Apache-2.0

/// Finds work for further connections in what is missing of a file. No state.
package enum SegmentPlan {
    /// Nothing smaller is cut off from what a connection brings.
    package static let minimum: Int64 = 1 << 20
    /// The same where the connection is slow.
    package static let smallMinimum: Int64 = 65_536

    /// A run of missing bytes.
    package struct Chunk: Hashable, Sendable {
        package var range: Range<Int64>
        /// A connection brings it, from its start on.
        package var isTaken: Bool

        package init(_ range: Range<Int64>, isTaken: Bool) {
            self.range = range
            self.isTaken = isTaken
        }
    }

    /// The shares of up to `count` further connections, in order.
    ///
    /// The largest piece is cut first, and chunks are cut evenly. Where a share begins inside of a
    /// chunk that is taken, whoever brings that one ends there.
    ///
    /// - Parameters:
    ///   - chunks: in any order, apart from each other.
    ///   - minimum: the least that is cut off. A chunk that nobody brings may be smaller.
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

    /// The size of a chunk's pieces if it were cut once more.
    private static func size(_ chunk: Chunk, _ parts: Int) -> Int64 {
        Int64(chunk.range.count) / Int64(parts + 1)
    }

    /// Where the piece of that number begins: at a whole block where the pieces are large.
    private static func cut(_ range: Range<Int64>, _ index: Int, of count: Int) -> Int64 {
        guard index > 0 else { return range.lowerBound }
        let piece = (range.upperBound - range.lowerBound) / Int64(count)
        let start = range.lowerBound + piece * Int64(index)
        // Writes of whole blocks are faster, and a piece is never less than twice its block.
        let block: Int64 = piece >= minimum ? 262_144 : 4_096
        let rounded = start - start % block
        return rounded > range.lowerBound + piece * Int64(index - 1) ? rounded : start
    }
}
