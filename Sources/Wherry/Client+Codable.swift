// Wherry: sending and receiving Codable values.
// SPDX-License-Identifier: Apache-2.0

extension Client {
    /// Sends a request and decodes its JSON response.
    ///
    /// - Throws: Also `bad_json_body` if the response does not decode as `type`; the error's
    ///   `response` holds the response.
    public func send<Value: Decodable>(
        _ request: Request, as type: Value.Type, hooks: Hooks? = nil
    ) async throws(WherryError) -> Value {
        try await send(request, hooks: hooks).decode(type)
    }

    /// Sends a GET request and decodes the JSON response.
    public func get<Value: Decodable>(
        _ url: String, parameters: JSONObject = [:], headers: Headers = [:], as type: Value.Type
    ) async throws(WherryError) -> Value {
        try await get(url, parameters: parameters, headers: headers).decode(type)
    }

    /// Sends a POST request with a value encoded as JSON.
    public func post(
        _ url: String, json value: some Encodable, headers: Headers = [:]
    ) async throws(WherryError) -> Response {
        try await send(Self.request("POST", url, json: value, headers))
    }

    /// Sends a POST request with a value encoded as JSON and decodes the JSON response.
    public func post<Value: Decodable>(
        _ url: String, json value: some Encodable, headers: Headers = [:], as type: Value.Type
    ) async throws(WherryError) -> Value {
        try await send(Self.request("POST", url, json: value, headers)).decode(type)
    }

    /// Sends a PUT request with a value encoded as JSON.
    public func put(
        _ url: String, json value: some Encodable, headers: Headers = [:]
    ) async throws(WherryError) -> Response {
        try await send(Self.request("PUT", url, json: value, headers))
    }

    /// Sends a PATCH request with a value encoded as JSON.
    public func patch(
        _ url: String, json value: some Encodable, headers: Headers = [:]
    ) async throws(WherryError) -> Response {
        try await send(Self.request("PATCH", url, json: value, headers))
    }

    private static func request(
        _ method: String, _ url: String, json value: some Encodable, _ headers: Headers
    ) throws(WherryError) -> Request {
        var request = try Request(url, method: method, json: value)
        request.headers = headers
        return request
    }
}
