// Wherry: streaming gzip and deflate compression.
// SPDX-License-Identifier: Apache-2.0

internal import CZlib
import Glibc

/// A compressor for one body. Use it from one thread at a time.
///
/// gzip output is one member (RFC 1952) without a name and a time. deflate output is the zlib
/// format (RFC 1950), as in HTTP. Equal input pieces produce equal output.
package final class Deflater {
    /// What follows a piece of input.
    package enum Flush: Sendable {
        /// More input follows; the compressor may hold back output.
        case more
        /// A pause: the receiver must be able to decode all input so far.
        case wait
        /// The end of the body.
        case end

        fileprivate var mode: Int32 {
            switch self {
            case .more: Z_NO_FLUSH
            case .wait: Z_SYNC_FLUSH
            case .end: Z_FINISH
            }
        }
    }

    private let stream: UnsafeMutablePointer<z_stream>

    /// Allocates about 256 KiB of state. `nil` if out of memory.
    package init?(_ coding: Inflater.Coding) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        guard czlib_deflate_init(stream, coding == .gzip ? 31 : 15) == Z_OK else {
            stream.deallocate()
            return nil
        }
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
    }

    /// Compresses a piece of the body and appends the result to `output`.
    ///
    /// - Returns: `false` if out of memory. Do not call it again after that or after the end.
    package func feed(
        _ input: UnsafeRawBufferPointer, _ flush: Flush, into output: inout ByteBuffer
    ) -> Bool {
        precondition(input.count <= 1 << 30, "the input is too large for zlib")
        stream.pointee.next_in = UnsafeMutablePointer(
            mutating: input.baseAddress?.assumingMemoryBound(to: UInt8.self))
        stream.pointee.avail_in = UInt32(input.count)
        return withUnsafeTemporaryAllocation(byteCount: 32_768, alignment: 16) { room in
            while true {
                stream.pointee.next_out = room.baseAddress?.assumingMemoryBound(to: UInt8.self)
                stream.pointee.avail_out = UInt32(room.count)
                let result = deflate(stream, flush.mode)
                let made = room.count - Int(stream.pointee.avail_out)
                guard output.append(UnsafeRawBufferPointer(rebasing: room[..<made])) else {
                    return false
                }
                switch result {
                case Z_STREAM_END: return true
                // If zlib left space in the output buffer, it has written everything.
                case Z_OK, Z_BUF_ERROR:
                    if stream.pointee.avail_out > 0 { return flush != .end }
                default: return false
                }
            }
        }
    }

    /// Returns `input` compressed as one body; `nil` if out of memory.
    package static func code(_ input: Bytes, _ coding: Inflater.Coding) -> Bytes? {
        guard let deflater = Deflater(coding) else { return nil }
        var output = ByteBuffer()
        let isDone = input.withUnsafeBytes { input -> Bool in
            var rest = input[...]
            while rest.count > 1 << 30 {
                let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(1 << 30))
                guard deflater.feed(piece, .more, into: &output) else { return false }
                rest = rest.dropFirst(piece.count)
            }
            return deflater.feed(UnsafeRawBufferPointer(rebasing: rest), .end, into: &output)
        }
        return isDone ? output.take() : nil
    }
}
