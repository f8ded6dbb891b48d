// Wherry: sources of request bodies.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// The result of reading from a body source.
package enum BodyRead: Sendable {
    /// The number of bytes written to the buffer; at least one.
    case bytes(Int)
    /// No bytes available yet: the source calls `Exchange.bodyIsReady()` when there are.
    case wait
    case end
    case failed(TransportError)
}

/// A streamed request body. Read from one thread at a time, the transport's.
package protocol BodySource: AnyObject, Sendable {
    /// The length in bytes; `nil` if unknown before the end (sent chunked).
    var length: Int64? { get }
    /// Copies the next bytes into `buffer`, which is never empty. Must not block.
    func read(into buffer: UnsafeMutableRawBufferPointer, for exchange: Exchange) -> BodyRead
    /// Rewinds to byte 0 for another attempt. Returns `false` if impossible.
    func rewind() -> Bool
}

/// The body of a request.
package enum ExchangeBody: Sendable {
    case none
    case bytes(Bytes)
    case source(any BodySource)
}
