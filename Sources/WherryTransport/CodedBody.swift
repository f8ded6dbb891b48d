// Wherry: a request body that is coded as gzip or deflate while it is sent.
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
import WherrySystem

/// Codes another body block by block on the workers, since the network thread has no time to burn.
///
/// No more of it is in memory than a block being filled, one being coded and the output of two. How
/// long it becomes nobody knows before its end, so it has no length.
package final class CodedBody: BodySource {
    /// How many bytes are coded at once. All blocks but the last are full, unless their writer pauses.
    package static let blockSize = 131_072

    /// What has come of a block.
    private struct Block {
        var bytes: Bytes
        /// How much of the body is coded with it, those before it included.
        var end: Int64
    }

    /// What the reading side does.
    private enum Next {
        case block(Block), wait, over, fill, failed(TransportError)
    }

    /// What the reading side and the job share.
    private struct Shared {
        var ready: [Block] = []
        var isRunning = false
        /// Counts the rewinds: what comes of an earlier round is thrown away.
        var round = 0
        var failure: TransportError?
        weak var waiting: Exchange?
    }

    /// What is coded.
    package let plain: any BodySource
    /// How it is coded.
    package let coding: Inflater.Coding
    private let workers: WorkerPool
    /// What was written goes out when its writer has no more at once: who listens to it waits for it.
    private let flushes: Bool
    private let shared = Lock(Shared())
    private let consumed = Atomic<Int64>(0)
    // The reading side's own; `read` and `rewind` are called from one thread at a time.
    private nonisolated(unsafe) var deflater: Deflater?
    /// The block being filled.
    private nonisolated(unsafe) var input: UnsafeMutableRawPointer?
    private nonisolated(unsafe) var filled = 0
    /// How much of the body has been taken.
    private nonisolated(unsafe) var taken: Int64 = 0
    /// The last block was given to a job.
    private nonisolated(unsafe) var isOver = false
    /// The coder may keep back the end of what it was given.
    private nonisolated(unsafe) var keepsBack = false
    /// The body has nothing more at once, and will call.
    private nonisolated(unsafe) var isStarved = false
    private nonisolated(unsafe) var current: Block?
    private nonisolated(unsafe) var offset = 0

    /// - Parameter flushes: what has been read goes out where `plain` waits for more.
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

    /// How many bytes of the plain body stand behind what was handed to the connection. From any
    /// thread.
    package var plainSent: Int64 { consumed.load(ordering: .relaxed) }

    package func rewind() -> Bool {
        shared.withLock { shared in
            shared.round += 1
            shared.ready = []
            shared.isRunning = false
            shared.failure = nil
            shared.waiting = nil
        }
        // A job may still be at the old one.
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
            // Either what it is made of is not there, and calls; or a job ended just now.
            case .fill: if isStarved { return .wait }
            case .wait: return .wait
            }
        }
    }

    /// Hands over what has come of the present block.
    private func copy(into target: UnsafeMutableRawBufferPointer) -> Int? {
        guard let block = current else { return nil }
        let count = min(target.count, block.bytes.count - offset)
        block.bytes.withUnsafeBytes { bytes in
            target.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count]))
        }
        offset += count
        if offset == block.bytes.count {
            current = nil
            consumed.store(block.end, ordering: .relaxed)
        }
        return count > 0 ? count : nil
    }

    // MARK: Coding

    /// Takes what the body has, and gives it to a job when there is none and its output is wanted.
    private func fill(for exchange: Exchange) -> TransportError? {
        isStarved = false
        while !isOver {
            let mayRun = shared.withLock { $0.failure == nil && !$0.isRunning && $0.ready.count < 2 }
            guard mayRun else { return nil }
            if input == nil { input = malloc(Self.blockSize) }
            guard let input else {
                return TransportError(.noMemory, "No memory for coding the request body")
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

    /// Has a job code the block.
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
        nonisolated(unsafe) let lent = deflater  // one job at a time has it
        workers.submit { [self] in
            var output = ByteBuffer()
            let isCoded = block.withUnsafeBytes { lent.feed($0, flush, into: &output) }
            let coded = output.take()
            let waiting = shared.withLock { shared -> Exchange? in
                guard shared.round == round else { return nil }
                shared.isRunning = false
                if isCoded {
                    // Of a little input nothing may come out yet.
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
        .noMemory, "No memory for coding the request body")

    /// Hands over all of the coded body in pieces, from its beginning, the very bytes that are sent;
    /// stops where `body` answers `false`. Blocks: for a worker.
    ///
    /// - Returns: whether that was all. `false` also of what a caller writes.
    /// - Throws: what reading a file failed with.
    package func forEachPiece(
        _ body: (UnsafeRawBufferPointer) -> Bool
    ) throws(SystemError) -> Bool {
        guard let source = plain as? SegmentedBody else { return false }
        guard let deflater = Deflater(coding) else { throw SystemError(ENOMEM, "code a body") }
        var block = ByteBuffer()
        var hasMemory = true
        func code(_ flush: Deflater.Flush) -> Bool {
            var output = ByteBuffer()
            hasMemory = hasMemory && deflater.feed(block.bytes, flush, into: &output)
            block.removeAll()
            return hasMemory && body(output.bytes)
        }
        // In the blocks in which it is sent: other ones may be coded otherwise.
        let isWhole = try source.forEachPiece { piece in
            var rest = piece[...]
            while !rest.isEmpty {
                let part = UnsafeRawBufferPointer(rebasing: rest.prefix(Self.blockSize - block.count))
                hasMemory = hasMemory && block.append(part)
                rest = rest.dropFirst(part.count)
                if block.count == Self.blockSize, !code(.more) { return false }
                if !hasMemory { return false }
            }
            return true
        }
        let isAll = isWhole && code(.end)
        guard hasMemory else { throw SystemError(ENOMEM, "code a body") }
        return isAll
    }
}
