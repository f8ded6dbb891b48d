// Wherry: the state of a running exchange.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// The transport's state of an exchange; used only on the transport's thread.
struct ExchangeState: ~Copyable {
    /// idle -> waiting, active or finished; waiting -> active or finished; active -> finished.
    enum Phase { case idle, waiting, active, finished }

    var phase = Phase.idle
    /// The index among the active exchanges.
    var index = 0
    var easy: CurlEasy?
    var place: ConnectionQueue.Place?
    /// The position in the queue for a connection.
    var ticket: ConnectionQueue.Ticket?
    /// Whether it counts as a stream of a shared connection.
    var isStream = false
    var isPaused = false
    /// Whether libcurl has paused receiving.
    var holdsReceiving = false
    var holdsSending = false
    /// Whether a speed limit delays it.
    var isThrottled = false

    var submitted = Instant.never
    var started = Instant.never
    var lastActivity = Instant.never
    var stallStart = Instant.never
    var stallBytes: Int64 = 0
    var nextProgress = Instant(nanoseconds: 0)
    /// Whether there was activity since the last progress report.
    var owesProgress = false

    /// Whether the request was sent completely, and the response is awaited.
    var isSent = false
    /// Whether HTTP/1.1 was chosen, although the request allows HTTP/2.
    var usesHTTP1 = false
    /// Whether an HTTP/2 response began before the request was sent completely.
    var isEarly = false
    /// Whether the end of the body may be lost (``CurlEasy/mayLackData(_:)``).
    var mayLackData = false

    // The response.
    /// Whether the framing marks the end of the body.
    var hasLength = false
    /// The TLS connection, if the end of the connection ends the body.
    var tlsConnection: UnsafeRawPointer?
    var head: ResponseHead?

    // The body.
    var disposition = BodyDisposition.discard
    var decoder: Inflater?
    /// The decoder for the content encoding of the body.
    var decoding = BodyDecoding.none
    /// Whether the body ended at its marked end.
    var hasWholeBody = false
    /// libcurl's result, while decoded bytes still wait for the receiver.
    var curlResult: Int32?
    var collected = ByteBuffer()
    var piece = ByteBuffer()
    var pieceCapacity = 0
    /// The time when the first byte of the chunk arrived.
    var pieceStart = Instant.never
    /// Whether the chunk will be delivered when the socket is drained.
    var isListed = false
    var bodyOffset = 0
    /// Whether it has a connection and libcurl has begun to send.
    var hasGoneOut = false
    /// The number of times that libcurl has sent it again on its own.
    var resends = 0
    /// Whether to restart on another connection: the first one had stray bytes, so that nothing was
    /// sent, or connections were dropped repeatedly.
    var beginsAnew = false
    /// The number of such restarts.
    var restarts = 0
    /// Whether its connection uses HTTP/1, as another exchange required, although the host also
    /// supports HTTP/2.
    var isOnSerial = false
    /// The kinds of an address that was blocked.
    var deniedAddress: String?
    /// The numbers of addresses blocked because they require a cellular network, and of those not
    /// blocked.
    var meteredAddresses = 0
    var openedAddresses = 0
    /// Whether the process had no free descriptor for the last socket.
    var lacksDescriptor = false
    /// The time of the next connection attempt, after descriptors ran out.
    var postponedUntil: Instant?
    /// The error, if a callback aborted the exchange.
    var failure: TransportError?
}

/// A decoder for the content encoding of a body.
enum BodyDecoding {
    /// None: the body is delivered unchanged, or has no encoding.
    case none
    /// Our decoder.
    case ours
    /// libcurl, which delivers decoded bytes.
    case curl
    /// Decoding was requested, but the encoding is unsupported.
    case impossible
}
