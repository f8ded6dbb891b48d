// Wherry: uploading pictures and forms, and bytes that come while they are sent.
// SPDX-License-Identifier: Apache-2.0

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
    ///   - skippingBroken: leaves out what cannot be read.
    /// - Throws: `no_images` for an empty list.
    public func upload(
        _ images: [Image], to url: String, name: String, compression: Compression = Compression(),
        parameters: JSONObject = [:], headers: Headers = [:], separately: Int? = nil,
        skippingBroken: Bool = false
    ) throws(WherryError) -> Upload {
        var request = Request(url, method: "POST")
        request.parameters = parameters
        request.headers = headers
        request.separateImages = separately
        if skippingBroken { request.skipsBrokenImages = true }
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
        if Task.isCancelled { throw Transfer.cancelledError }
        var request = request
        request.body = .stream(length: length, contentType: contentType)
        let writer = BodyWriter(self.decisions(nil, for: &request))
        let transfer = try send(request, observer: writer)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                do {
                    for try await piece in body {
                        try await writer.write(Bytes(piece), to: transfer)
                    }
                    try writer.finish(transfer)
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
    func write(_ piece: Bytes, to transfer: Transfer) async throws(WherryError) {
        var position = 0
        while position < piece.count {
            let room = monitor.withLock { $0.room }
            do {
                let start = position
                position += try unsafe piece.withUnsafeBytes { bytes throws(WherryError) in
                    unsafe try transfer.write(UnsafeRawBufferPointer(rebasing: bytes[start...]))
                }
            } catch  where error.code == .busy {
                let isRoom = await monitor.wait { state in
                    state.room != room || state.outcome != nil ? true : nil
                }
                if isRoom == nil { throw Transfer.cancelledError }
            }
        }
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
