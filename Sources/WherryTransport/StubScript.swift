// Wherry: the rules and recorded requests of a stub transport.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// A request as it would have been sent.
package struct StubRequest: Sendable {
    package var method: String
    package var url: String
    /// All headers in order, including those added by the transport.
    package var fields: [(name: String, value: String)]
    /// The body, truncated to 64 MiB.
    package var body = Bytes()
    /// The length of the body, as far as it was read, without truncation.
    package var bodyLength: Int64 = 0
}

/// The response or the failure of a request.
struct StubOutcome: Sendable {
    var status: Int
    /// The headers, one "name: value\n" each.
    var head: String
    var body: Bytes
    /// The error that fails the request.
    var failure: TransportError?
    /// The clock time in nanoseconds from the last byte of the request to the first byte of the
    /// response.
    var delay: Int64 = 0

    /// Creates a response. Content-Length is added to `head` if missing.
    init(status: Int, head: String, body: Bytes) {
        self.status = status
        self.body = body
        self.head = Self.block(head)
        let announced = ResponseHead(status: status, block: Bytes(self.head))
        if status >= 200, status != 204, status != 304, announced["content-length"] == nil,
            announced["transfer-encoding"] == nil
        {
            self.head += "Content-Length: \(body.count)\n"
        }
    }

    /// Creates a failure: at once, or after `bytes` bytes ("x") of a longer body with status 200.
    init(failure: TransportError, afterBytes bytes: Int = 0) {
        status = 200
        self.failure = failure
        head = bytes > 0 ? "Content-Length: \(bytes + 1)\n" : ""
        body = Bytes(repeatElement(UInt8(ascii: "x"), count: bytes))
    }

    /// Returns the header lines with "\n" as line end, without empty lines.
    private static func block(_ head: String) -> String {
        head.utf8.split { $0 == 0x0A || $0 == 0x0D }
            .map { String(decoding: $0, as: UTF8.self) + "\n" }.joined()
    }
}

/// The action of a stub's rule for a request.
enum StubAction: Sendable {
    case respond(StubOutcome)
    /// Asks the program to respond: through this function, or else through the exchange's receiver.
    case ask((@Sendable (StubCall) -> Void)?)
    /// Sends the request to the network transport.
    case network
}

/// The rules and recorded requests of a stub, shared by the transports of several clients.
final class StubScript: Sendable {
    private struct Rule {
        /// `nil` matches every method.
        var method: String?
        var pattern: StubPattern
        /// The number of requests that the rule still matches; -1 for no limit.
        var times: Int
        var action: StubAction
    }

    private struct State {
        var rules: [Rule] = []
        var requests: [StubRequest] = []
        var transports: [WeakTransport] = []
    }

    private struct WeakTransport {
        weak var transport: StubTransport?
    }

    /// The maximum size of a body that is recorded or passed to the program.
    static let bodyLimit = 64 << 20

    let clock: ManualClock
    private let state = Lock(State())

    init(clock: ManualClock) { self.clock = clock }

    func add(method: String?, url: String, times: Int, action: StubAction) {
        let rule = Rule(
            method: method, pattern: StubPattern(url), times: times < 0 ? -1 : times, action: action
        )
        state.withLock { $0.rules.append(rule) }
    }

    /// Delays the response of the last added rule. Returns `false` without a rule, or if its
    /// response does not come from the rule.
    func setDelay(_ nanoseconds: Int64) -> Bool {
        state.withLock { state in
            guard case .respond(var outcome) = state.rules.last?.action else { return false }
            outcome.delay = max(0, nanoseconds)
            state.rules[state.rules.count - 1].action = .respond(outcome)
            return true
        }
    }

    /// Returns whether a rule sends the request to the network. If so, counts a use of the rule.
    func takesNetwork(method: String, url: String) -> Bool {
        state.withLock { state in
            guard let index = Self.rule(for: method, url, in: state),
                case .network = state.rules[index].action
            else { return false }
            Self.use(index, in: &state)
            return true
        }
    }

    /// Returns the action for a request. If a rule responds or none matches, records the request
    /// and returns its number. Otherwise, the program or the network receives the request.
    func take(_ request: StubRequest) -> (number: Int?, action: StubAction) {
        state.withLock { state in
            guard let index = Self.rule(for: request.method, request.url, in: state) else {
                let error = TransportError(
                    .connect, "No rule of the stub matches \(request.method) \(request.url)")
                return (Self.record(request, in: &state), .respond(StubOutcome(failure: error)))
            }
            let action = state.rules[index].action
            Self.use(index, in: &state)
            if case .respond = action { return (Self.record(request, in: &state), action) }
            return (nil, action)
        }
    }

    private static func rule(for method: String, _ url: String, in state: State) -> Int? {
        guard let parts = StubPattern.parts(url) else { return nil }
        return state.rules.firstIndex { rule in
            rule.times != 0 && (rule.method == nil || rule.method == method)
                && rule.pattern.matches(parts)
        }
    }

    private static func use(_ index: Int, in state: inout State) {
        if state.rules[index].times > 0 { state.rules[index].times -= 1 }
    }

    private static func record(_ request: StubRequest, in state: inout State) -> Int {
        state.requests.append(request)
        return state.requests.count - 1
    }

    /// Adds the body to a recorded request.
    func setBody(_ body: Bytes, length: Int64, ofRequest number: Int?) {
        guard let number else { return }
        state.withLock { state in
            state.requests[number].body = body
            state.requests[number].bodyLength = length
        }
    }

    var requestCount: Int { state.withLock { $0.requests.count } }
    var requests: [StubRequest] { state.withLock { $0.requests } }

    func request(at index: Int) -> StubRequest? {
        state.withLock { $0.requests.indices.contains(index) ? $0.requests[index] : nil }
    }

    // MARK: Time

    func enter(_ transport: StubTransport) {
        state.withLock { state in
            state.transports.removeAll { $0.transport == nil }
            state.transports.append(WeakTransport(transport: transport))
        }
    }

    /// Whether the caller is on the thread of a transport, which must not wait for itself.
    var isOnThread: Bool {
        state.withLock { $0.transports.compactMap { $0.transport } }.contains { $0.isOnThread }
    }

    /// Advances the clock from one due time to the next, and waits each time until the transports
    /// have handled everything due. Each event thus sees its own time.
    func advance(by nanoseconds: Int64) {
        clock.advance(by: 0)
        // `never` itself is not a valid time.
        let last = Instant(nanoseconds: Instant.never.nanoseconds - 1)
        let end = min(clock.now().advanced(by: max(0, nanoseconds)), last)
        while true {
            let transports = state.withLock { $0.transports.compactMap { $0.transport } }
            var next = Instant.never
            for transport in transports { next = min(next, transport.settledNextDue()) }
            let now = clock.now()
            guard now < end else { return }
            clock.advance(by: min(max(next, now.advanced(by: 1)), end).since(now))
        }
    }
}
