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

/// What becomes of a request.
struct StubOutcome: Sendable {
    var status = 200
    /// "name: value\n" for each field.
    var head = ""
    var body = Bytes()
    /// How it ends in place of success.
    var failure: TransportError?
    /// Clock time from the last byte of the request to the first of the answer.
    var delay: Int64 = 0
}

/// The rules and the requests of a stub; shared by the transports of several clients.
final class StubScript: Sendable {
    private struct Rule {
        var method: String?
        var url: String
        var isPrefix: Bool
        /// How often it may still be taken; -1 for ever.
        var times: Int
        var outcome: StubOutcome
    }

    private struct State {
        var rules: [Rule] = []
        var requests: [StubRequest] = []
        var transports: [WeakTransport] = []
    }

    private struct WeakTransport {
        weak var transport: StubTransport?
    }

    /// How much of each body is kept.
    static let bodyLimit = 64 << 20

    let clock: ManualClock
    private let state = Lock(State())

    init(clock: ManualClock) { self.clock = clock }

    func add(method: String?, url: String, times: Int, outcome: StubOutcome) {
        var rule = Rule(
            method: method, url: url, isPrefix: false, times: times < 0 ? -1 : times,
            outcome: outcome)
        if url.utf8.last == UInt8(ascii: "*") {
            rule.isPrefix = true
            rule.url = Self.folded(String(url.dropLast()))
        } else if let normal = try? HTTPURL(url) {
            // Requests are compared in the form that a URL has after reading.
            rule.url = Self.folded(normal.text)
        }
        state.withLock { $0.rules.append(rule) }
    }

    /// A URL, or the beginning of one, with scheme and host in lower case.
    private static func folded(_ url: String) -> String {
        var slashes = 0
        return String(
            decoding: url.utf8.map { byte -> UInt8 in
                if byte == UInt8(ascii: "/") { slashes += 1 }
                return slashes < 3 ? byte.asciiLowercased : byte
            }, as: UTF8.self)
    }

    /// Delays the rule added last; `false` if there is none.
    func setDelay(_ nanoseconds: Int64) -> Bool {
        state.withLock { state in
            guard !state.rules.isEmpty else { return false }
            state.rules[state.rules.count - 1].outcome.delay = max(0, nanoseconds)
            return true
        }
    }

    /// Notes a request; answers its number and what becomes of it.
    func take(_ request: StubRequest) -> (number: Int, outcome: StubOutcome) {
        let url = Self.folded(request.url)
        return state.withLock { state in
            state.requests.append(request)
            let number = state.requests.count - 1
            for index in state.rules.indices {
                let rule = state.rules[index]
                guard rule.times != 0, rule.method == nil || rule.method == request.method,
                    rule.isPrefix ? url.hasPrefix(rule.url) : url == rule.url
                else { continue }
                if rule.times > 0 { state.rules[index].times -= 1 }
                return (number, rule.outcome)
            }
            var none = StubOutcome()
            none.failure = TransportError(
                .connect, "No rule of the stub answers \(request.method) \(request.url)")
            return (number, none)
        }
    }

    func setBody(_ body: Bytes, length: Int64, ofRequest number: Int) {
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
