// Wherry: async methods of endpoints.
// SPDX-License-Identifier: Apache-2.0

extension Endpoint {
    /// Accesses the endpoint with parameters and returns its response.
    ///
    /// Cancels an access in progress, whose call throws `replaced`. Cancelling the task cancels the
    /// access.
    ///
    /// - Parameters:
    ///   - parameters: The method decides their place; with files they are form fields.
    ///   - files: The parts of a form; see ``/WherryRequests/Request/Part``.
    /// - Throws: As ``/WherryCore/Client/send(_:decisions:)``, and `replaced`.
    public func access(
        _ parameters: JSONObject = [:], files: [Request.Part] = [], decisions: Decisions? = nil
    ) async throws(WherryError) -> Response {
        try await access(parameters, files: files, own: decisions)
    }

    /// Repeats the last access with its parameters and files; the first time with those of
    /// ``/WherryModels/Endpoint/request``.
    public func refresh(decisions: Decisions? = nil) async throws(WherryError) -> Response {
        try await access(nil, files: [], own: decisions)
    }

    private func access(
        _ parameters: JSONObject?, files: [Request.Part], own: Decisions?
    ) async throws(WherryError) -> Response {
        if Task.isCancelled { throw Transfer.cancelledError }
        var asked = request
        let awaiter = EndAwaiter(client.decisions(own, for: &asked))
        let decisions = asked.decisions
        let transfer = try start(
            parameters, files: files, change: { $0.decisions = decisions }, observer: awaiter)
        guard let transfer else {
            throw WherryError(.internal, "The endpoint did not start the request")
        }
        return try await awaiter.end(of: transfer).response()
    }
}
