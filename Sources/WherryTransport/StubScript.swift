// Wherry: what a stub transport answers, and what it was asked.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// A request as it would have been sent.
package struct StubRequest: Sendable {
    package var method: String
    package var url: String
    /// Every field, those that the transport writes included, in order.
    package var fields: [(name: String, value: String)]
    /// The body, or its first 64 MiB.
    package var body = Bytes()
    /// The whole length of the body as far as it was read.
    package var bodyLength: Int64 = 0
}

/// The response or the failure of a request.
struct StubOutcome: Sendable {
    var status: Int
    /// "name: value\n" for each header.
    var head: String
    var body: Bytes
    /// The error that ends the request.
    var failure: TransportError?
    /// Clock time from the last byte of the request to the first byte of the response.
    var delay: Int64 = 0

    /// A response. Content-Length is added to `head` if it is missing.
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

    /// A failure, at once or in the middle of a body of status 200 after `bytes` bytes ("x").
    init(failure: TransportError, afterBytes bytes: Int = 0) {
        status = 200
        self.failure = failure
        head = bytes > 0 ? "Content-Length: \(bytes + 1)\n" : ""
        body = Bytes(repeatElement(UInt8(ascii: "x"), count: bytes))
    }

    /// Header lines with plain ends, without empty lines.
    private static func block(_ head: String) -> String {
        head.utf8.split { $0 == 0x0A || $0 == 0x0D }
            .map { String(decoding: $0, as: UTF8.self) + "\n" }.joined()
    }
}

/// What a rule of a stub does with a request.
enum StubAction: Sendable {
    case respond(StubOutcome)
    /// The program responds: this function, or else the receiver of the exchange.
    case ask((@Sendable (StubQuestion) -> Void)?)
    /// The network's transport carries it out.
    case network
}

/// The rules and the requests of a stub; shared by the transports of several clients.
final class StubScript: Sendable {
    private struct Rule {
        /// `nil` is any.
        var method: String?
        var pattern: StubPattern
        /// How many more requests it serves; -1 is all.
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

    /// The largest body that is recorded, or given to a program in full.
    static let bodyLimit = 64 << 20

    let clock: ManualClock
    private let state = Lock(State())

    init(clock: ManualClock) { self.clock = clock }

    func add(method: String?, url: String, times: Int, action: StubAction) {
        let rule = Rule(
            method: method, pattern: StubPattern(url), times: times < 0 ? -1 : times, action: action)
        state.withLock { $0.rules.append(rule) }
    }

    /// Delays the rule added last. `false` if there is none, or if it gives no response itself.
    func setDelay(_ nanoseconds: Int64) -> Bool {
        state.withLock { state in
            guard case .respond(var outcome) = state.rules.last?.action else { return false }
            outcome.delay = max(0, nanoseconds)
            state.rules[state.rules.count - 1].action = .respond(outcome)
            return true
        }
    }

    /// Whether a request goes to the network; its rule is used once more.
    func takesNetwork(method: String, url: String) -> Bool {
        state.withLock { state in
            guard let index = Self.rule(for: method, url, in: state),
                case .network = state.rules[index].action
            else { return false }
            Self.use(index, in: &state)
            return true
        }
    }

    /// The action for a request. Records the request, and returns its number, if a rule responds
    /// or none matches. A program that is asked, and the network, get the request themselves.
    func take(_ request: StubRequest) -> (number: Int?, action: StubAction) {
        state.withLock { state in
            guard let index = Self.rule(for: request.method, request.url, in: state) else {
                let error = TransportError(
                    .connect, "No rule of the stub answers \(request.method) \(request.url)")
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

    /// Completes a record with its body.
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

    /// Whether a transport calls just now, which could not be waited for.
    var isOnThread: Bool {
        state.withLock { $0.transports.compactMap { $0.transport } }.contains { $0.isOnThread }
    }

    /// Moves the clock from one time at which something is due to the next, so that what happens
    /// then sees that time, and waits each time until it has happened.
    func advance(by nanoseconds: Int64) {
        clock.advance(by: 0)
        // A clock never comes to `never` itself.
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
