// Wherry: what a transport keeps of an exchange while it runs.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// The transport's side of an exchange; touched on the transport's thread only.
struct ExchangeState: ~Copyable {
    /// idle -> waiting, active or finished; waiting -> active or finished; active -> finished.
    enum Phase { case idle, waiting, active, finished }

    var phase = Phase.idle
    /// Its place among the active ones.
    var index = 0
    var easy: CurlEasy?
    var place: ConnectionQueue.Place?
    /// Its turn, while it waits for a connection.
    var ticket: ConnectionQueue.Ticket?
    /// Counts as a stream of a connection that others share.
    var isStream = false
    var isPaused = false
    /// libcurl was told to hold the stream in that direction.
    var holdsReceiving = false
    var holdsSending = false
    /// A limit of speed holds it for a moment.
    var isThrottled = false

    var submitted = Instant.never
    var started = Instant.never
    var lastActivity = Instant.never
    var stallStart = Instant.never
    var stallBytes: Int64 = 0
    var nextProgress = Instant(nanoseconds: 0)
    /// Something moved since progress was last told.
    var owesProgress = false

    /// The request is on its way to the last byte: what is awaited now is the answer.
    var isSent = false

    // The answer.
    /// The framing tells where the body ends.
    var hasLength = false
    /// The TLS connection of a body that ends with the connection.
    var tlsConnection: UnsafeRawPointer?
    var head: ResponseHead?

    // The body.
    var disposition = BodyDisposition.discard
    var decoder: Inflater?
    /// Who undoes the coding of the body, and whether anybody can.
    var decoding = BodyDecoding.none
    /// The body ended where it was to end.
    var hasWholeBody = false
    /// libcurl is through with it, and this was its result, while decoded bytes wait to be taken.
    var curlResult: Int32?
    var collected = ByteBuffer()
    var piece = ByteBuffer()
    var pieceCapacity = 0
    /// When its first byte came.
    var pieceStart = Instant.never
    /// Whether the piece is in the list of those to be handed over when the socket is drained.
    var isListed = false
    var bodyOffset = 0
    /// It was given a connection, and libcurl has begun to send.
    var hasGoneOut = false
    /// How often libcurl has sent it again by itself.
    var resends = 0
    /// It is to begin with another connection: the one it was given had bytes in it that belong to no
    /// answer, so that nothing was sent; or connections broke again and again.
    var beginsAnew = false
    /// How often that happened.
    var restarts = 0
    /// Its connection speaks HTTP/1, since somebody had asked for that, though its host speaks both.
    var isOnSerial = false
    /// The kinds of an address that was not connected to.
    var deniedAddress: String?
    /// Addresses that it was kept from, since they lie behind a mobile network, and those that it
    /// was not kept from.
    var meteredAddresses = 0
    var openedAddresses = 0
    /// The process had no descriptor left for the last socket.
    var lacksDescriptor = false
    /// When its connection is tried again, for want of a descriptor.
    var postponedUntil: Instant?
    /// Why the exchange was broken off from inside a callback.
    var failure: TransportError?
}

/// What becomes of the content coding of a body.
enum BodyDecoding {
    /// Left as it is, or there is none.
    case none
    /// Undone by our own stage.
    case ours
    /// Undone by libcurl, which gives out decoded bytes.
    case curl
    /// Nobody can undo it, and it was to be undone.
    case impossible
}
