// Wherry: one interface of a server.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// One interface of a server, which is accessed again and again; a new access cancels the one that
/// is on its way (O1, O2).
///
///     let search = try Endpoint(client, server: "https://example.org", path: "search", method: "GET")
///     let answer = try await search.access(["q": "skye"])
///
/// Every member may be used from any thread. An access that a newer one replaced ends in the error
/// `replaced`, and nothing else tells of it.
public final class Endpoint: Sendable {
    /// When an access began, and how long its parts took (O4).
    public struct Timing: Sendable, Hashable {
        /// The moment of the start on the system's monotonic clock.
        public var started = Duration.zero
        /// Lookup, connection, first byte and the rest, of the answer's network.
        public var network = Response.Metrics()
        /// From the start to the end of the access, parsing not counted.
        public var total = Duration.zero
        /// What ``Endpoint/json()``, or a model, took to read the answer; zero before.
        public var parse = Duration.zero
    }

    private struct State {
        var cycle = EndpointLifecycle()
        /// What is repeated by a refresh.
        var parameters: JSONObject
        var files: [Request.Part] = []
        var transfer: Transfer?
        /// Accesses that are just being started.
        var starting = 0
        var response: Response?
        var timing: Timing?
    }

    /// What is accessed; its pattern of a request.
    public let request: Request
    package let client: Client
    private let state: Lock<State>

    /// An interface: a pattern whose URL, fields and settings every access has. Its parameters are
    /// those of the first refresh.
    public init(_ client: Client, _ request: Request) {
        self.client = client
        self.request = request
        state = Lock(State(parameters: request.parameters))
    }

    /// An interface at a path of a server, see ``ServerAddress/join(_:_:)``. POST by default.
    ///
    /// - Throws: `bad_url` where server and path make no URL.
    public convenience init(
        _ client: Client, server: String, path: String, method: String = "POST"
    ) throws(WherryError) {
        self.init(client, Request(try ServerAddress.join(server, path), method: method))
    }

    /// Where it stands.
    public var phase: EndpointState { state.withLock { $0.cycle.state } }
    /// The last answer, also one that refused; `nil` before and while a new one is awaited.
    public var response: Response? { state.withLock { $0.response } }
    /// The times of the last access that ended; `nil` before.
    public var timing: Timing? { state.withLock { $0.timing } }

    /// The last answer as JSON; the time it takes counts as ``Timing/parse``.
    ///
    /// - Throws: `wrong_state` without an answer, `bad_json_body` for one that is no JSON.
    public func json() throws(WherryError) -> JSON {
        guard let response else {
            throw WherryError(.wrongState, "The endpoint has no answer yet")
        }
        return try measured { () throws(WherryError) in try response.json() }
    }

    /// Runs what reads an answer, and keeps how long it took.
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

    /// Cancels the access that is on its way. `false` if none is.
    @discardableResult
    public func cancel() -> Bool {
        let transfer = state.withLock { $0.cycle.mayCancel ? $0.transfer : nil }
        transfer?.cancel()
        return transfer != nil
    }

    /// Starts an access in the place of one that is on its way.
    ///
    /// - Parameters:
    ///   - parameters: `nil` repeats the last access with its files.
    ///   - files: make it a form with the parameters as fields.
    ///   - onlyIfIdle: starts nothing, and returns `nil`, while one is on its way (O5).
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
            // Its end is told before anything of the new one.
            old?.cancel()
            willBegin(transfer)
        }
    }

    /// An access has ended. Returns how that is told.
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
                    .replaced, "A newer access to the same endpoint took the place of this one"))
        }
    }
}

/// Stands between one access and who hears of it.
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
