// Wherry: the body of an answer, piece by piece.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// An answer whose body is read while it arrives.
public struct StreamedResponse: Sendable {
    /// Status and fields; its own body is empty.
    public let head: Response
    /// The decoded body, to be read once.
    public let body: BodyStream
}

/// The decoded body of an answer in pieces, as they arrive.
///
/// The stream is held while a piece is looked at: asking for the next one lets go of it, and so a
/// slow reader slows the server down. It can be read once. Letting go of it before its end, and
/// cancelling the task that reads, cancel the transfer.
public struct BodyStream: AsyncSequence, Sendable {
    public typealias Element = Bytes
    public typealias Failure = WherryError

    let reader: BodyReader

    /// The transfer, for its progress and its verbs.
    public var transfer: Transfer { reader.transfer }

    /// Whether the body may have been cut: over TLS, it has no length, and the connection ended without
    /// close_notify. Known at the end of the body; `false` before.
    public var isLengthUnverified: Bool { reader.isLengthUnverified }

    /// The one reader: pieces that one iterator took, no other gets.
    public func makeAsyncIterator() -> Iterator { Iterator(reader: reader) }

    /// Takes the pieces in turn.
    public struct Iterator: AsyncIteratorProtocol {
        let reader: BodyReader

        /// The next piece, never empty; `nil` at the end of the body.
        ///
        /// - Throws: what broke the stream; once, and `nil` afterwards.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(WherryError) -> Bytes? {
            try await reader.next()
        }
    }
}

/// Who holds the stream for its reader. Letting go of it ends the transfer.
final class BodyReader: Sendable {
    let transfer: Transfer
    private let inbox: BodyInbox

    init(_ transfer: Transfer, _ inbox: BodyInbox) {
        self.transfer = transfer
        self.inbox = inbox
    }

    deinit {
        transfer.cancel()
        inbox.abandon()
    }

    var isLengthUnverified: Bool { inbox.isLengthUnverified }

    func next() async throws(WherryError) -> Bytes? {
        inbox.release()
        guard let step = await inbox.next() else {
            transfer.cancel()
            inbox.abandon()
            throw Transfer.cancelledError
        }
        switch step {
        case .piece(let bytes): return bytes
        case .end: return nil
        case .failure(let error): throw error
        }
    }
}

/// Where the transport leaves the pieces of one body: never more than its window, three.
final class BodyInbox: TransferObserver {
    enum Step: Sendable {
        case piece(Bytes)
        case end
        case failure(WherryError)
    }

    private struct State: Sendable {
        var head: Response?
        var pieces: [BodyPiece] = []
        /// The piece that the reader has.
        var current: BodyPiece?
        var outcome: TransferOutcome?
        var isAbandoned = false
    }
    private let monitor = AsyncMonitor(State())
    private let responder: DecisionResponder?

    init(_ decisions: Decisions?) { responder = decisions.map { DecisionResponder($0) } }

    func transfer(_ transfer: Transfer, did event: TransferEvent) {
        switch event {
        case .head(let response):
            monitor.update { $0.head = response }
        case .body(let piece):
            // A piece that nobody takes is let go of on return, outside the lock.
            monitor.update { if !$0.isAbandoned { $0.pieces.append(piece) } }
        case .decision(let decision):
            responder?.answer(decision)
        case .done(let outcome):
            monitor.update { $0.outcome = outcome }
            responder?.stop()
        default: break
        }
    }

    /// The head of an answer that is streamed, or the end of what never got so far.
    func head() async -> Result<Response, WherryError>? {
        await monitor.wait { state -> Result<Response, WherryError>? in
            if let head = state.head { return .success(head) }
            guard let outcome = state.outcome else { return nil }
            if let error = outcome.error { return .failure(error) }
            return .failure(WherryError(.internal, "The answer has ended without a head"))
        }
    }

    /// The next piece or the end; `nil` if the task was cancelled.
    func next() async -> Step? {
        await monitor.wait { state -> Step? in
            if !state.pieces.isEmpty {
                let piece = state.pieces.removeFirst()
                state.current = piece
                return .piece(piece.bytes)
            }
            guard let outcome = state.outcome, !state.isAbandoned else {
                return state.isAbandoned ? .end : nil
            }
            state.isAbandoned = true
            return outcome.error.map { .failure($0) } ?? .end
        }
    }

    /// Whether the transfer has ended with a body that may have been cut.
    var isLengthUnverified: Bool {
        monitor.withLock { $0.outcome?.response?.isLengthUnverified ?? false }
    }

    /// Lets go of the piece that the reader had; the stream goes on.
    func release() {
        let piece = monitor.withLock { state in
            let piece = state.current
            state.current = nil
            return piece
        }
        withExtendedLifetime(piece) {}
    }

    /// Nobody reads any more: what is here goes, and what comes is not kept.
    func abandon() {
        let pieces = monitor.withLock { state in
            state.isAbandoned = true
            let pieces = state.pieces + (state.current.map { [$0] } ?? [])
            state.pieces = []
            state.current = nil
            return pieces
        }
        withExtendedLifetime(pieces) {}
    }
}
