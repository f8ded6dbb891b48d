// Wherry: streaming of response bodies.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// A response whose body is streamed.
public struct StreamedResponse: Sendable {
    /// The status and headers; its own body is empty.
    public let head: Response
    /// The decoded body; it can be read once.
    public let body: BodyStream
}

/// A decoded response body, delivered in chunks as they arrive.
///
/// Requesting the next chunk releases the previous one, so a slow reader slows the server down. The
/// stream can be read once. Releasing it before its end, or cancelling the reading task, cancels
/// the transfer.
public struct BodyStream: AsyncSequence, Sendable {
    public typealias Element = Bytes
    public typealias Failure = WherryError

    let reader: BodyReader

    /// The transfer, to observe its progress and control it.
    public var transfer: Transfer { reader.transfer }

    /// Whether the body may be truncated: it was received over TLS without a length, and the
    /// connection ended without close_notify. Known at the end of the body; `false` before.
    public var isLengthUnverified: Bool { reader.isLengthUnverified }

    /// Creates the iterator. Create only one: several iterators would share the chunks.
    public func makeAsyncIterator() -> Iterator { Iterator(reader: reader) }

    /// Iterates over the chunks.
    public struct Iterator: AsyncIteratorProtocol {
        let reader: BodyReader

        /// Returns the next chunk, never empty; `nil` at the end of the body.
        ///
        /// - Throws: The error of the transfer, once. Later calls return `nil`.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(WherryError) -> Bytes? {
            try await reader.next()
        }
    }
}

/// Owns the stream for its reader. Releasing it cancels the transfer.
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

/// The buffer for the chunks of a body: at most three, the window of the transport.
final class BodyInbox: TransferObserver {
    enum Step: Sendable {
        case piece(Bytes)
        case end
        case failure(WherryError)
    }

    private struct State: Sendable {
        var head: Response?
        var pieces: [BodyPiece] = []
        /// The chunk that the reader holds.
        var current: BodyPiece?
        var outcome: TransferOutcome?
        var isAbandoned = false
    }
    private let monitor = AsyncMonitor(State())
    private let runner: HookRunner?

    init(_ hooks: Hooks?) { runner = hooks.map { HookRunner($0) } }

    func transfer(_ transfer: Transfer, did event: TransferEvent) {
        switch event {
        case .headers(let response):
            monitor.update { $0.head = response }
        case .body(let piece):
            // A chunk that is not queued is released on return, outside of the lock.
            monitor.update { if !$0.isAbandoned { $0.pieces.append(piece) } }
        case .hook(let call):
            runner?.run(call)
        case .done(let outcome):
            monitor.update { $0.outcome = outcome }
            runner?.stop()
        default: break
        }
    }

    /// Returns the response headers of a stream, or the outcome of a transfer that ended before.
    func head() async -> Result<Response, WherryError>? {
        await monitor.wait { state -> Result<Response, WherryError>? in
            if let head = state.head { return .success(head) }
            guard let outcome = state.outcome else { return nil }
            if let error = outcome.error { return .failure(error) }
            return .failure(WherryError(.internal, "The transfer ended without response headers"))
        }
    }

    /// Returns the next chunk or the end; `nil` if the task was cancelled.
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

    /// Whether the stream has ended, and its body may have been cut.
    var isLengthUnverified: Bool {
        monitor.withLock { state in
            let outcome = state.outcome
            return (outcome?.response ?? outcome?.error?.response)?.isLengthUnverified == true
        }
    }

    /// Releases the reader's chunk; the stream continues.
    func release() {
        let piece = monitor.withLock { state in
            let piece = state.current
            state.current = nil
            return piece
        }
        withExtendedLifetime(piece) {}
    }

    /// Discards, after the reader is gone, buffered chunks and everything that arrives later.
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
