// Wherry: sending a request and awaiting its response.
// SPDX-License-Identifier: Apache-2.0

extension Client {
    /// Sends a request and returns its complete response.
    ///
    /// Cancelling the task cancels the transfer, and the call throws `cancelled`. The call returns
    /// or throws exactly once, when the transfer has ended.
    ///
    /// - Parameter hooks: The hooks for this request, in place of the client's.
    /// - Throws: Errors of the request and the network. Any status except 200-299 throws an error
    ///   with the code `http`, whose `response` holds the response.
    public func send(
        _ request: Request, hooks: Hooks? = nil
    ) async throws(WherryError) -> Response {
        if Task.isCancelled { throw Transfer.cancelledError }
        var request = request
        let awaiter = EndAwaiter(self.hooks(hooks, for: &request))
        let transfer = try send(request, observer: awaiter)
        return try await awaiter.end(of: transfer).response()
    }

    // MARK: Methods without a body

    /// Sends a GET request with the parameters in the query.
    public func get(
        _ url: String, parameters: JSONObject = [:], headers: Headers = [:]
    ) async throws(WherryError) -> Response {
        try await send(Self.request("GET", url, parameters, headers))
    }

    /// Sends a HEAD request and returns the status and headers, without a body.
    public func head(
        _ url: String, parameters: JSONObject = [:], headers: Headers = [:]
    ) async throws(WherryError) -> Response {
        try await send(Self.request("HEAD", url, parameters, headers))
    }

    /// Sends a DELETE request with the parameters in the query.
    public func delete(
        _ url: String, parameters: JSONObject = [:], headers: Headers = [:]
    ) async throws(WherryError) -> Response {
        try await send(Self.request("DELETE", url, parameters, headers))
    }

    // MARK: Methods with a body

    /// Sends a POST request with the parameters as a JSON body.
    public func post(
        _ url: String, parameters: JSONObject = [:], headers: Headers = [:]
    ) async throws(WherryError) -> Response {
        try await send(Self.request("POST", url, parameters, headers))
    }

    /// Sends a PUT request with the parameters as a JSON body.
    public func put(
        _ url: String, parameters: JSONObject = [:], headers: Headers = [:]
    ) async throws(WherryError) -> Response {
        try await send(Self.request("PUT", url, parameters, headers))
    }

    /// Sends a PATCH request with the parameters as a JSON body.
    public func patch(
        _ url: String, parameters: JSONObject = [:], headers: Headers = [:]
    ) async throws(WherryError) -> Response {
        try await send(Self.request("PATCH", url, parameters, headers))
    }

    private static func request(
        _ method: String, _ url: String, _ parameters: JSONObject, _ headers: Headers
    ) -> Request {
        var request = Request(url, method: method)
        request.parameters = parameters
        request.headers = headers
        return request
    }
}
