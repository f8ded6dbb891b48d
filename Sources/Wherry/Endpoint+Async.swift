// Wherry: accessing an endpoint and awaiting its answer.
// SPDX-License-Identifier: Apache-2.0

extension Endpoint {
    /// Accesses the interface with these parameters and returns its answer.
    ///
    /// An access that is on its way is cancelled, and its call throws `replaced`. Cancelling the
    /// task cancels the access.
    ///
    /// - Parameters:
    ///   - parameters: where the method wants them; with files they are fields of the form.
    ///   - files: parts of a form, see ``/WherryCore/Request/Part``.
    /// - Throws: what ``/WherryCore/Client/send(_:decisions:)`` throws, and `replaced`.
    public func access(
        _ parameters: JSONObject = [:], files: [Request.Part] = [], decisions: Decisions? = nil
    ) async throws(WherryError) -> Response {
        try await access(parameters, files: files, own: decisions)
    }

    /// Repeats the last access with its parameters and files; the first time with those of
    /// ``/WherryCore/Endpoint/request``.
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
        guard let transfer else { throw WherryError(.internal, "An access was not started") }
        return try await awaiter.end(of: transfer).response()
    }
}
