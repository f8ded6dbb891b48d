// Wherry: a server endpoint.
// SPDX-License-Identifier: Apache-2.0

import WherryCore
import WherryHTTP
import WherryRequests
import WherrySystem
import WherryTransport

/// A server endpoint that is accessed repeatedly. A new access cancels the one in progress (O1,
/// O2).
///
///     let search = try Endpoint(
///         client, server: "https://example.org", path: "search", method: "GET")
///     let response = try await search.access(["q": "skye"])
///
/// Thread-safe. A replaced access fails with `replaced`, and has no other effect.
public final class Endpoint: Sendable {
    /// The start time of an access, and the duration of its phases (O4).
    public struct Timing: Sendable, Hashable {
        /// The start time on the system's monotonic clock.
        public var started = Duration.zero
        /// The network timing of the response: name lookup, connection, first byte and the rest.
        public var network = Response.Metrics()
        /// The duration of the access, excluding parsing.
        public var total = Duration.zero
        /// The time that ``Endpoint/json()`` or a model took to parse the response; zero before.
        public var parse = Duration.zero
    }

    private struct State {
        var cycle = EndpointLifecycle()
        /// The parameters that a refresh repeats.
        var parameters: JSONObject
        var files: [Request.Part] = []
        var transfer: Transfer?
        /// The number of accesses being started.
        var starting = 0
        var response: Response?
        var timing: Timing?
    }

    /// The request template of every access.
    public let request: Request
    package let client: Client
    private let state: Lock<State>

    /// Creates an endpoint from a request template. Every access uses its URL, headers and
    /// settings. Its parameters are those of the first refresh.
    public init(_ client: Client, _ request: Request) {
        self.client = client
        self.request = request
        state = Lock(State(parameters: request.parameters))
    }

    /// Creates an endpoint for a path of a server; see ``ServerAddress/join(_:_:)``. Default
    /// method: POST.
    ///
    /// - Throws: `bad_url` if the server and path do not form a valid URL.
    public convenience init(
        _ client: Client, server: String, path: String, method: String = "POST"
    ) throws(WherryError) {
        self.init(client, Request(try ServerAddress.join(server, path), method: method))
    }

    /// The state of the endpoint.
    public var phase: EndpointState { state.withLock { $0.cycle.state } }
    /// The last response, even an error response. `nil` before the first, and during an access.
    public var response: Response? { state.withLock { $0.response } }
    /// The timing of the last completed access; `nil` before the first.
    public var timing: Timing? { state.withLock { $0.timing } }

    /// Parses the last response as JSON. The parsing time is recorded in ``Timing/parse``.
    ///
    /// - Throws: `wrong_state` without a response, `bad_json_body` if it is not JSON.
    public func json() throws(WherryError) -> JSON {
        guard let response else {
            throw WherryError(.wrongState, "The endpoint has no response yet")
        }
        return try measured { () throws(WherryError) in try response.json() }
    }

    /// Runs a parser and records its duration.
    package func measured<Value>(
        _ body: () throws(WherryError) -> Value
    ) throws(WherryError) -> Value {
        let start = client.transport.clock.now()
        defer {
            let parse = Duration.nanoseconds(client.transport.clock.now().since(start))
            state.withLock { $0.timing?.parse = parse }
        }
        return try body()
    }

    /// Cancels the access in progress. Returns `false` if there is none.
    @discardableResult
    public func cancel() -> Bool {
        let transfer = state.withLock { $0.cycle.mayCancel ? $0.transfer : nil }
        transfer?.cancel()
        return transfer != nil
    }

    /// Starts an access, replacing the one in progress.
    ///
    /// - Parameters:
    ///   - parameters: `nil` repeats the last access with its files.
    ///   - files: Files to send as a form, with the parameters as fields.
    ///   - onlyIfIdle: Whether to return `nil` instead while an access is in progress (O5).
    package func start(
        _ parameters: JSONObject? = nil, files: [Request.Part] = [], onlyIfIdle: Bool = false,
        change: (inout Request) -> Void = { _ in },
        observer: any TransferObserver, userData: UInt = 0, willBegin: (Transfer) -> Void = { _ in }
    ) throws(WherryError) -> Transfer? {
        let last = state.withLock { state -> (JSONObject, [Request.Part])? in
            if onlyIfIdle && (state.starting > 0 || state.cycle.mayCancel) { return nil }
            state.starting += 1
            return (state.parameters, state.files)
        }
        guard let last else { return nil }
        defer { state.withLock { $0.starting -= 1 } }
        let (parameters, files) = parameters.map { ($0, files) } ?? last
        var request = request
        request.parameters = parameters
        for file in files { request.addPart(file) }
        change(&request)
        let access = EndpointAccess(self, observer)
        return try client.send(request, observer: access, userData: userData) { transfer in
            let old = state.withLock { state -> Transfer? in
                let (number, replaces) = state.cycle.begin()
                access.number.withLock { $0 = number }
                let old = replaces ? state.transfer : nil
                state.transfer = transfer
                state.parameters = parameters
                state.files = files
                state.response = nil
                state.timing = nil
                return old
            }
            // Report the end of the old access before any event of the new one.
            old?.cancel()
            willBegin(transfer)
        }
    }

    /// Handles the end of an access. Returns how to report it.
    fileprivate func ended(
        _ number: UInt64, _ transfer: Transfer, _ outcome: TransferOutcome
    ) -> TransferOutcome {
        var timing = Timing()
        timing.started = .nanoseconds(transfer.started.nanoseconds)
        timing.total = .nanoseconds(client.transport.clock.now().since(transfer.started))
        let response = outcome.response ?? outcome.error?.response
        if let response { timing.network = response.metrics }
        let phase: EndpointState =
            switch outcome.state {
            case .done: .succeeded
            case .cancelled: .cancelled
            default: .failed
            }
        let end = state.withLock { state -> EndpointLifecycle.End in
            let end = state.cycle.end(number, phase)
            guard end == .tell else { return end }
            state.transfer = nil
            state.response = response
            state.timing = timing
            return end
        }
        switch end {
        case .tell: return outcome
        case .replaced:
            return TransferOutcome(
                error: WherryError(
                    .replaced, "A newer access to the same endpoint replaced this one"))
        }
    }
}

/// Forwards the events of an access to its observer, and changes the outcome if it was replaced.
private final class EndpointAccess: TransferObserver {
    let number = Lock<UInt64>(0)
    private let endpoint: Endpoint
    private let observer: any TransferObserver

    init(_ endpoint: Endpoint, _ observer: any TransferObserver) {
        self.endpoint = endpoint
        self.observer = observer
    }

    var wake: Wake { observer.wake }

    func willStart(_ transfer: Transfer) throws(WherryError) { try observer.willStart(transfer) }

    func transfer(_ transfer: Transfer, did event: TransferEvent) {
        guard case .done(let outcome) = event else {
            return observer.transfer(transfer, did: event)
        }
        let end = endpoint.ended(number.withLock { $0 }, transfer, outcome)
        observer.transfer(transfer, did: .done(end))
    }
}
