// Wherry: request bodies written by a caller during the transfer.
// SPDX-License-Identifier: Apache-2.0

import Glibc
import WherrySystem

/// A body that is written during the transfer, through a bounded buffer.
///
/// `write` and `finish` are thread-safe. The writer is notified once each time the buffer is empty
/// and the transport needs more bytes.
package final class StreamedBody: BodySource {
    /// The capacity of the buffer in bytes.
    package static let capacity = 262_144

    private struct State {
        /// Byte `n` of the body is at `n % capacity`; allocated by the first write.
        var ring: UnsafeMutableRawPointer?
        var written: Int64 = 0
        var taken: Int64 = 0
        var isFinished = false
        var onRoom: (@Sendable (_ offset: Int64, _ room: Int) -> Void)?
        /// Whether `onRoom` was called and nothing was written since then.
        var isAsked = false
        var failure: TransportError?
        /// Whether the body must restart and the writer has not noticed yet. Its writes still
        /// belong to the previous attempt.
        var wantsRewind = false
        weak var waiting: Exchange?

        var count: Int { Int(written - taken) }
    }

    /// The declared length; `nil` sends the body chunked.
    package let length: Int64?
    private let state: Lock<State>
    /// Whether the writer can restart the body.
    private let isRewindable: Bool

    /// - Parameters:
    ///   - length: The length, if known; negative for unknown.
    ///   - isRewindable: Whether the writer can restart the body on request.
    package init(length: Int64? = nil, isRewindable: Bool = false) {
        self.isRewindable = isRewindable
        self.length = length.flatMap { $0 < 0 ? nil : $0 }
        state = Lock(State())
    }

    /// Sets the callback for free space. It receives the offset of the next byte and the number of
    /// bytes that fit. Called on the transport's thread without locks held. It must not block, but
    /// may write. Set it before the exchange starts.
    package func onRoom(_ body: @escaping @Sendable (_ offset: Int64, _ room: Int) -> Void) {
        state.withLock { $0.onRoom = body }
    }

    deinit { state.withLock { free($0.ring) } }

    /// Copies as many bytes as fit and returns their number; 0 if the buffer is full.
    ///
    /// Throws kind `bodySource` after `finish`, or if the body would exceed its declared length.
    /// Throws kind `noMemory` if the buffer cannot be allocated. In these cases, nothing is
    /// written.
    package func write(_ bytes: UnsafeRawBufferPointer) throws(TransportError) -> Int {
        let (count, waiting) = try state.withLock { state throws(TransportError) in
            (try write(bytes, &state), state.count > 0 ? Self.takeWaiting(&state) : nil)
        }
        waiting?.bodyIsReady()
        return count
    }

    private func write(
        _ bytes: UnsafeRawBufferPointer, _ state: inout State
    ) throws(TransportError) -> Int {
        if let failure = state.failure { throw failure }
        guard !state.isFinished else {
            throw TransportError(.bodySource, "The request body was finished before this write")
        }
        if let length, !state.wantsRewind, Int64(bytes.count) > length - state.written {
            throw TransportError(
                .bodySource,
                "The request body would have at least \(state.written.addingSaturating(Int64(bytes.count))) bytes, but \(length) were announced"
            )
        }
        guard !state.wantsRewind else { return 0 }
        let count = min(bytes.count, Self.capacity - state.count)
        guard count > 0, let source = bytes.baseAddress else { return 0 }
        if state.ring == nil { state.ring = malloc(Self.capacity) }
        guard let ring = state.ring else {
            throw TransportError(.noMemory, "Not enough memory for the request body")
        }
        let start = Int(state.written % Int64(Self.capacity))
        let first = min(count, Self.capacity - start)
        memcpy(ring + start, source, first)
        memcpy(ring, source + first, count - first)
        state.written += Int64(count)
        state.isAsked = false
        return count
    }

    /// Whether all declared bytes were written.
    package var isWhole: Bool { state.withLock { $0.written == length } }

    /// Ends the body. If fewer bytes than declared were written, the transfer fails with kind
    /// `truncated`. A second call has no effect.
    package func finish() {
        let waiting = state.withLock { state -> Exchange? in
            guard !state.isFinished, !state.wantsRewind else { return nil }
            state.isFinished = true
            if let length, state.written < length {
                state.failure = TransportError(
                    .truncated,
                    "The request body ended after \(state.written) of the \(length) bytes announced"
                )
            }
            return Self.takeWaiting(&state)
        }
        waiting?.bodyIsReady()
    }

    package func read(
        into target: UnsafeMutableRawBufferPointer, for exchange: Exchange
    ) -> BodyRead {
        let (answer, ask) = state.withLock { state -> (BodyRead, (() -> Void)?) in
            if let failure = state.failure { return (.failed(failure), nil) }
            let count = min(target.count, state.count)
            if count > 0, let ring = state.ring, let base = target.baseAddress {
                let start = Int(state.taken % Int64(Self.capacity))
                let first = min(count, Self.capacity - start)
                memcpy(base, ring + start, first)
                memcpy(base + first, ring, count - first)
                state.taken += Int64(count)
                return (.bytes(count), question(&state))
            }
            if state.isFinished || state.written == length { return (.end, nil) }
            state.waiting = exchange
            return (.wait, question(&state))
        }
        ask?()
        return answer
    }

    /// Returns the callback to call now, if the buffer is empty and the writer was not notified
    /// yet.
    private func question(_ state: inout State) -> (() -> Void)? {
        guard state.count == 0, !state.isAsked, !state.isFinished, let onRoom = state.onRoom else {
            return nil
        }
        let left = length.map { $0 - state.written } ?? .max
        guard left > 0 else { return nil }
        state.isAsked = true
        let (offset, room) = (state.written, Int(min(left, Int64(Self.capacity))))
        return { onRoom(offset, room) }
    }

    private static func takeWaiting(_ state: inout State) -> Exchange? {
        let waiting = state.waiting
        state.waiting = nil
        return waiting
    }

    /// Whether the writer must restart. Until it calls `beginAgain`, its writes are discarded.
    package var wantsRewind: Bool { state.withLock { $0.wantsRewind } }

    /// Restarts the body for the writer. Returns `false` if no restart is pending.
    package func beginAgain() -> Bool {
        state.withLock { state in
            defer { state.wantsRewind = false }
            return state.wantsRewind
        }
    }

    /// Rewinds the body. Succeeds while the buffer still holds every byte written, or if the writer
    /// can restart.
    package func rewind() -> Bool {
        state.withLock { state in
            state.waiting = nil
            if state.written <= Int64(Self.capacity) {
                state.taken = 0
                return true
            }
            guard isRewindable else { return false }
            (state.written, state.taken) = (0, 0)
            (state.isFinished, state.isAsked, state.wantsRewind) = (false, false, true)
            state.failure = nil
            return true
        }
    }
}
