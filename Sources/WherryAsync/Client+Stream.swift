// Wherry: streaming responses.
// SPDX-License-Identifier: Apache-2.0

extension Client {
    /// Sends a request and returns when the status and headers have arrived; the body is streamed.
    ///
    /// - Throws: As ``send(_:hooks:)``. An error response is thrown with its complete body in
    ///   the error's `response`.
    public func stream(
        _ request: Request, hooks: Hooks? = nil
    ) async throws(WherryError) -> StreamedResponse {
        if Task.isCancelled { throw Transfer.cancelledError }
        var request = request
        request.isStreamed = true
        request.collectsRefusals = true
        request.set(.wantHeaders, 1)
        let inbox = BodyInbox(self.hooks(hooks, for: &request))
        let reader = BodyReader(try send(request, observer: inbox), inbox)
        guard let head = await inbox.head() else { throw Transfer.cancelledError }
        switch head {
        case .success(let head):
            return StreamedResponse(head: head, body: BodyStream(reader: reader))
        case .failure(let error): throw error
        }
    }

    /// Sends a GET request and returns the lines of the response.
    public func lines(_ url: String) async throws(WherryError) -> LineStream {
        try await stream(Request(url)).body.lines
    }
}
