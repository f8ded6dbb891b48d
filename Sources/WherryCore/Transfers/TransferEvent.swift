// Wherry: the events of a transfer.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// The state of a transfer. The raw values are those of `wherry_state`.
public enum TransferState: Int32, Sendable {
    /// Waiting for its turn. Can change to any other state.
    case queued = 1
    case running = 2
    /// Waiting for a retry, or for the result of a callback.
    case waiting = 3
    case paused = 4
    /// Starting again from byte 0; followed by `running`.
    case restarted = 5
    case verifying = 6
    /// Final, like the two states that follow.
    case done = 7
    case failed = 8
    case cancelled = 9
    /// A background job whose agent died. Changes to `queued` when another agent takes over.
    case interrupted = 10

    /// Whether the state is final.
    public var isFinal: Bool { self == .done || self == .failed || self == .cancelled }
}

/// The progress of a transfer.
public struct Progress: Sendable, Hashable {
    /// The number of bytes sent or received, counted from the start of the file or body. For a
    /// compressed response, the bytes on the wire; for a request body that the client compresses,
    /// the bytes before compression. Only those totals are known in advance.
    public var completed: Int64 = 0
    /// The number of bytes after decoding; greater than `completed` for a compressed response.
    public var decoded: Int64 { decodedCount ?? completed }
    package var decodedCount: Int64?
    /// The total number of bytes; `nil` if unknown.
    public var total: Int64?
    /// The number of bytes that were present when this run began.
    public var resumedAt: Int64 = 0
    /// The number of bytes on the wire in this run, before decoding.
    public var wire: Int64 = 0
    /// The speed over the last five seconds; `nil` if unknown.
    public var bytesPerSecond: Int64?
    /// The estimated remaining time; `nil` if unknown.
    public var remaining: Duration?
    /// The number of times that the file changed on the server, which resets `completed` to 0.
    public var generation = 0
    /// The number of transfers in these figures: 1, or the number of members of a group.
    public var count: Int { Int(memberCount) }
    /// The number of ended members of a group.
    public var ended: Int { Int(endedCount) }
    package var memberCount: Int32 = 1
    package var endedCount: Int32 = 0

    /// Creates a progress of 0 bytes with an unknown total.
    public init() {}

    /// Returns whether the progress differs from an earlier report.
    func hasMoved(since earlier: Progress?) -> Bool {
        guard let earlier else { return true }
        return completed != earlier.completed || total != earlier.total || wire != earlier.wire
            || decodedCount != earlier.decodedCount
    }

    /// The completed fraction, 0...1; `nil` if the total is unknown.
    public var fraction: Double? {
        guard let total else { return nil }
        return total == 0 ? 1 : min(1, Double(completed) / Double(total))
    }
}

/// The outcome of one picture of an upload.
public struct ImageOutcome: Sendable {
    /// The index of the picture in the order of adding.
    public var index: Int
    /// The name or path that the program gave, or otherwise the name in the form. The same on
    /// success and failure.
    public var fileName: String
    /// The size of the original in bytes; -1 if unknown.
    public var originalBytes: Int64
    /// The number of bytes to send for the picture; -1 if the picture was not encoded.
    public var encodedBytes: Int64
    /// The width in pixels as sent; 0 if the picture was not encoded.
    public var width = 0
    /// The height in pixels as sent; 0 if the picture was not encoded.
    public var height = 0
    /// The libjpeg quality used for encoding, 1 to 100; `nil` for PNG, and if the original bytes
    /// are sent.
    public var quality: Int?
    /// The number of body bytes sent in the picture's separate request; -1 without such a request
    /// (``Request/separateImages``).
    public var sentBytes: Int64 = -1
    /// The response to the picture's separate request; `nil` if there is none.
    public var response: Response?
    /// Why the picture was not sent; `nil` on success.
    public var error: WherryError?

    package init(
        index: Int, fileName: String, originalBytes: Int64 = -1, encodedBytes: Int64 = -1,
        error: WherryError? = nil
    ) {
        self.index = index
        self.fileName = fileName
        self.originalBytes = originalBytes
        self.encodedBytes = encodedBytes
        self.error = error
    }
}

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

/// The outcome of a transfer.
package struct TransferOutcome: Sendable {
    package var response: Response?
    package var error: WherryError?
    /// The path of a finished download.
    package var path: String?
    /// The computed digests of a download.
    package var digests: [DigestAlgorithm: [UInt8]] = [:]

    package init(response: Response? = nil, error: WherryError? = nil, path: String? = nil) {
        self.response = response
        self.error = error
        self.path = path
    }

    package var state: TransferState {
        guard let error else { return .done }
        return error.code == .cancelled ? .cancelled : .failed
    }
}

/// An event for the observer of a transfer.
package enum TransferEvent: Sendable {
    case progress(Progress)
    case head(Response)
    /// A cached response, reported before the network request.
    case cached(Response)
    case body(BodyPiece)
    /// A streamed request body accepts `room` more bytes at this offset.
    case wantBody(offset: Int64, room: Int)
    case state(TransferState, reason: ErrorReason?)
    case image(ImageOutcome)
    case decision(Decision)
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
    /// Whether the observed transfer is a part of another one, and not counted separately.
    var isPart: Bool { get }
}

extension TransferObserver {
    package var wake: Wake { .now }
    package var isPart: Bool { false }
    package func willStart(_ transfer: Transfer) throws(WherryError) {}
    package func transfer(_ transfer: Transfer, isMoving: Bool) {}
    package func transfer(_ transfer: Transfer, waitsForConnection: Bool) {}
}
