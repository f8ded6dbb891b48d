// Wherry: where the bytes of a request body come from.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// What a body source answers when it is asked for bytes.
package enum BodyRead: Sendable {
    /// So many bytes were written to the buffer; at least one.
    case bytes(Int)
    /// Nothing yet: the source calls `Exchange.bodyIsReady()` when there is.
    case wait
    case end
    case failed(TransportError)
}

/// A streamed request body. Asked from one thread at a time, that of the transport.
package protocol BodySource: AnyObject, Sendable {
    /// The whole length in bytes; `nil` if it is not known before the end (sent chunked).
    var length: Int64? { get }
    /// Copies the next bytes into `buffer`, which is never empty. Must not block.
    func read(into buffer: UnsafeMutableRawBufferPointer, for exchange: Exchange) -> BodyRead
    /// Starts over from byte 0 for another attempt. `false` if that cannot be.
    func rewind() -> Bool
}

/// The body of a request.
package enum ExchangeBody: Sendable {
    case none
    case bytes(Bytes)
    case source(any BodySource)
}
