// Wherry: a value that comes from an endpoint.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// A value that an interface of a server gives, loaded once at a time (O5).
///
///     let profile = Model(endpoint, as: Profile.self, at: "data/user")
///     let mine = try await profile.load()
///
/// The answer is read off the caller's actor; then ``init(_:didRead:read:)``'s `didRead` is called,
/// and then `load` returns. Every member may be used from any thread.
public final class Model<Value: Sendable>: Sendable {
    private typealias Load = Task<Result<Value, WherryError>, Never>

    private struct State {
        var load: Load?
        var value: Value?
    }

    /// Where the value comes from; its phase is the model's.
    public let endpoint: Endpoint
    private let state = Lock(State())
    private let read: @Sendable (Response) throws -> Value
    private let didRead: (@Sendable (Value) -> Void)?

    /// A value that `read` makes of an answer: of bytes, text or any other form.
    ///
    /// What `read` throws, unless it is a `WherryError`, becomes `bad_json_body`.
    ///
    /// - Parameter didRead: is called with each value before the load that brought it returns.
    public init(
        _ endpoint: Endpoint, didRead: (@Sendable (Value) -> Void)? = nil,
        read: @escaping @Sendable (Response) throws -> Value
    ) {
        self.endpoint = endpoint
        self.didRead = didRead
        self.read = read
    }

    /// A value that stands at a path of the answer's JSON.
    ///
    /// - Parameter mapping: says where its fields stand and converts them.
    public convenience init(
        _ endpoint: Endpoint, as type: Value.Type = Value.self, at path: String = "",
        mapping: ItemMapping? = nil, didRead: (@Sendable (Value) -> Void)? = nil
    ) where Value: Decodable {
        self.init(endpoint, didRead: didRead) { response in
            try response.decode(type, at: path, mapping: mapping)
        }
    }

    /// Where it stands.
    public var phase: EndpointState { endpoint.phase }
    /// The value that was loaded last; `nil` before. A load that fails leaves it.
    public var value: Value? { state.withLock { $0.value } }
    /// Cancels the load that is on its way. `false` if none is.
    @discardableResult
    public func cancel() -> Bool { endpoint.cancel() }

    /// Loads the value, or waits for the load that is on its way: there is one request at a time.
    ///
    /// Cancelling a task that waits here cancels the load for all who wait.
    ///
    /// - Parameter parameters: of the request; `nil`, the default, repeats the last ones.
    /// - Throws: `bad_url` where the endpoint has no address; what an access throws; what `read`
    ///   throws.
    @discardableResult
    public func load(_ parameters: JSONObject? = nil) async throws(WherryError) -> Value {
        guard !endpoint.request.url.isEmpty else {
            throw WherryError(.badURL, "The model has no address to load from")
        }
        if Task.isCancelled { throw Transfer.cancelledError }
        let task = state.withLock { state -> Load in
            if let running = state.load { return running }
            let load = Load { await self.run(parameters) }
            state.load = load
            return load
        }
        let result = await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
        return try result.get()
    }

    private func run(_ parameters: JSONObject?) async -> Result<Value, WherryError> {
        let result: Result<Value, WherryError>
        do throws(WherryError) {
            let response: Response
            if let parameters {
                response = try await endpoint.access(parameters)
            } else {
                response = try await endpoint.refresh()
            }
            let value = try endpoint.measured { () throws(WherryError) -> Value in
                try self.value(of: response)
            }
            didRead?(value)
            result = .success(value)
        } catch {
            result = .failure(error)
        }
        state.withLock { state in
            state.load = nil
            if case .success(let value) = result { state.value = value }
        }
        return result
    }

    private func value(of response: Response) throws(WherryError) -> Value {
        do {
            return try read(response)
        } catch let error as WherryError {
            throw error
        } catch {
            throw WherryError(.badJSONBody, "The answer cannot be read as \(Value.self): \(error)")
                .with {
                    $0.httpStatus = response.status
                    $0.response = response
                }
        }
    }
}
