// Wherry: uploads of images, forms and streamed bodies.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// A running upload.
public typealias Upload = TransferHandle<Response>

extension Client {
    /// Uploads images as one form with POST.
    ///
    /// Workers compress several images at a time. The handle reports progress, and
    /// ``/WherryAsync/TransferHandle/images`` the result of each image. An image that cannot be sent
    /// fails the upload before anything is sent; `error.failedImages` lists such images.
    ///
    /// - Parameters:
    ///   - name: The name of the form fields: `photo` gives `photo0`, `photo1`.
    ///   - parameters: Further form fields, in addition to the client's.
    ///   - separately: The number of images to upload concurrently, each in a separate request
    ///     (``/WherryRequests/Request/separateImages``); `nil` sends one form.
    ///   - unreadable: How to treat unreadable images. Default: `fail`.
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

    /// Sends a request with a streamed body from a sequence.
    ///
    /// The next chunk is requested when there is room for it. If the sequence throws, the transfer
    /// is cancelled, and that error is thrown.
    ///
    /// - Parameters:
    ///   - body: The chunks; the task that reads them ends with the transfer.
    ///   - length: The length of the body; `nil` sends it chunked. A body of any other length is an
    ///     error.
    public func send<Body: AsyncSequence & Sendable>(
        _ request: Request, body: Body, length: Int64? = nil, contentType: String? = nil
    ) async throws -> Response where Body.Element: Sequence<UInt8> {
        var request = request
        request.body = .stream(length: length, contentType: contentType)
        return try await send(request, writing: body)
    }

    /// Sends a form whose `Part.stream` parts come from a sequence: first the bytes of the first
    /// such part, then those of the next. The sequence must have exactly the total length of the
    /// parts.
    ///
    /// - Parameter pieces: Like the body of ``send(_:body:length:contentType:)``.
    /// - Throws: `truncated` for too few bytes, `wrong_state` for too many.
    public func send<Pieces: AsyncSequence & Sendable>(
        _ request: Request, writing pieces: Pieces
    ) async throws -> Response where Pieces.Element: Sequence<UInt8> {
        let once = Once(pieces)
        return try await send(request, pieces: { once.take() })
    }

    /// Sends a request with a streamed body from a sequence that can be created again. The body may
    /// have to be sent again: after a 401 for which credentials are known, and after a 307 or 308
    /// redirect.
    ///
    /// - Parameters:
    ///   - length: The length of the body; `nil` sends it chunked. A body of any other length is an
    ///     error.
    ///   - body: Creates the sequence, starting at its first chunk. An error that it throws cancels
    ///     the transfer and is thrown.
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
        let writer = BodyWriter(self.hooks(nil, for: &request))
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
                // Throw the error of the sequence, not of the cancellation that it caused.
                throw error
            } catch {
                // The outcome of the transfer says why the rest was not needed.
            }
            return try outcome.response()
        }
    }
}

/// A value that can be taken once.
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

/// Writes the chunks of a body to a transfer, and awaits its end.
final class BodyWriter: TransferObserver {
    private struct State: Sendable {
        /// Incremented when the transfer reports room.
        var room = 0
        var outcome: TransferOutcome?
    }
    private let monitor = AsyncMonitor(State())
    private let runner: HookRunner?

    init(_ hooks: Hooks?) { runner = hooks.map { HookRunner($0) } }

    func transfer(_ transfer: Transfer, did event: TransferEvent) {
        switch event {
        case .wantBody: monitor.update { $0.room += 1 }
        case .hook(let call): runner?.run(call)
        case .done(let outcome):
            monitor.update { $0.outcome = outcome }
            runner?.stop()
        default: break
        }
    }

    /// Returns when the transfer has taken the whole chunk; throws if the transfer has ended.
    ///
    /// - Returns: `false` if the body is required again from its first byte.
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

    /// Waits until the body is required again. Returns `false` at the end of the transfer.
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

    /// Ends the body, unless the transfer has already ended.
    func finish(_ transfer: Transfer) throws(WherryError) {
        do { try transfer.finishWriting() } catch {
            guard transfer.state.isFinal else { throw error }
        }
    }

    /// Waits for the end of the transfer. Cancelling the task cancels the transfer and still waits
    /// for its end.
    func end(of transfer: Transfer) async -> TransferOutcome {
        if let outcome = await monitor.wait(until: { $0.outcome }) { return outcome }
        transfer.cancel()
        return await Task { await monitor.wait { $0.outcome } }.value
            ?? TransferOutcome(error: Transfer.cancelledError)
    }
}
