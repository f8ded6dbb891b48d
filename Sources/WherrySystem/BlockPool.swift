// Wherry: a pool of memory blocks for transient data.
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A pool of memory blocks of one size. Thread-safe.
///
/// The pool keeps a few returned blocks for reuse, because the kernel must clear each newly
/// allocated block.
@usableFromInline
package final class BlockPool: Sendable {
    /// The size of a block in bytes.
    package let blockSize: Int
    private let most: Int
    private let kept: Lock<Kept>

    private struct Kept {
        var blocks: [UnsafeMutableRawPointer] = []
        /// Whether a block was requested since the last `freeAll`.
        var isInUse = false
    }

    /// - Parameter most: The number of free blocks to keep.
    package init(blockSize: Int, most: Int) {
        self.blockSize = max(1, blockSize)
        self.most = most
        var kept = Kept()
        kept.blocks.reserveCapacity(most)
        self.kept = Lock(kept)
    }

    deinit { freeAll() }

    /// Returns a block, the most recently returned one first; `nil` if out of memory.
    package func take() -> UnsafeMutableRawPointer? {
        let block = kept.withLock { kept in
            kept.isInUse = true
            return kept.blocks.popLast()
        }
        return block ?? malloc(blockSize)
    }

    /// Returns a block to the pool.
    package func give(_ block: UnsafeMutableRawPointer) {
        let isKept = kept.withLock { kept in
            guard kept.isInUse, kept.blocks.count < most else { return false }
            kept.blocks.append(block)
            return true
        }
        if !isKept { free(block) }
    }

    /// Returns memory to its pool, or frees it if it is not a pool's block.
    static func release(_ memory: UnsafeMutableRawPointer?, to pool: BlockPool?) {
        if let pool, let memory { pool.give(memory) } else { free(memory) }
    }

    /// Frees the kept blocks, and every block returned before the next `take`.
    package func freeAll() {
        let blocks = kept.withLock { kept in
            kept.isInUse = false
            defer { kept.blocks.removeAll(keepingCapacity: true) }
            return kept.blocks
        }
        for block in blocks { free(block) }
    }
}
