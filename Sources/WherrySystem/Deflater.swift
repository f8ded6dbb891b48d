// Wherry: bodies coded as gzip or deflate, while they are sent.
// SPDX-License-Identifier: Apache-2.0

internal import CZlib
import Glibc

/// A coder of one body. Belongs to one thread at a time.
///
/// gzip is one member (RFC 1952) without a name and a time; deflate is the zlib format (RFC 1950) that
/// HTTP means by that word. The same pieces of input give the same output.
package final class Deflater {
    /// What a piece of input is followed by.
    package enum Flush: Sendable {
        /// More of it, for which output may be kept back.
        case more
        /// A wait: what has come so far can be decoded by then.
        case wait
        /// Nothing.
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

    /// `nil` where there is no memory for its state, which is a quarter of a megabyte.
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

    /// Codes more of the body, and adds what comes of it to `output`.
    ///
    /// - Returns: `false` where there is no memory for that. After that, and after the end, nothing
    ///   more may be fed.
    package func feed(
        _ input: UnsafeRawBufferPointer, _ flush: Flush, into output: inout ByteBuffer
    ) -> Bool {
        precondition(input.count <= 1 << 30, "a piece that zlib cannot count")
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
                // Room that is left says that all of it has come out.
                case Z_OK, Z_BUF_ERROR:
                    if stream.pointee.avail_out > 0 { return flush != .end }
                default: return false
                }
            }
        }
    }

    /// All of `input` as one body; `nil` where there is no memory for it.
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
