// Wherry: streaming gzip and deflate decompression.
// SPDX-License-Identifier: Apache-2.0

internal import CZlib
import Glibc

/// Why a compressed body could not be decoded.
package enum InflateError: Error, Hashable, Sendable {
    /// The body ended before its end mark, so the output is incomplete.
    case truncated
    /// The body violates its format or its checksum; with zlib's message.
    case corrupt(String)
    /// Out of memory for the decoder.
    case noMemory

    /// A sentence for people.
    package var message: String {
        switch self {
        case .truncated: "The compressed body ended too early."
        case .corrupt(let detail): "The compressed body is damaged: \(detail)."
        case .noMemory: "Not enough memory to decompress the body."
        }
    }
}

/// A 64 KiB output buffer. Decoders on one thread may share it, because it holds no data between
/// calls.
package final class InflateBuffer {
    package static let capacity = 64 << 10
    fileprivate let memory = UnsafeMutableRawPointer.allocate(
        byteCount: InflateBuffer.capacity, alignment: 64)

    package init() {}

    deinit { memory.deallocate() }
}

/// A decompressor for one body. Use it from one thread at a time.
///
/// - gzip (RFC 1952): one or more members. Bytes after a member that do not start another member,
///   usually padding, are ignored and counted.
/// - deflate: the zlib format (RFC 1950), which HTTP means by that name, or raw deflate data (RFC
///   1951), which some servers send. The first two bytes decide, as in browsers.
package final class Inflater {
    /// The supported content codings.
    package enum Coding: String, Sendable, CaseIterable {
        case gzip, deflate

        /// Parses a case-insensitive name; `x-gzip` is gzip (RFC 9110, section 8.4.1.3).
        package init?(name: some StringProtocol) {
            switch name.lowercased() {
            case "gzip", "x-gzip": self = .gzip
            case "deflate": self = .deflate
            default: return nil
            }
        }
    }

    /// The decoder's state.
    private enum Phase {
        /// No input yet. Next: `started`, or `ended` if the body is empty.
        case fresh
        /// Holds the first byte of deflate data; the second one decides the format. Next:
        /// `started`.
        case held(UInt8)
        /// Inside a member or the deflate data. Next: `between`, `over` or `failed`.
        case started
        /// After a gzip member; 0x1F may start another. Next: `started` or `over`.
        case between(isHalfway: Bool)
        /// Complete; more input is ignored.
        case over
        /// Failed; further calls throw the same error.
        case failed(InflateError)
    }

    /// The content coding of the body.
    package let coding: Coding
    /// The number of compressed bytes consumed.
    package private(set) var bytesIn = 0
    /// The number of decoded bytes delivered, including the chunk being delivered.
    package private(set) var bytesOut = 0
    /// The number of ignored bytes after the end of the compressed data.
    package private(set) var bytesIgnored = 0

    private let buffer: InflateBuffer
    private let stream: UnsafeMutablePointer<z_stream>
    private var hasState = false
    private var phase = Phase.fresh
    /// Whether a sink paused the decoder; `resume` continues.
    package private(set) var isHeld = false
    /// The input not consumed when the sink paused.
    private var left = ByteBuffer()

    /// Creates a decoder for one body.
    ///
    /// - Parameter buffer: The output buffer. The decoders of a thread may share one.
    package init(_ coding: Coding, buffer: InflateBuffer = InflateBuffer()) {
        self.coding = coding
        self.buffer = buffer
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
    }

    deinit {
        if hasState { inflateEnd(stream) }
        stream.deallocate()
    }

    /// Returns whether the output exceeds `ratio` times the input, once it has `floor` bytes: a
    /// sign of a decompression bomb. zlib's own maximum ratio is about 1,030.
    package func isBomb(ratio: Int = 1_000, floor: Int = 1 << 20) -> Bool {
        bytesOut > floor && bytesOut / max(1, ratio) >= max(1, bytesIn)
    }

    /// Decodes a piece of the body and delivers it in chunks of at most 64 KiB, valid during the
    /// call.
    ///
    /// - Parameter sink: Returns whether to continue; the first `false` ends the call.
    /// - Returns: `false` if the sink paused. The rest of `input` is kept; call `resume` before
    ///   feeding more.
    /// - Throws: The error in the body. Chunks delivered earlier remain valid.
    @discardableResult
    package func feed(
        _ input: UnsafeRawBufferPointer, into sink: (UnsafeRawBufferPointer) -> Bool
    ) throws(InflateError) -> Bool {
        precondition(!isHeld, "resume comes first")
        return try run(input, sink)
    }

    /// Continues after a sink paused, with any sink.
    ///
    /// - Returns, Throws: As `feed`.
    @discardableResult
    package func resume(
        into sink: (UnsafeRawBufferPointer) -> Bool
    ) throws(InflateError) -> Bool {
        guard isHeld else { return true }
        isHeld = false
        let input = left.take()
        return try input.withUnsafeBytes { input throws(InflateError) in
            if input.isEmpty, case .started = phase {
                // zlib may still hold output for consumed input.
                return try step(input, sink) != nil
            }
            return try run(input, sink)
        }
    }

    private func run(
        _ input: UnsafeRawBufferPointer, _ sink: (UnsafeRawBufferPointer) -> Bool
    ) throws(InflateError) -> Bool {
        var rest = input[...]
        do throws(InflateError) {
            while let byte = rest.first {
                switch phase {
                case .failed(let error): throw error
                case .over:
                    bytesIgnored += rest.count
                    return true
                case .fresh where coding == .gzip:
                    try start(windowBits: 31)
                case .fresh:
                    phase = .held(byte)
                    rest = rest.dropFirst()
                case .held(let first):
                    try start(windowBits: Inflater.isZlib(first, byte) ? 15 : -15)
                    guard try decode(held: first, sink) else { return false }
                case .between(isHalfway: false):
                    if byte == 0x1F { rest = rest.dropFirst() } else { bytesIgnored = 0 }
                    phase = byte == 0x1F ? .between(isHalfway: true) : .over
                case .between(isHalfway: true):
                    if byte == 0x8B {
                        try start(windowBits: 31)
                        guard try decode(held: 0x1F, sink) else { return false }
                    } else {
                        bytesIgnored = 1
                        phase = .over
                    }
                case .started:
                    guard let left = try step(UnsafeRawBufferPointer(rebasing: rest), sink) else {
                        return false
                    }
                    rest = rest.suffix(left)
                }
            }
        } catch {
            phase = .failed(error)
            throw error
        }
        return true
    }

    /// Verifies that the body is complete. Throws if it ended before its checksum, or is empty.
    package func finish() throws(InflateError) {
        switch phase {
        case .over, .between(isHalfway: false): return
        case .failed(let error): throw error
        case .fresh, .held, .started, .between(isHalfway: true): throw .truncated
        }
    }

    /// Returns whether two bytes are a zlib header: deflate, a window of at most 32 KiB, no preset
    /// dictionary, valid check bits (RFC 1950, section 2.2).
    private static func isZlib(_ first: UInt8, _ second: UInt8) -> Bool {
        first & 0x8F == 0x08 && second & 0x20 == 0
            && (UInt16(first) << 8 | UInt16(second)).isMultiple(of: 31)
    }

    private func start(windowBits: Int32) throws(InflateError) {
        let result =
            hasState ? inflateReset(stream) : czlib_inflate_init(stream, windowBits)
        guard result == Z_OK else { throw .noMemory }
        hasState = true
        phase = .started
    }

    /// Decodes the byte that was held back. One byte never completes anything.
    private func decode(
        held byte: UInt8, _ sink: (UnsafeRawBufferPointer) -> Bool
    ) throws(InflateError) -> Bool {
        try withUnsafeBytes(of: byte) { input throws(InflateError) in
            try step(input, sink) != nil
        }
    }

    /// Decodes, and keeps the rest of the input if the sink pauses. Returns the number of unused
    /// bytes, or `nil` after a pause.
    private func step(
        _ input: UnsafeRawBufferPointer, _ sink: (UnsafeRawBufferPointer) -> Bool
    ) throws(InflateError) -> Int? {
        let (unused, goesOn) = try decode(input, sink)
        guard !goesOn else { return unused }
        isHeld = true
        guard left.append(UnsafeRawBufferPointer(rebasing: input.suffix(unused))) else {
            throw .noMemory
        }
        return nil
    }

    /// Decodes until the input is used up or the compressed data ends.
    ///
    /// - Returns: The number of unused bytes at the end of the input, and whether the sink wants
    ///   more.
    private func decode(
        _ input: UnsafeRawBufferPointer, _ sink: (UnsafeRawBufferPointer) -> Bool
    ) throws(InflateError) -> (unused: Int, goesOn: Bool) {
        var used = 0
        while true {
            let piece = min(input.count - used, 1 << 30)  // zlib counts in 32 bits
            stream.pointee.next_in = UnsafeMutablePointer(
                mutating: input.baseAddress?.advanced(by: used).assumingMemoryBound(to: UInt8.self))
            stream.pointee.avail_in = UInt32(piece)
            stream.pointee.next_out = buffer.memory.assumingMemoryBound(to: UInt8.self)
            stream.pointee.avail_out = UInt32(InflateBuffer.capacity)
            let result = inflate(stream, Z_NO_FLUSH)
            let taken = piece - Int(stream.pointee.avail_in)
            let made = InflateBuffer.capacity - Int(stream.pointee.avail_out)
            used += taken
            bytesIn += taken
            bytesOut += made
            if result == Z_STREAM_END {
                phase = coding == .gzip ? .between(isHalfway: false) : .over
            }
            if made > 0, !sink(UnsafeRawBufferPointer(start: buffer.memory, count: made)) {
                return (input.count - used, false)
            }
            switch result {
            case Z_STREAM_END: return (input.count - used, true)
            case Z_OK, Z_BUF_ERROR:
                // If the buffer is full, there may be more output. Otherwise, zlib waits for input.
                if used == input.count, made < InflateBuffer.capacity { return (0, true) }
                if taken == 0, made == 0 { throw .corrupt("decompression cannot continue") }
            case Z_NEED_DICT: throw .corrupt("it needs a dictionary")
            case Z_MEM_ERROR: throw .noMemory
            default:
                let words = stream.pointee.msg.map { String(cString: $0) }
                throw .corrupt(words ?? "zlib error \(result)")
            }
        }
    }
}
