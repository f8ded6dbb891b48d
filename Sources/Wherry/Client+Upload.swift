// Wherry: uploading pictures and forms, and bytes that come while they are sent.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// An upload on its way.
public typealias Upload = TransferHandle<Response>

extension Client {
    /// Starts the upload of pictures as one form, by POST.
    ///
    /// They are compressed several at a time on Wherry's workers. The handle tells the progress,
    /// and ``/Wherry/TransferHandle/images`` what became of each. One picture that cannot be sent fails
    /// the upload before a byte goes out; `error.failedImages` lists those.
    ///
    /// - Parameters:
    ///   - name: of the form's fields: `photo` makes `photo0`, `photo1`.
    ///   - parameters: further fields of the form, beside the client's.
    ///   - separately: so many at once, each in a request of its own
    ///     (``/WherryCore/Request/separateImages``); `nil` sends one form.
    ///   - unreadable: what to do with pictures that cannot be read; by default `fail`.
    /// - Throws: `no_images` for an empty list.
    public func upload(
        _ images: [Image], to url: String, name: String, compression: Compression = Compression(),
        parameters: JSONObject = [:], headers: Headers = [:], separately: Int? = nil,
        unreadable: UnreadableImages? = nil
    ) throws(WherryError) -> Upload {
        var request = Request(url, method: "POST")
        request.parameters = parameters
        request.headers = headers
        request.separateImages = separately
        request.unreadableImages = unreadable
        request.body = .multipart(images.map { .image(name, $0, compression) })
        return try start(request)
    }

    /// Sends a request with a body that comes from a sequence while it is sent.
    ///
    /// The next piece is asked for when there is room for it. If the sequence throws, the transfer
    /// is cancelled, and its error is thrown.
    ///
    /// - Parameters:
    ///   - body: the pieces; its task ends with the transfer.
    ///   - length: of the whole body; `nil` sends it chunked. More or less than this is an error.
    public func send<Body: AsyncSequence & Sendable>(
        _ request: Request, body: Body, length: Int64? = nil, contentType: String? = nil
    ) async throws -> Response where Body.Element: Sequence<UInt8> {
        var request = request
        request.body = .stream(length: length, contentType: contentType)
        return try await send(request, writing: body)
    }

    /// Sends a form whose parts of `Part.stream` come from a sequence while it is sent: those of the
    /// first such part, then those of the next. The sequence has exactly as many bytes as they say.
    ///
    /// - Parameter pieces: as the body of ``send(_:body:length:contentType:)``.
    /// - Throws: `truncated` for too few bytes, `wrong_state` for too many.
    public func send<Pieces: AsyncSequence & Sendable>(
        _ request: Request, writing pieces: Pieces
    ) async throws -> Response where Pieces.Element: Sequence<UInt8> {
        let once = Once(pieces)
        return try await send(request, pieces: { once.take() })
    }

    /// Sends a request with a body that a sequence brings, which is made anew where the server wants
    /// the bytes once more: after a 401 that credentials answer, and after a redirect with 307 or 308.
    ///
    /// - Parameters:
    ///   - length: of the whole body; `nil` sends it chunked. More or less than this is an error.
    ///   - body: makes the sequence from its first piece on. What it throws cancels the transfer, and
    ///     is thrown.
    public func send<Body: AsyncSequence & Sendable>(
        _ request: Request, length: Int64? = nil, contentType: String? = nil,
        rewindableBody body: @escaping @Sendable () async throws -> Body
    ) async throws -> Response where Body.Element: Sequence<UInt8> {
        var request = request
        request.body = .stream(length: length, contentType: contentType)
        request.set(.rewindableBody, 1)
        return try await send(request, pieces: body)
    }

    private func send<Body: AsyncSequence & Sendable>(
        _ request: Request, pieces body: @escaping @Sendable () async throws -> Body?
    ) async throws -> Response where Body.Element: Sequence<UInt8> {
        if Task.isCancelled { throw Transfer.cancelledError }
        var request = request
        let writer = BodyWriter(self.decisions(nil, for: &request))
        let transfer = try send(request, observer: writer)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                do {
                    repeat {
                        guard let pieces = try await body() else { return }
                        for try await piece in pieces {
                            guard try await writer.write(Bytes(piece), to: transfer) else { break }
                        }
                        if !transfer.wantsRewind { try writer.finish(transfer) }
                    } while try await writer.rewinds(transfer)
                } catch {
                    transfer.cancel()
                    throw error
                }
            }
            let outcome = await writer.end(of: transfer)
            group.cancelAll()
            do {
                try await group.waitForAll()
            } catch let error
                where outcome.error?.code == .cancelled && !(error is CancellationError)
            {
                // The sequence's own words, not those of the cancellation that it led to.
                throw error
            } catch {
                // The transfer's end says why nobody wanted the rest.
            }
            return try outcome.response()
        }
    }
}

/// A value that is given away once.
private final class Once<Value: Sendable>: Sendable {
    private let value: Lock<Value?>
    init(_ value: Value) { self.value = Lock(value) }
    func take() -> Value? {
        value.withLock { value in
            defer { value = nil }
            return value
        }
    }
}

/// Hands the pieces of a body to its transfer, and awaits its end.
final class BodyWriter: TransferObserver {
    private struct State: Sendable {
        /// Goes up with every word that there is room.
        var room = 0
        var outcome: TransferOutcome?
    }
    private let monitor = AsyncMonitor(State())
    private let responder: DecisionResponder?

    init(_ decisions: Decisions?) { responder = decisions.map { DecisionResponder($0) } }

    func transfer(_ transfer: Transfer, did event: TransferEvent) {
        switch event {
        case .wantBody: monitor.update { $0.room += 1 }
        case .decision(let decision): responder?.answer(decision)
        case .done(let outcome):
            monitor.update { $0.outcome = outcome }
            responder?.stop()
        default: break
        }
    }

    /// Returns when all of the piece was taken; throws if the transfer has ended.
    ///
    /// - Returns: `false` where the body is wanted from its first byte again.
    func write(_ piece: Bytes, to transfer: Transfer) async throws(WherryError) -> Bool {
        var position = 0
        while position < piece.count {
            let room = monitor.withLock { $0.room }
            do {
                let start = position
                position += try unsafe piece.withUnsafeBytes { bytes throws(WherryError) in
                    unsafe try transfer.write(UnsafeRawBufferPointer(rebasing: bytes[start...]))
                }
            } catch  where error.code == .busy {
                if transfer.wantsRewind { return false }
                let isRoom = await monitor.wait { state in
                    state.room != room || state.outcome != nil ? true : nil
                }
                if isRoom == nil { throw Transfer.cancelledError }
            }
        }
        return !transfer.wantsRewind
    }

    /// Waits until the body is wanted once more. `false` at the end of the transfer.
    func rewinds(_ transfer: Transfer) async throws(WherryError) -> Bool {
        let isWanted = await monitor.wait { state -> Bool? in
            if state.outcome != nil { return false }
            return transfer.wantsRewind ? true : nil
        }
        guard isWanted == true else { return false }
        do { try transfer.rewindWriting() } catch {
            guard transfer.state.isFinal else { throw error }
            return false
        }
        return true
    }

    /// Says that there are no more pieces, unless the transfer has ended already.
    func finish(_ transfer: Transfer) throws(WherryError) {
        do { try transfer.finishWriting() } catch {
            guard transfer.state.isFinal else { throw error }
        }
    }

    /// The end. Cancelling the task cancels the transfer, whose end is then awaited.
    func end(of transfer: Transfer) async -> TransferOutcome {
        if let outcome = await monitor.wait(until: { $0.outcome }) { return outcome }
        transfer.cancel()
        return await Task { await monitor.wait { $0.outcome } }.value
            ?? TransferOutcome(error: Transfer.cancelledError)
    }
}
