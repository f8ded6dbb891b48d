// Wherry: one request and its answer, without redirects, retries or caches.
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import WherrySystem

/// Spans of time in nanoseconds; 0 is none.
package struct ExchangeTimeouts: Hashable, Sendable {
    /// Name lookup, connection and TLS handshake together. Real time.
    package var connect: Int64 = 0
    /// Silence in both directions.
    package var idle: Int64 = 0
    /// From the last byte sent to the first byte of the answer.
    package var firstByte: Int64 = 0
    /// Fewer than `stallBytesPerSecond` over this span is a stall.
    package var stallWindow: Int64 = 0
    package var stallBytesPerSecond: Int64 = 0

    package init() {}
}

/// Which content codings are asked for and undone.
package enum ContentDecoding: Sendable {
    /// None: `Accept-Encoding: identity`, bytes as they come.
    case identity
    /// gzip and deflate, by our own stage, so that a cut stream is an error.
    case gzip
    /// br and zstd too, by libcurl.
    case all

    /// The value of Accept-Encoding.
    package var fieldValue: String {
        switch self {
        case .identity: "identity"
        case .gzip: "gzip, deflate"
        case .all: "gzip, deflate, br, zstd"
        }
    }
}

/// What becomes of an exchange where every connection that it may have is taken.
package enum Admission: Sendable {
    /// It waits for its turn.
    case waits
    /// It ends at once, with `busy`: it would be of use only now.
    case onlyIfFree
    /// It goes all the same, and counts for others: its caller has named a number of connections.
    case always
}

/// What is to be asked, checked and complete.
package struct ExchangeRequest: Sendable {
    package var method: String
    package var url: HTTPURL
    package var headers: HeaderList
    package var body: ExchangeBody
    package var decoding: ContentDecoding = .gzip
    package var timeouts = ExchangeTimeouts()
    /// When all must be over, waiting for a free connection included.
    package var deadline = Instant.never
    /// 0 for whichever is best, 11 or 20.
    package var httpVersion: Int32 = 0
    /// Bytes per second; 0 is no limit.
    package var maxSendSpeed: Int64 = 0
    package var maxReceiveSpeed: Int64 = 0
    /// Limits of what it receives that it shares with others, each of them counts.
    package var speedLimits: [SpeedLimit] = []
    package var maxHeaderBytes = 307_200
    /// Whether `exchangeDidProgress` is wanted, at most ten times a second.
    package var wantsProgress = false
    /// The User-Agent field, unless the list has one; "" sends none.
    package var userAgent = ""
    /// Large receive buffers for what will be long.
    package var isBulk = false
    /// A connection of its own that is closed afterwards.
    package var ownConnection = false
    package var admission = Admission.waits
    /// No connection over a mobile network.
    package var deniesMetered = false
    /// Of those that wait for a connection the highest goes first, -100...100.
    package var priority: Int8 = 0
    /// Whether it goes out again where a connection that was used before breaks without a word of
    /// an answer. The server may have acted on it, so by default only an idempotent method does;
    /// what no byte was sent of always does.
    package var mayRepeat: Bool

    package init(
        method: String, url: HTTPURL, headers: HeaderList = HeaderList([]),
        body: ExchangeBody = .none
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        mayRepeat = Self.isIdempotent(method)
    }
}

extension ExchangeRequest {
    /// Whether a method has the effect of once when it is sent twice (RFC 9110 section 9.2.2).
    package static func isIdempotent(_ method: String) -> Bool {
        switch method {
        case "GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE": true
        default: false
        }
    }

    /// Fields that are sent unless ``headers`` has them, or suppresses them.
    package var ownFields: [(name: String, value: String)] {
        let fields = [("Accept", "*/*"), ("Accept-Encoding", decoding.fieldValue)]
        return userAgent.isEmpty ? fields : [("User-Agent", userAgent)] + fields
    }
}

/// What becomes of the body of an answer.
package enum BodyDisposition: Sendable {
    /// Gathered in memory, up to so many decoded bytes.
    case collect(limit: Int64)
    /// Handed over in pieces. The first piece is cut so that later ones start at a multiple of
    /// `Exchange.pieceSize` of the file; `eager` ones are handed over as soon as the socket is
    /// drained; others when they are full, at the end, and as soon as more comes for one that was
    /// begun a second ago.
    case deliver(offset: Int64, eager: Bool)
    /// Thrown away: a redirect's page. A little of it is read, so that the connection may be kept;
    /// then the exchange ends without an error, whatever became of the rest.
    case discard
    /// The same, but what was read is in the result, its coding not undone, and
    /// ``ExchangeResult/isComplete`` says whether it is all.
    case skim
    /// Nothing of it is read until ``Exchange/decide(_:)`` says what becomes of it. The exchange ends
    /// before that by an error alone, and of the timeouts only the deadline counts meanwhile.
    case wait
    /// The exchange fails now.
    case abort(TransportError)
}

/// Lengths of time and amounts of one exchange.
package struct ExchangeMetrics: Sendable {
    /// Microseconds from the start of the exchange; 0 where that step did not happen.
    package var lookup: Int64 = 0
    package var connect: Int64 = 0
    package var tls: Int64 = 0
    package var firstByte: Int64 = 0
    package var total: Int64 = 0
    /// Microseconds spent waiting for a free connection before that.
    package var queued: Int64 = 0
    /// Bytes on the wire, heads included.
    package var sent: Int64 = 0
    package var received: Int64 = 0
    package var httpVersion: Int32 = 0
    package var isReused = false
    /// How often the request went out again over another connection (``ExchangeRequest/mayRepeat``).
    package var resends = 0
    package var remoteAddress = ""

    package init() {}
}

/// How an exchange ended.
package struct ExchangeResult: Sendable {
    /// `nil` if no answer came.
    package var head: ResponseHead?
    /// The collected body: what there is of it, if the exchange failed.
    package var body = Bytes()
    package var error: TransportError?
    package var metrics = ExchangeMetrics()
    /// A body without any length whose end was only the end of the connection (SEC-R4).
    package var isLengthUnverified = false
    /// The transport has undone the content coding of the body.
    package var isDecoded = false
    /// All of the body is in the result: it was read to its end, and gathered.
    package var isComplete = true

    package init() {}
}

/// Hears from an exchange, on a thread of the transport; nothing here may block.
package protocol ExchangeReceiver: AnyObject, Sendable {
    /// Every connection that it may use is taken, so it waits in the queue. ``exchangeDidStart(_:)``
    /// or the end follows.
    func exchangeMustWait(_ exchange: Exchange)
    /// It left the queue and is being carried out.
    func exchangeDidStart(_ exchange: Exchange)
    func exchange(_ exchange: Exchange, didReceive head: ResponseHead) -> BodyDisposition
    /// One piece of a delivered body. `exchange.consumed()` must follow, from any thread.
    func exchange(_ exchange: Exchange, didReceive piece: Bytes)
    func exchangeDidProgress(_ exchange: Exchange)
    /// A stub has the complete request and leaves the response to the program.
    func exchange(_ exchange: Exchange, asks question: StubQuestion)
    /// The last call, exactly once.
    func exchange(_ exchange: Exchange, didFinish result: ExchangeResult)
}

extension ExchangeReceiver {
    package func exchangeMustWait(_ exchange: Exchange) {}
    /// Releases the question, so that the exchange fails.
    package func exchange(_ exchange: Exchange, asks question: StubQuestion) {}
}

/// One request on its way. Made by the client, carried out by a transport.
package final class Exchange: @unchecked Sendable {  // atomics; the rest is the transport's
    /// The size of delivered pieces: large enough for whole, aligned writes to a file.
    package static let pieceSize = 262_144
    /// Pieces that may be with the receiver before the stream is held.
    static let window = 3

    package let request: ExchangeRequest
    package let receiver: any ExchangeReceiver

    // Amounts, written by the transport and read by anyone.
    private let receivedCount = Atomic<Int64>(0)
    private let wireCount = Atomic<Int64>(0)
    private let sentCount = Atomic<Int64>(0)
    private let expected = Atomic<Int64>(-1)
    private let outstanding = Atomic<Int>(0)
    private let waitsForReceiver = Atomic<Bool>(false)

    /// State that belongs to the transport, touched only on its thread.
    @exclusivity(unchecked) var state = ExchangeState()
    /// The transport that carries it out; set by `start`, before any other thread knows of it.
    var carrier: (any ExchangeCarrier)?

    package init(_ request: ExchangeRequest, receiver: any ExchangeReceiver) {
        self.request = request
        self.receiver = receiver
    }

    /// Decoded bytes of the body so far.
    package var received: Int64 { receivedCount.load(ordering: .relaxed) }
    /// Bytes of the body as they came over the wire.
    package var receivedOnWire: Int64 { wireCount.load(ordering: .relaxed) }
    /// Bytes of the request body handed to the connection.
    package var sent: Int64 { sentCount.load(ordering: .relaxed) }
    /// Content-Length of the answer, -1 while unknown.
    package var expectedOnWire: Int64 { expected.load(ordering: .relaxed) }

    /// Says that a delivered piece is done with, so that the stream may go on.
    package func consumed() {
        outstanding.subtract(1, ordering: .sequentiallyConsistent)
        if waitsForReceiver.exchange(false, ordering: .sequentiallyConsistent) {
            carrier?.continueReceiving(self)
        }
    }

    /// Says what becomes of a body that waits (``BodyDisposition/wait``). Once; of any other nothing
    /// changes.
    package func decide(_ disposition: BodyDisposition) { carrier?.decide(self, disposition) }

    /// Says that a body source which answered `.wait` has bytes, an end or an error.
    package func bodyIsReady() { carrier?.continueSending(self) }

    // For transports.

    func addReceived(_ count: Int, wire: Int) {
        receivedCount.store(received &+ Int64(count), ordering: .relaxed)
        wireCount.store(receivedOnWire &+ Int64(wire), ordering: .relaxed)
    }
    func setReceivedOnWire(_ count: Int64) { wireCount.store(count, ordering: .relaxed) }
    func setSent(_ count: Int64) { sentCount.store(count, ordering: .relaxed) }
    func setExpected(_ count: Int64) { expected.store(count, ordering: .relaxed) }

    /// Whether another piece may be delivered; if not, `continueReceiving` will be called.
    func mayDeliver() -> Bool {
        if outstanding.load(ordering: .sequentiallyConsistent) < Self.window { return true }
        waitsForReceiver.store(true, ordering: .sequentiallyConsistent)
        guard outstanding.load(ordering: .sequentiallyConsistent) < Self.window else {
            return false
        }
        return waitsForReceiver.exchange(false, ordering: .sequentiallyConsistent)
    }

    /// Ends it before it began, for its receiver. From any thread: its state stays as it is.
    func refuse(_ error: TransportError) {
        var result = ExchangeResult()
        result.error = error
        receiver.exchange(self, didFinish: result)
    }

    func deliver(_ piece: Bytes) {
        outstanding.add(1, ordering: .sequentiallyConsistent)
        receiver.exchange(self, didReceive: piece)
    }
}

/// What an exchange asks of the transport that carries it out; from any thread.
protocol ExchangeCarrier: AnyObject, Sendable {
    func continueReceiving(_ exchange: Exchange)
    func continueSending(_ exchange: Exchange)
    func decide(_ exchange: Exchange, _ disposition: BodyDisposition)
}
