// Wherry: a request's machine with short names for its events
// SPDX-License-Identifier: Apache-2.0

import Testing
import WherryHTTP
import WherrySystem
import WherryTransport

@testable import WherryRequests

/// Returns the name of an enum's case.
func caseName(_ value: Any) -> String {
    Mirror(reflecting: value).children.first?.label ?? "\(value)"
}

/// A machine under test: passes events in, and remembers what happened.
struct RequestRun {
    static let url = "http://127.0.0.1/a"
    static let unreachable = TransportError(.connect, "Could not connect")
    static let reset = TransportError(.reset, "The connection was reset")

    var machine: RequestMachine
    private(set) var launches = 0
    private(set) var outcomes: [TransferOutcome] = []
    /// The phases before and after each event that changed the phase.
    private(set) var transitions: Set<[String]> = []
    /// The number of the last wait, for a delay or a token.
    private(set) var wait: UInt64 = 0

    init(
        _ request: Request = Request(url), url: String? = nil, hooks: HookSet = [],
        bases: [String: String] = [:],
        caches: (looksUp: Bool, usesHTTP: Bool, keeps: Bool) = (false, false, false),
        _ change: (inout OptionTable) -> Void = { _ in }
    ) throws {
        var values = ClientSettings.Values()
        values.hooks = hooks
        values.bases = bases
        change(&values.options)
        var used = RequestMachine.Caches()
        (used.looksUp, used.usesHTTP, used.keeps) = caches
        let body: ExchangeBody =
            if case .bytes(let bytes, _) = request.body { .bytes(bytes) } else { .none }
        machine = RequestMachine(
            request, method: request.effectiveMethod, url: try HTTPURL(url ?? request.url),
            body: PreparedBody(body), settings: try ClientSettings(values), options: values.options,
            caches: used)
    }

    /// The name of the phase, with that of the hook.
    var phase: String {
        guard case .callingHook(let hook) = machine.phase else { return caseName(machine.phase) }
        return "callingHook \(caseName(hook))"
    }
    var outcome: TransferOutcome? { outcomes.first }

    @discardableResult
    mutating func handle(_ event: RequestEvent) -> RequestAction {
        let before = phase
        let action = machine.handle(event)
        if before != phase { transitions.insert([before, phase]) }
        switch action {
        case .launch: launches += 1
        case .finish(let outcome, _): outcomes.append(outcome)
        case .wait(_, let number, _), .refreshToken(let number): wait = number
        default: break
        }
        return action
    }

    /// Passes events in, and expects these actions.
    mutating func expect(
        _ steps: KeyValuePairs<RequestEvent, String>,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        for (event, expected) in steps {
            let action = caseName(handle(event))
            #expect(
                action == expected, "after \(caseName(event)), now \(phase)",
                sourceLocation: sourceLocation)
        }
    }

    /// Starts a request without caches and callbacks, up to the exchange.
    mutating func launch() {
        expect([.start: "build", .built: "launch"])
    }
}

extension RequestEvent {
    static func head(
        _ status: Int, _ fields: String = "", challenge: Authentication.Step? = nil
    ) -> RequestEvent {
        .head(.made(status, fields), challenge: challenge, mayBeReplaced: false)
    }

    static func ended(
        _ status: Int?, _ fields: String = "", error: TransportError? = nil
    ) -> RequestEvent { .ended(.made(status, fields, error: error)) }

    static func resolved(_ resolution: HeadersResolution, _ status: Int = 200) -> RequestEvent {
        .headersResolved(resolution, .made(status))
    }
}

extension ResponseHead {
    /// - Parameter fields: One "name: value\n" for each header.
    static func made(_ status: Int, _ fields: String = "") -> ResponseHead {
        ResponseHead(status: status, block: Bytes(fields))
    }
}

extension ExchangeResult {
    static func made(
        _ status: Int?, _ fields: String = "", error: TransportError? = nil
    ) -> ExchangeResult {
        var result = ExchangeResult()
        result.head = status.map { .made($0, fields) }
        result.body = Bytes("body")
        result.error = error
        result.metrics.sent = 100
        return result
    }
}

extension Response {
    static func made(_ status: Int = 200) -> Response {
        Response(head: .made(status), body: Bytes("body"), url: RequestRun.url, marks: .stored)
    }
}
