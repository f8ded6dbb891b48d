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
    /// Its place in the order of those that wait for a connection.
    var order = 0
    var easy: CurlEasy?
    var place: ConnectionQueue.Place?
    var isPaused = false
    /// libcurl was told to hold the stream in that direction.
    var holdsReceiving = false
    var holdsSending = false

    var submitted = Instant.never
    var started = Instant.never
    var lastActivity = Instant.never
    var stallStart = Instant.never
    var stallBytes: Int64 = 0
    var nextProgress = Instant(nanoseconds: 0)
    /// Something moved since progress was last told.
    var owesProgress = false

    // The answer.
    /// Its first line has come.
    var isAnswered = false
    /// The end of the body can be told from a cut of the connection.
    var hasLength = false
    var head: ResponseHead?

    // The body.
    var disposition = BodyDisposition.discard
    var decoder: Inflater?
    var collected = ByteBuffer()
    var piece = ByteBuffer()
    var pieceCapacity = 0
    /// When its first byte came.
    var pieceStart = Instant.never
    /// Whether the piece is in the list of those to be handed over when the socket is drained.
    var isListed = false
    var bodyOffset = 0
    /// The connection it was given had bytes in it that belong to no answer; nothing was sent.
    var isStale = false
    /// How often that happened.
    var staleCount = 0
    /// Why the exchange was broken off from inside a callback.
    var failure: TransportError?
}
