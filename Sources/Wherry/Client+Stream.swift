// Wherry: answers that are read while they arrive.
// SPDX-License-Identifier: Apache-2.0

extension Client {
    /// Sends a request, and returns when status and fields are there; the body follows in pieces.
    ///
    /// - Throws: as ``send(_:decisions:)``; a refusal by the server is thrown here too, with its
    ///   body collected in the error's `response`.
    public func stream(
        _ request: Request, decisions: Decisions? = nil
    ) async throws(WherryError) -> StreamedResponse {
        if Task.isCancelled { throw Transfer.cancelledError }
        var request = request
        request.isStreamed = true
        request.collectsRefusals = true
        request.set(.wantHead, 1)
        let inbox = BodyInbox(self.decisions(decisions, for: &request))
        let reader = BodyReader(try send(request, observer: inbox), inbox)
        guard let head = await inbox.head() else { throw Transfer.cancelledError }
        switch head {
        case .success(let head):
            return StreamedResponse(head: head, body: BodyStream(reader: reader))
        case .failure(let error): throw error
        }
    }

    /// Asks with GET, and reads the answer line by line.
    public func lines(_ url: String) async throws(WherryError) -> LineStream {
        try await stream(Request(url)).body.lines
    }
}
