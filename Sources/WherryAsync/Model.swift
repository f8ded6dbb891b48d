// Wherry: a value loaded from an endpoint.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// A value loaded from a server endpoint, with one load at a time (O5).
///
///     let profile = Model(endpoint, as: Profile.self, at: "data/user")
///     let mine = try await profile.load()
///
/// The response is decoded off the caller's actor; then ``init(_:didRead:read:)``'s `didRead` is
/// called, and then `load` returns. Thread-safe.
public final class Model<Value: Sendable>: Sendable {
    private typealias Load = Task<Result<Value, WherryError>, Never>

    private struct State {
        var load: Load?
        var value: Value?
    }

    /// The endpoint. Its phase is also the phase of the model.
    public let endpoint: Endpoint
    private let state = Lock(State())
    private let read: @Sendable (Response) throws -> Value
    private let didRead: (@Sendable (Value) -> Void)?

    /// Creates a model that uses `read` to decode its value from a response of any format.
    ///
    /// An error that `read` throws, unless it is a `WherryError`, becomes `bad_json_body`.
    ///
    /// - Parameter didRead: Called with each value before its load returns.
    public init(
        _ endpoint: Endpoint, didRead: (@Sendable (Value) -> Void)? = nil,
        read: @escaping @Sendable (Response) throws -> Value
    ) {
        self.endpoint = endpoint
        self.didRead = didRead
        self.read = read
    }

    /// The state of the model.
    public var phase: EndpointState { endpoint.phase }
    /// The last loaded value; `nil` before the first load. A failed load does not change it.
    public var value: Value? { state.withLock { $0.value } }
    /// Cancels the load in progress. Returns `false` if there is none.
    @discardableResult
    public func cancel() -> Bool { endpoint.cancel() }

    /// Loads the value, or waits for the load in progress: there is one request at a time.
    ///
    /// Cancelling a waiting task cancels the load for all waiting tasks.
    ///
    /// - Parameter parameters: The request parameters; `nil`, the default, repeats the last ones.
    /// - Throws: `bad_url` if the endpoint has no address; errors of the access and of `read`.
    @discardableResult
    public func load(_ parameters: JSONObject? = nil) async throws(WherryError) -> Value {
        guard !endpoint.request.url.isEmpty else {
            throw WherryError(
                .badURL,
                "The model cannot load: its endpoint has no URL. Set the URL of the request.")
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
            throw WherryError(
                .badJSONBody, "Could not decode the response as \(Value.self): \(error)"
            )
            .with {
                $0.httpStatus = response.status
                $0.response = response
            }
        }
    }
}
