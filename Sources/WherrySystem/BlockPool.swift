// Wherry: memory for bytes that pass through, used again.
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Blocks of one size. A few that were given back are kept for the next: memory that is made anew for
/// each of many blocks is memory that the kernel clears anew each time. From any thread.
@usableFromInline
package final class BlockPool: Sendable {
    /// Bytes in each block.
    package let blockSize: Int
    private let most: Int
    private let kept: Lock<Kept>

    private struct Kept {
        var blocks: [UnsafeMutableRawPointer] = []
        /// Blocks were asked for since all were freed.
        var isInUse = false
    }

    /// - Parameter most: how many are kept at the same time.
    package init(blockSize: Int, most: Int) {
        self.blockSize = max(1, blockSize)
        self.most = most
        var kept = Kept()
        kept.blocks.reserveCapacity(most)
        self.kept = Lock(kept)
    }

    deinit { freeAll() }

    /// A block, the one that was given back last; `nil` if there is no memory.
    package func take() -> UnsafeMutableRawPointer? {
        let block = kept.withLock { kept in
            kept.isInUse = true
            return kept.blocks.popLast()
        }
        return block ?? malloc(blockSize)
    }

    /// Takes a block back.
    package func give(_ block: UnsafeMutableRawPointer) {
        let isKept = kept.withLock { kept in
            guard kept.isInUse, kept.blocks.count < most else { return false }
            kept.blocks.append(block)
            return true
        }
        if !isKept { free(block) }
    }

    /// Gives memory of malloc to its pool, or to free where it is nobody's block.
    static func release(_ memory: UnsafeMutableRawPointer?, to pool: BlockPool?) {
        if let pool, let memory { pool.give(memory) } else { free(memory) }
    }

    /// Gives back what is kept, and what comes back before one is taken again.
    package func freeAll() {
        let blocks = kept.withLock { kept in
            kept.isInUse = false
            defer { kept.blocks.removeAll(keepingCapacity: true) }
            return kept.blocks
        }
        for block in blocks { free(block) }
    }
}
