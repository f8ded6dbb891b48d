// Wherry: the events of a transfer.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherryImaging
import WherrySystem
import WherryTransport

/// A piece of a streamed body. Releasing the piece lets the stream continue.
package final class BodyPiece: Sendable {
    package let bytes: Bytes
    /// The offset of the piece in the body.
    package let offset: Int64
    /// The exchange that waits until the piece is released; `nil` if none does.
    private let exchange: Exchange?

    init(_ bytes: Bytes, offset: Int64, of exchange: Exchange?) {
        self.bytes = bytes
        self.offset = offset
        self.exchange = exchange
    }

    deinit { exchange?.consumed() }
}

/// An event for the observer of a transfer.
package enum TransferEvent: Sendable {
    case progress(Progress)
    case headers(Response)
    /// A cached response, reported before the network request.
    case cached(Response)
    case body(BodyPiece)
    /// A streamed request body accepts `room` more bytes at this offset.
    case wantBody(offset: Int64, room: Int)
    case state(TransferState, reason: ErrorReason?)
    case image(ImageOutcome)
    /// An incomplete image of an image load.
    case preview(DecodedPreview)
    case hook(HookCall)
    /// The last event, sent exactly once.
    case done(TransferOutcome)
}

/// Observes a transfer, on a thread of Wherry. The methods must not block.
package protocol TransferObserver: AnyObject, Sendable {
    /// Called before the transfer starts. Throwing prevents the start, and no event follows.
    func willStart(_ transfer: Transfer) throws(WherryError)
    /// The thread to use for this observer's transfers if no thread drives the transport.
    var wake: Wake { get }
    func transfer(_ transfer: Transfer, did event: TransferEvent)
    /// Called when the progress of a transfer with ``Transfer/tellsMoves`` has changed. While
    /// `isMoving`, the progress keeps changing without further calls, until the next call or the
    /// end.
    func transfer(_ transfer: Transfer, isMoving: Bool)
    /// Called when the transfer begins or stops waiting for a free connection.
    func transfer(_ transfer: Transfer, waitsForConnection: Bool)
    /// Whether to call `transfer(_:didCollect:attempt:)`.
    var followsBody: Bool { get }
    /// Called on the transport's thread when the body of a successful response has grown, of which
    /// ``WherryTransport/Exchange/collected(from:)`` returns a copy. A response with a higher `attempt`
    /// replaces the one before.
    func transfer(_ transfer: Transfer, didCollect exchange: Exchange, attempt: Int)
    /// Whether the observed transfer is a part of another one, and not counted separately.
    var isPart: Bool { get }
}

extension TransferObserver {
    package var wake: Wake { .now }
    package var isPart: Bool { false }
    package var followsBody: Bool { false }
    package func willStart(_ transfer: Transfer) throws(WherryError) {}
    package func transfer(_ transfer: Transfer, isMoving: Bool) {}
    package func transfer(_ transfer: Transfer, didCollect exchange: Exchange, attempt: Int) {}
    package func transfer(_ transfer: Transfer, waitsForConnection: Bool) {}
}
