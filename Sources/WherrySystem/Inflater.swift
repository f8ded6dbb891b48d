// Wherry: bodies coded as gzip or deflate, decoded as they come.
// SPDX-License-Identifier: Apache-2.0

internal import CZlib
import Glibc

/// Why a compressed body could not be decoded.
package enum InflateError: Error, Hashable, Sendable {
    /// The body ended before its own end mark: what came out is only a part.
    case truncated
    /// The body breaks its format or its checksum; zlib's words about it.
    case corrupt(String)
    /// There is no memory for the decoder.
    case noMemory

    /// A sentence for a person.
    package var message: String {
        switch self {
        case .truncated: "The compressed body ended too early."
        case .corrupt(let detail): "The compressed body is damaged: \(detail)."
        case .noMemory: "There is no memory to decompress the body."
        }
    }
}

/// The memory that decoded bytes pass through, 64 KiB. Decoders that run on one thread may share
/// it, since it holds nothing between two calls.
package final class InflateBuffer {
    package static let capacity = 64 << 10
    fileprivate let memory = UnsafeMutableRawPointer.allocate(
        byteCount: InflateBuffer.capacity, alignment: 64)

    package init() {}

    deinit { memory.deallocate() }
}

/// A decoder of one body. Belongs to one thread at a time.
///
/// - gzip (RFC 1952): one or more members, decoded one after the other. Bytes after a member that
///   do not start another one (padding, mostly) are ignored and counted.
/// - deflate: the zlib format (RFC 1950) that HTTP means by that name, or the bare deflate data
///   (RFC 1951) that some servers send; the first two bytes tell which, as in browsers.
package final class Inflater {
    /// The content codings that can be decoded.
    package enum Coding: String, Sendable, CaseIterable {
        case gzip, deflate

        /// The coding of a name in any case; `x-gzip` is gzip (RFC 9110, section 8.4.1.3).
        package init?(name: some StringProtocol) {
            switch name.lowercased() {
            case "gzip", "x-gzip": self = .gzip
            case "deflate": self = .deflate
            default: return nil
            }
        }
    }

    /// How far the body has come.
    private enum Phase {
        /// Nothing is known yet: `started`, or `ended` when nothing comes.
        case fresh
        /// The first byte of deflate data; with the second it tells the format: `started`.
        case held(UInt8)
        /// Inside of a member or of the only data: `between`, `over` or `failed`.
        case started
        /// After a gzip member. 0x1F may be the start of another: `started` or `over`.
        case between(isHalfway: Bool)
        /// Complete; whatever comes is ignored.
        case over
        /// Says the same again to whoever goes on.
        case failed(InflateError)
    }

    /// What is decoded.
    package let coding: Coding
    /// Compressed bytes taken so far.
    package private(set) var bytesIn = 0
    /// Decoded bytes given out so far, the piece being given out included.
    package private(set) var bytesOut = 0
    /// Bytes after the end of the compressed data, which mean nothing.
    package private(set) var bytesIgnored = 0

    private let buffer: InflateBuffer
    private let stream: UnsafeMutablePointer<z_stream>
    private var hasState = false
    private var phase = Phase.fresh
    /// A sink wanted no more, and `resume` goes on from there.
    package private(set) var isHeld = false
    /// The input that it left.
    private var left = ByteBuffer()

    /// A decoder for one body.
    ///
    /// - Parameter buffer: its own, or one that all decoders of a thread share.
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

    /// Whether more came out than `ratio` times what went in, once `floor` bytes have come out: the
    /// mark of a body made to fill the memory. zlib's own ceiling is about 1,030 to 1.
    package func isBomb(ratio: Int = 1_000, floor: Int = 1 << 20) -> Bool {
        bytesOut > floor && bytesOut / max(1, ratio) >= max(1, bytesIn)
    }

    /// Decodes more of the body and gives it out in pieces of at most 64 KiB, good during the call.
    ///
    /// - Parameter sink: answers whether it wants more; its first `false` ends the call.
    /// - Returns: `false` if the sink did not want more. The rest of `input` is kept then, and
    ///   `resume` has to come before anything more is fed.
    /// - Throws: what is wrong with the body. Pieces given out before stay as they are.
    @discardableResult
    package func feed(
        _ input: UnsafeRawBufferPointer, into sink: (UnsafeRawBufferPointer) -> Bool
    ) throws(InflateError) -> Bool {
        precondition(!isHeld, "resume comes first")
        return try run(input, sink)
    }

    /// Goes on after a sink wanted no more, with another or the same.
    ///
    /// - Returns, Throws: as `feed` does.
    @discardableResult
    package func resume(
        into sink: (UnsafeRawBufferPointer) -> Bool
    ) throws(InflateError) -> Bool {
        guard isHeld else { return true }
        isHeld = false
        let input = left.take()
        return try input.withUnsafeBytes { input throws(InflateError) in
            if input.isEmpty, case .started = phase {
                // What zlib has taken may still have more to give out.
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

    /// Checks that the body was complete: an end anywhere else than after its checksum is an error,
    /// and so is a body of no bytes.
    package func finish() throws(InflateError) {
        switch phase {
        case .over, .between(isHalfway: false): return
        case .failed(let error): throw error
        case .fresh, .held, .started, .between(isHalfway: true): throw .truncated
        }
    }

    /// A zlib header: deflate with a window of at most 32 KiB, no preset dictionary, check bits
    /// right (RFC 1950, section 2.2).
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

    /// Hands over a byte that was held back; one alone never completes anything.
    private func decode(
        held byte: UInt8, _ sink: (UnsafeRawBufferPointer) -> Bool
    ) throws(InflateError) -> Bool {
        try withUnsafeBytes(of: byte) { input throws(InflateError) in
            try step(input, sink) != nil
        }
    }

    /// Decodes, and keeps what is left where the sink wants no more; `nil` then, else how many
    /// bytes were not used.
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

    /// Decodes until the input is used up or the compressed data are complete.
    ///
    /// - Returns: how many bytes at the end of the input were not used, and whether the sink wants
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
                // A full buffer may hide more; anything else waits for input.
                if used == input.count, made < InflateBuffer.capacity { return (0, true) }
                if taken == 0, made == 0 { throw .corrupt("it does not go on") }
            case Z_NEED_DICT: throw .corrupt("it needs a dictionary")
            case Z_MEM_ERROR: throw .noMemory
            default:
                let words = stream.pointee.msg.map { String(cString: $0) }
                throw .corrupt(words ?? "zlib error \(result)")
            }
        }
    }
}
