// Wherry: what happens to a transfer, as values.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// Where a transfer stands. The raw values are those of `wherry_state`.
public enum TransferState: Int32, Sendable {
    /// Waits for its turn. Goes to any other.
    case queued = 1
    case running = 2
    /// For a retry, or an answer to a question.
    case waiting = 3
    case paused = 4
    /// From byte 0 again; passed through on the way to running.
    case restarted = 5
    case verifying = 6
    /// Final, like the two that follow.
    case done = 7
    case failed = 8
    case cancelled = 9
    /// A background job whose agent died; goes to queued when another agent takes it up.
    case interrupted = 10

    /// Whether nothing follows.
    public var isFinal: Bool { self == .done || self == .failed || self == .cancelled }
}

/// How far a transfer has come.
public struct Progress: Sendable, Hashable {
    /// Bytes sent or received, from the start of the file or body. Of an answer in a coding such as
    /// gzip they are those on the wire, and of a body that is coded on its way those before that:
    /// their number is the one that is known beforehand.
    public var completed: Int64 = 0
    /// The same bytes as the program gets them: more than `completed` where gzip is undone.
    public var decoded: Int64 { decodedCount ?? completed }
    package var decodedCount: Int64?
    /// `nil` while unknown.
    public var total: Int64?
    /// Already there when this run began.
    public var resumedAt: Int64 = 0
    /// Moved by this run, before decoding.
    public var wire: Int64 = 0
    /// Over the last five seconds; `nil` before there is a figure.
    public var bytesPerSecond: Int64?
    /// `nil` while unknown.
    public var remaining: Duration?
    /// Goes up, and `completed` back to 0, when the server's file changed.
    public var generation = 0
    /// How many transfers these figures are of: 1, of a group how many members it has.
    public var count: Int { Int(memberCount) }
    /// Of a group, how many of its members have ended.
    public var ended: Int { Int(endedCount) }
    package var memberCount: Int32 = 1
    package var endedCount: Int32 = 0

    /// Nothing moved, and nothing known.
    public init() {}

    /// Whether more bytes moved than an earlier report had.
    func hasMoved(since earlier: Progress?) -> Bool {
        guard let earlier else { return true }
        return completed != earlier.completed || total != earlier.total || wire != earlier.wire
            || decodedCount != earlier.decodedCount
    }

    /// 0...1, or `nil` while the total is unknown.
    public var fraction: Double? {
        guard let total else { return nil }
        return total == 0 ? 1 : min(1, Double(completed) / Double(total))
    }
}

/// What became of one picture of an upload.
public struct ImageOutcome: Sendable {
    /// Its place in the order of adding.
    public var index: Int
    /// The name or path that the program gave, or else the name in the form. The same in success and
    /// failure.
    public var fileName: String
    /// -1 if it is not known.
    public var originalBytes: Int64
    /// What is sent for it; -1 if it did not get so far.
    public var encodedBytes: Int64
    /// In pixels as it is sent; 0 if it did not get so far.
    public var width = 0
    /// In pixels as it is sent; 0 if it did not get so far.
    public var height = 0
    /// libjpeg's quality, 1 to 100, that it was coded anew with; `nil` for PNG and where the coded
    /// picture is the one that came.
    public var quality: Int?
    /// Sent of the body of its own request; -1 where it has none (``Request/separateImages``).
    public var sentBytes: Int64 = -1
    /// The answer to its own request, where it has one and got one.
    public var response: Response?
    /// Why it did not get through.
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

/// One piece of a streamed body. The stream goes on when it is let go of.
package final class BodyPiece: Sendable {
    package let bytes: Bytes
    /// Where the piece starts in the body.
    package let offset: Int64
    /// `nil` where no stream waits for it.
    private let exchange: Exchange?

    init(_ bytes: Bytes, offset: Int64, of exchange: Exchange?) {
        self.bytes = bytes
        self.offset = offset
        self.exchange = exchange
    }

    deinit { exchange?.consumed() }
}

/// How a transfer ended.
package struct TransferOutcome: Sendable {
    package var response: Response?
    package var error: WherryError?
    /// Where a finished download lies.
    package var path: String?
    /// Its digests, as far as they were computed.
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

/// Something an observer hears of.
package enum TransferEvent: Sendable {
    case progress(Progress)
    case head(Response)
    /// A stored answer, told before the network is asked.
    case cached(Response)
    case body(BodyPiece)
    /// A streamed request body has room for so many bytes, at this offset.
    case wantBody(offset: Int64, room: Int)
    case state(TransferState, reason: ErrorReason?)
    case image(ImageOutcome)
    case decision(Decision)
    /// Exactly one, and the last.
    case done(TransferOutcome)
}

/// Hears of a transfer, on a thread of Wherry's; nothing here may block.
package protocol TransferObserver: AnyObject, Sendable {
    /// The transfer is about to start. Throwing keeps it from starting, and nothing follows.
    func willStart(_ transfer: Transfer) throws(WherryError)
    /// Who carries out what is started for this observer, if nobody turns the transport.
    var wake: Wake { get }
    func transfer(_ transfer: Transfer, did event: TransferEvent)
    /// Its progress is another, of a transfer that ``Transfer/tellsMoves``. Where it is moving it goes
    /// on changing without a word, until this is called again or it ends.
    func transfer(_ transfer: Transfer, isMoving: Bool)
    /// The transfer waits for a free connection, or has one.
    func transfer(_ transfer: Transfer, waitsForConnection: Bool)
    /// Whether what it hears of is a part of another transfer, and not counted by itself.
    var isPart: Bool { get }
}

extension TransferObserver {
    package var wake: Wake { .now }
    package var isPart: Bool { false }
    package func willStart(_ transfer: Transfer) throws(WherryError) {}
    package func transfer(_ transfer: Transfer, isMoving: Bool) {}
    package func transfer(_ transfer: Transfer, waitsForConnection: Bool) {}
}
