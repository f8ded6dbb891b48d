// Wherry: compression of request bodies during the transfer.
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
import WherrySystem

/// Compresses another body block by block on the workers, to keep CPU work off the network thread.
///
/// At most four buffers are in memory: a block being filled, a block being compressed, and the
/// output of two. The compressed length is unknown before the end, so this body has no length.
package final class CodedBody: BodySource {
    /// The size of a block. All blocks but the last are full, unless their writer pauses.
    package static let blockSize = 131_072

    /// A compressed block.
    private struct Block {
        var bytes: Bytes
        /// The offset in the plain body after this block.
        var end: Int64
    }

    /// The next step of the reading side.
    private enum Next {
        case block(Block), wait, over, fill, failed(TransportError)
    }

    /// The state that the reading side and the job share.
    private struct Shared {
        var ready: [Block] = []
        var isRunning = false
        /// The number of rewinds: the output of an earlier round is discarded.
        var round = 0
        var failure: TransportError?
        weak var waiting: Exchange?
    }

    /// The plain body.
    package let plain: any BodySource
    /// The content encoding.
    package let coding: Inflater.Coding
    private let workers: WorkerPool
    /// Whether to flush the compressor when the plain body has to wait, because the receiver needs
    /// the bytes written so far.
    private let flushes: Bool
    private let shared = Lock(Shared())
    private let consumed = Atomic<Int64>(0)
    // State of the reading side; `read` and `rewind` are called from one thread at a time.
    private nonisolated(unsafe) var deflater: Deflater?
    /// The block being filled.
    private nonisolated(unsafe) var input: UnsafeMutableRawPointer?
    private nonisolated(unsafe) var filled = 0
    /// The number of plain bytes read.
    private nonisolated(unsafe) var taken: Int64 = 0
    /// Whether the last block was passed to a job.
    private nonisolated(unsafe) var isOver = false
    /// Whether the compressor may still hold input that it has not output.
    private nonisolated(unsafe) var keepsBack = false
    /// Whether the plain body has no bytes now and will call back.
    private nonisolated(unsafe) var isStarved = false
    private nonisolated(unsafe) var current: Block?
    private nonisolated(unsafe) var offset = 0

    /// - Parameter flushes: Whether to flush the compressor when `plain` has to wait for more
    ///   bytes.
    package init(
        _ plain: any BodySource, _ coding: Inflater.Coding, flushes: Bool, workers: WorkerPool
    ) {
        self.plain = plain
        self.coding = coding
        self.flushes = flushes
        self.workers = workers
    }

    deinit { free(input) }

    package var length: Int64? { nil }

    /// The number of plain bytes whose compressed form was passed to the connection. Thread-safe.
    package var plainSent: Int64 { consumed.load(ordering: .relaxed) }

    package func rewind() -> Bool {
        shared.withLock { shared in
            shared.round += 1
            shared.ready = []
            shared.isRunning = false
            shared.failure = nil
            shared.waiting = nil
        }
        // A job may still be using the old compressor, so create a new one.
        deflater = nil
        (filled, taken, isOver, keepsBack) = (0, 0, false, false)
        (current, offset) = (nil, 0)
        consumed.store(0, ordering: .relaxed)
        return plain.rewind()
    }

    package func read(
        into target: UnsafeMutableRawBufferPointer, for exchange: Exchange
    ) -> BodyRead {
        while true {
            if let count = copy(into: target) { return .bytes(count) }
            if let error = fill(for: exchange) { return .failed(error) }
            let next = shared.withLock { shared -> Next in
                if !shared.ready.isEmpty { return .block(shared.ready.removeFirst()) }
                if let failure = shared.failure { return .failed(failure) }
                if shared.isRunning {
                    shared.waiting = exchange
                    return .wait
                }
                return isOver ? .over : .fill
            }
            switch next {
            case .block(let block): (current, offset) = (block, 0)
            case .failed(let error): return .failed(error)
            case .over: return .end
            // Either the plain body has no bytes and will call back, or a job has just ended.
            case .fill: if isStarved { return .wait }
            case .wait: return .wait
            }
        }
    }

    /// Copies output of the current block.
    private func copy(into target: UnsafeMutableRawBufferPointer) -> Int? {
        guard let block = current else { return nil }
        let count = min(target.count, block.bytes.count - offset)
        block.bytes.withUnsafeBytes { bytes in
            target.copyMemory(
                from: UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count]))
        }
        offset += count
        if offset == block.bytes.count {
            current = nil
            consumed.store(block.end, ordering: .relaxed)
        }
        return count > 0 ? count : nil
    }

    // MARK: Compression

    /// Reads from the plain body, and starts a job if none is running and its output is needed.
    private func fill(for exchange: Exchange) -> TransportError? {
        isStarved = false
        while !isOver {
            let mayRun = shared.withLock {
                $0.failure == nil && !$0.isRunning && $0.ready.count < 2
            }
            guard mayRun else { return nil }
            if input == nil { input = malloc(Self.blockSize) }
            guard let input else {
                return TransportError(.noMemory, "Not enough memory to compress the request body")
            }
            if filled < Self.blockSize {
                let room = UnsafeMutableRawBufferPointer(
                    start: input + filled, count: Self.blockSize - filled)
                switch plain.read(into: room, for: exchange) {
                case .bytes(let count):
                    filled += count
                    taken += Int64(count)
                case .failed(let error): return error
                case .wait:
                    isStarved = true
                    return flushes && (filled > 0 || keepsBack) ? code(.wait) : nil
                case .end:
                    isOver = true
                    return code(.end)
                }
            } else if let error = code(.more) {
                return error
            }
        }
        return nil
    }

    /// Compresses the block in a job.
    private func code(_ flush: Deflater.Flush) -> TransportError? {
        if deflater == nil { deflater = Deflater(coding) }
        guard let deflater else { return Self.noMemory }
        let block = Bytes(ByteStorage(taking: filled > 0 ? input : nil, count: filled))
        if filled > 0 { input = nil }
        filled = 0
        keepsBack = flush == .more
        let end = taken
        let round = shared.withLock { shared in
            shared.isRunning = true
            return shared.round
        }
        nonisolated(unsafe) let lent = deflater  // used by one job at a time
        workers.submit { [self] in
            var output = ByteBuffer()
            let isCoded = block.withUnsafeBytes { lent.feed($0, flush, into: &output) }
            let coded = output.take()
            let waiting = shared.withLock { shared -> Exchange? in
                guard shared.round == round else { return nil }
                shared.isRunning = false
                if isCoded {
                    // A small input may produce no output yet.
                    if !coded.isEmpty { shared.ready.append(Block(bytes: coded, end: end)) }
                } else {
                    shared.failure = Self.noMemory
                }
                let waiting = shared.waiting
                shared.waiting = nil
                return waiting
            }
            waiting?.bodyIsReady()
        }
        return nil
    }

    private static let noMemory = TransportError(
        .noMemory, "Not enough memory to compress the request body")

    /// Passes the whole compressed body to `body` in chunks, exactly as sent, until it returns
    /// `false`. Blocks: call it on a worker.
    ///
    /// - Returns: Whether the body was complete. `false` also if a caller writes the body.
    /// - Throws: The error of reading a file.
    package func forEachPiece(
        _ body: (UnsafeRawBufferPointer) -> Bool
    ) throws(SystemError) -> Bool {
        guard let source = plain as? SegmentedBody else { return false }
        guard let deflater = Deflater(coding) else { throw SystemError(ENOMEM, "compress a body") }
        var block = ByteBuffer()
        var hasMemory = true
        func code(_ flush: Deflater.Flush) -> Bool {
            var output = ByteBuffer()
            hasMemory = hasMemory && deflater.feed(block.bytes, flush, into: &output)
            block.removeAll()
            return hasMemory && body(output.bytes)
        }
        // Use the same blocks as when sending: other block boundaries may compress differently.
        let isWhole = try source.forEachPiece { piece in
            var rest = piece[...]
            while !rest.isEmpty {
                let part = UnsafeRawBufferPointer(
                    rebasing: rest.prefix(Self.blockSize - block.count))
                hasMemory = hasMemory && block.append(part)
                rest = rest.dropFirst(part.count)
                if block.count == Self.blockSize, !code(.more) { return false }
                if !hasMemory { return false }
            }
            return true
        }
        let isAll = isWhole && code(.end)
        guard hasMemory else { throw SystemError(ENOMEM, "compress a body") }
        return isAll
    }
}
