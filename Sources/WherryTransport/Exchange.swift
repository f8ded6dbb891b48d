// Wherry: a single request and its response, without redirects, retries or caches.
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import WherrySystem

/// The timeouts of an exchange in nanoseconds; 0 disables a timeout.
package struct ExchangeTimeouts: Hashable, Sendable {
    /// The time for name lookup, connection and TLS handshake together. Measured in real time.
    package var connect: Int64 = 0
    /// The maximum time without data in either direction.
    package var idle: Int64 = 0
    /// The time from the last byte sent to the first byte of the response.
    package var firstByte: Int64 = 0
    /// The window of the low-speed rule: fewer than `stallBytesPerSecond` during this time is a
    /// stall.
    package var stallWindow: Int64 = 0
    package var stallBytesPerSecond: Int64 = 0

    package init() {}
}

/// The content encodings that a request accepts and the transport decodes.
package enum ContentDecoding: Sendable {
    /// None: sends `Accept-Encoding: identity` and delivers the body unchanged.
    case identity
    /// gzip and deflate, with our own decoder, which reports a truncated stream as an error.
    case gzip
    /// All of `gzip`, and br and zstd, which libcurl decodes.
    case all

    /// The value of the Accept-Encoding header.
    package var fieldValue: String {
        switch self {
        case .identity: "identity"
        case .gzip: "gzip, deflate"
        case .all: "gzip, deflate, br, zstd"
        }
    }
}

/// What happens to an exchange if all its allowed connections are in use.
package enum Admission: Sendable {
    /// Waits in the queue.
    case waits
    /// Fails at once with `busy`.
    case onlyIfFree
    /// Starts anyway, beyond the limits, but counts for other exchanges. For callers that set a
    /// number of connections themselves.
    case always
}

/// A validated, complete request.
package struct ExchangeRequest: Sendable {
    package var method: String
    package var url: HTTPURL
    package var headers: HeaderList
    package var body: ExchangeBody
    package var decoding: ContentDecoding = .gzip
    package var timeouts = ExchangeTimeouts()
    /// The time when the exchange must be finished, including the wait for a connection.
    package var deadline = Instant.never
    /// The HTTP version: 11 or 20; 0 chooses the best one.
    package var httpVersion: Int32 = 0
    /// The options that only the transport reads.
    package var options = TransportOptions()
    /// Limits on the receive speed that the exchange shares with others. All of them apply.
    package var speedLimits: [SpeedLimit] = []
    /// Whether to call `exchangeDidProgress`, at most ten times a second.
    package var wantsProgress = false
    /// The User-Agent header, unless `headers` contains one; "" sends none.
    package var userAgent = ""
    /// Whether to call `exchangeDidCollect` when a collected body has grown.
    package var sharesBody = false
    /// Whether to use large receive buffers, for long responses.
    package var isBulk = false
    /// Whether to use a separate connection that is closed afterwards.
    package var ownConnection = false
    package var admission = Admission.waits
    /// The priority in the queue for a connection, -100...100; the highest goes first.
    package var priority: Int8 = 0
    /// Whether to resend the request if a reused connection is dropped without a response. The
    /// server may have acted on the request, so the default is `true` only for idempotent methods.
    /// A request of which no byte was sent is always resent.
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
    /// Returns whether sending a method twice has the same effect as sending it once (RFC 9110,
    /// section 9.2.2).
    package static func isIdempotent(_ method: String) -> Bool {
        switch method {
        case "GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE": true
        default: false
        }
    }

    /// Whether the request has a body, which may be empty.
    var hasBody: Bool {
        if case .none = body { false } else { true }
    }

    /// Whether the body may be longer than a frame of HTTP/2 (RFC 9113, section 4.2).
    var isLongUpload: Bool {
        let length: Int64? =
            switch body {
            case .none: 0
            case .bytes(let bytes): Int64(bytes.count)
            case .source(let source): source.length
            }
        return length.map { $0 > 16_384 } ?? true
    }

    /// The headers that are sent unless ``headers`` contains or suppresses them.
    package var ownFields: [(name: String, value: String)] {
        let fields = [("Accept", "*/*"), ("Accept-Encoding", decoding.fieldValue)]
        return userAgent.isEmpty ? fields : [("User-Agent", userAgent)] + fields
    }
}

/// What to do with the body of a response.
package enum BodyDisposition: Sendable {
    /// Collects the body in memory, up to `limit` decoded bytes.
    case collect(limit: Int64)
    /// Delivers the body in chunks. The first chunk is shortened so that later chunks start at a
    /// multiple of `Exchange.pieceSize` in the file.
    ///
    /// `eager` chunks are delivered as soon as the socket is drained. Other chunks are delivered
    /// when they are full, at the end of the body, and when more data arrives a second or more
    /// after their first byte.
    case deliver(offset: Int64, eager: Bool)
    /// Discards the body, such as that of a redirect. A small part is read, so that the connection
    /// can be reused. The exchange then ends without an error, even if the body is incomplete.
    case discard
    /// Like `discard`, but the result contains the bytes that were read, not decoded.
    /// ``ExchangeResult/isComplete`` says whether they are the complete body.
    case skim
    /// Reads nothing until ``Exchange/decide(_:)`` is called. Until then, the exchange can only end
    /// with an error, and only the deadline applies, no other timeout.
    case wait
    /// Fails the exchange now.
    case abort(TransportError)
}

/// Timings and sizes of an exchange.
package struct ExchangeMetrics: Sendable {
    /// Microseconds from the start of the exchange; 0 if the step did not happen.
    package var lookup: Int64 = 0
    package var connect: Int64 = 0
    package var tls: Int64 = 0
    package var firstByte: Int64 = 0
    package var total: Int64 = 0
    /// Microseconds spent waiting for a connection before the start.
    package var queued: Int64 = 0
    /// Bytes on the wire, including headers.
    package var sent: Int64 = 0
    package var received: Int64 = 0
    package var httpVersion: Int32 = 0
    package var isReused = false
    /// The number of times the request was resent over another connection
    /// (``ExchangeRequest/mayRepeat``).
    package var resends = 0
    package var remoteAddress = ""

    package init() {}
}

/// The result of an exchange.
package struct ExchangeResult: Sendable {
    /// `nil` if no response arrived.
    package var head: ResponseHead?
    /// The collected body. If the exchange failed, the part that was received.
    package var body = Bytes()
    package var error: TransportError?
    package var metrics = ExchangeMetrics()
    /// Whether a body without a length ended only with the connection (SEC-R4), so that it may be
    /// truncated.
    package var isLengthUnverified = false
    /// Whether the transport decoded the content encoding of the body.
    package var isDecoded = false
    /// Whether the result contains the complete body: collected and read to its end.
    package var isComplete = true

    package init() {}
}

/// Receives the events of an exchange on the transport's thread. Implementations must not block.
package protocol ExchangeReceiver: AnyObject, Sendable {
    /// Called when the exchange must wait in the queue, because all allowed connections are in use.
    /// ``exchangeDidStart(_:)`` or the end of the exchange follows.
    func exchangeMustWait(_ exchange: Exchange)
    /// Called when the exchange starts.
    func exchangeDidStart(_ exchange: Exchange)
    func exchange(_ exchange: Exchange, didReceive head: ResponseHead) -> BodyDisposition
    /// Receives a chunk of a delivered body. The receiver must then call `exchange.consumed()`,
    /// from any thread.
    func exchange(_ exchange: Exchange, didReceive piece: Bytes)
    func exchangeDidProgress(_ exchange: Exchange)
    /// A collected body has grown, of which ``Exchange/collected(from:)`` returns a copy. Called for
    /// requests with `sharesBody` when the socket is drained, but not at the end of the body, and not
    /// for stubs.
    func exchangeDidCollect(_ exchange: Exchange)
    /// A stub has the complete request and leaves the response to the program.
    func exchange(_ exchange: Exchange, calls call: StubCall)
    /// Called last, exactly once.
    func exchange(_ exchange: Exchange, didFinish result: ExchangeResult)
}

extension ExchangeReceiver {
    package func exchangeMustWait(_ exchange: Exchange) {}
    package func exchangeDidCollect(_ exchange: Exchange) {}
    /// Releases the call, so that the exchange fails.
    package func exchange(_ exchange: Exchange, calls call: StubCall) {}
}

/// A single request, created by the client and performed by a transport.
package final class Exchange: @unchecked Sendable {  // Atomics; the transport owns everything else.
    /// The size of delivered chunks in bytes: large enough for aligned writes to a file.
    package static let pieceSize = 262_144
    /// The time after which an incomplete chunk is delivered.
    static let chunkDelay = Int64.milliseconds(1_000)
    /// The maximum number of chunks that the receiver has not consumed. Receiving pauses at this
    /// number.
    static let window = 3

    package let request: ExchangeRequest
    package let receiver: any ExchangeReceiver

    // Byte counts, written by the transport and read by any thread.
    private let receivedCount = Atomic<Int64>(0)
    private let wireCount = Atomic<Int64>(0)
    private let sentCount = Atomic<Int64>(0)
    private let expected = Atomic<Int64>(-1)
    private let outstanding = Atomic<Int>(0)
    private let waitsForReceiver = Atomic<Bool>(false)

    /// The transport's state, used only on its thread.
    @exclusivity(unchecked) var state = ExchangeState()
    /// The transport that performs the exchange. `start` sets it before other threads see the
    /// exchange.
    var carrier: (any ExchangeCarrier)?

    package init(_ request: consuming ExchangeRequest, receiver: any ExchangeReceiver) {
        self.request = request
        self.receiver = receiver
    }

    /// The number of decoded body bytes received so far.
    package var received: Int64 { receivedCount.load(ordering: .relaxed) }
    /// The number of body bytes received over the wire.
    package var receivedOnWire: Int64 { wireCount.load(ordering: .relaxed) }
    /// The number of request body bytes passed to the connection.
    package var sent: Int64 { sentCount.load(ordering: .relaxed) }
    /// The Content-Length of the response; -1 if unknown.
    package var expectedOnWire: Int64 { expected.load(ordering: .relaxed) }

    /// Notes that the receiver has consumed a delivered chunk, so that receiving may continue.
    package func consumed() {
        outstanding.subtract(1, ordering: .sequentiallyConsistent)
        if waitsForReceiver.exchange(false, ordering: .sequentiallyConsistent) {
            carrier?.continueReceiving(self)
        }
    }

    /// Sets the disposition of a body that waits (``BodyDisposition/wait``). Call it once. No
    /// effect in any other state.
    package func decide(_ disposition: BodyDisposition) { carrier?.decide(self, disposition) }

    /// Notes that a body source that returned `.wait` now has bytes, an end or an error.
    package func bodyIsReady() { carrier?.continueSending(self) }

    /// The length of the body that was collected so far. Use it only in
    /// ``ExchangeReceiver/exchangeDidCollect(_:)``.
    package var collectedCount: Int { state.collected.count }

    /// Returns a copy of the collected body from an offset, which must not exceed ``collectedCount``;
    /// `nil` if out of memory. Call it only in ``ExchangeReceiver/exchangeDidCollect(_:)``.
    package func collected(from offset: Int) -> Bytes? {
        Bytes(
            copyingIfPossible: UnsafeRawBufferPointer(
                rebasing: state.collected.bytes.dropFirst(offset)))
    }

    /// Calls ``ExchangeReceiver/exchangeDidCollect(_:)`` soon, if the body is being collected. Call it
    /// after the response headers have arrived.
    package func reportCollected() { carrier?.reportCollected(self) }

    // For transports.

    func addReceived(_ count: Int, wire: Int) {
        receivedCount.store(received &+ Int64(count), ordering: .relaxed)
        wireCount.store(receivedOnWire &+ Int64(wire), ordering: .relaxed)
    }
    func setReceivedOnWire(_ count: Int64) { wireCount.store(count, ordering: .relaxed) }
    func setSent(_ count: Int64) { sentCount.store(count, ordering: .relaxed) }
    func setExpected(_ count: Int64) { expected.store(count, ordering: .relaxed) }

    /// Returns whether another chunk may be delivered. If not, `continueReceiving` will be called.
    func mayDeliver() -> Bool {
        if outstanding.load(ordering: .sequentiallyConsistent) < Self.window { return true }
        waitsForReceiver.store(true, ordering: .sequentiallyConsistent)
        guard outstanding.load(ordering: .sequentiallyConsistent) < Self.window else {
            return false
        }
        return waitsForReceiver.exchange(false, ordering: .sequentiallyConsistent)
    }

    /// Ends an exchange that has not started. Callable from any thread: it does not change `state`.
    func refuse(_ error: TransportError) {
        var result = ExchangeResult()
        result.error = error
        receiver.exchange(self, didFinish: result)
    }

    /// Reports the growth of a collected body, on the transport's thread.
    func tellCollected() {
        guard case .collect = state.disposition, state.phase == .active else { return }
        receiver.exchangeDidCollect(self)
    }

    func deliver(_ piece: Bytes) {
        outstanding.add(1, ordering: .sequentiallyConsistent)
        receiver.exchange(self, didReceive: piece)
    }
}

/// The calls of an exchange to its transport. Callable from any thread.
protocol ExchangeCarrier: AnyObject, Sendable {
    func continueReceiving(_ exchange: Exchange)
    func continueSending(_ exchange: Exchange)
    func decide(_ exchange: Exchange, _ disposition: BodyDisposition)
    func reportCollected(_ exchange: Exchange)
}

extension ExchangeCarrier where Self: Transport {
    func reportCollected(_ exchange: Exchange) {
        schedule(at: clock.now()) { exchange.tellCollected() }
    }
}
