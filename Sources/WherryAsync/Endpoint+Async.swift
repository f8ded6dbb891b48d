// Wherry: async methods of endpoints.
// SPDX-License-Identifier: Apache-2.0

extension Endpoint {
    /// Accesses the endpoint with parameters and returns its response.
    ///
    /// Cancels an access in progress, whose call throws `replaced`. Cancelling the task cancels the
    /// access.
    ///
    /// - Parameters:
    ///   - parameters: Sent in the query or the body, depending on the method. With files, sent as
    ///     form fields.
    ///   - files: The parts of a form; see ``/WherryRequests/Request/Part``.
    /// - Throws: As ``/WherryCore/Client/send(_:hooks:)``, and `replaced`.
    public func access(
        _ parameters: JSONObject = [:], files: [Request.Part] = [], hooks: Hooks? = nil
    ) async throws(WherryError) -> Response {
        try await access(parameters, files: files, own: hooks)
    }

    /// Repeats the last access with its parameters and files. The first call uses those of
    /// ``/WherryModels/Endpoint/request``.
    public func refresh(hooks: Hooks? = nil) async throws(WherryError) -> Response {
        try await access(nil, files: [], own: hooks)
    }

    private func access(
        _ parameters: JSONObject?, files: [Request.Part], own: Hooks?
    ) async throws(WherryError) -> Response {
        if Task.isCancelled { throw Transfer.cancelledError }
        var asked = request
        let awaiter = EndAwaiter(client.hooks(own, for: &asked))
        let hooks = asked.hooks
        let transfer = try start(
            parameters, files: files, change: { $0.hooks = hooks }, observer: awaiter)
        guard let transfer else {
            throw WherryError(.internal, "The endpoint did not start the request")
        }
        return try await awaiter.end(of: transfer).response()
    }
}
