// Wherry: answers without a network, for the tests of programs.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// Answers the requests of clients in a test, without a network.
///
///     let stub = StubServer()
///     stub.answer("https://example.org/users/*", json: ["name": "Skye"])
///     let client = try Client { $0.stubServer = stub }
///
/// Every request that no rule answers fails with `connect`. Any number of clients may share one.
public final class StubServer: Sendable {
    /// A request as it would have been sent.
    public struct Received: Sendable {
        /// As it was sent.
        public let method: String
        /// The whole URL.
        public let url: String
        /// Every field, those that the network's transport writes included.
        public let headers: Headers
        /// The body, or its first 64 MiB.
        public let body: Bytes
        /// The length of the whole body.
        public let bodyLength: Int64

        init(_ request: StubRequest) {
            var headers = Headers()
            for field in request.fields { headers.append(field.name, field.value) }
            method = request.method
            url = request.url
            self.headers = headers
            body = request.body
            bodyLength = request.bodyLength
        }
    }

    let transport: StubTransport

    /// Without rules.
    public init() { transport = StubTransport() }

    init(_ transport: StubTransport) { self.transport = transport }

    /// Answers requests for a URL. Of several rules that match, the oldest one goes first.
    ///
    /// - Parameters:
    ///   - url: a URL, or a pattern in which each "*" stands for any text.
    ///   - method: `nil`, the default, is any.
    ///   - times: how many requests it answers; `nil`, the default, is all.
    ///   - delay: from the end of a request to its answer, on the clock that ``advance(by:)`` moves.
    public func answer(
        _ url: String, method: String? = nil, times: Int? = nil, status: Int = 200,
        headers: Headers = [:], body: Bytes = [], delay: Duration = .zero
    ) {
        transport.addAnswer(
            method: method, url: url, times: times ?? -1, status: status,
            head: Self.lines(headers), body: body)
        setDelay(delay)
    }

    /// Answers requests for a URL with JSON.
    ///
    /// - Throws: `bad_parameters` for what JSON cannot say.
    public func answer(
        _ url: String, method: String? = nil, times: Int? = nil, status: Int = 200, json: JSON,
        delay: Duration = .zero
    ) throws(WherryError) {
        let body: Bytes
        do {
            body = Bytes(try json.printed())
        } catch {
            throw WherryError(.badParameters, error.message)
        }
        answer(
            url, method: method, times: times, status: status,
            headers: ["Content-Type": "application/json"], body: body, delay: delay)
    }

    /// Fails requests for a URL: at once, or after so many bytes of an answer's body.
    ///
    /// - Parameter reason: a word of the table of reasons that a network can bring about, such as
    ///   "connect", "idle_timeout" or "truncated".
    /// - Throws: `bad_value` for any other word.
    public func fail(
        _ url: String, method: String? = nil, times: Int? = nil, reason: String,
        afterBytes: Int64 = 0, delay: Duration = .zero
    ) throws(WherryError) {
        guard ErrorReason(rawValue: reason) != nil, let kind = TransportError.Kind(rawValue: reason)
        else {
            throw WherryError(.badValue, "A network cannot fail with the reason \"\(reason)\"")
        }
        transport.addFailure(
            method: method, url: url, times: times ?? -1, kind: kind, afterBytes: afterBytes)
        setDelay(delay)
    }

    /// Responds to requests for a URL with the result of a closure, which runs in a task of its own.
    ///
    ///     stub.respond("https://example.org/*") { request in
    ///         .init(status: 201, body: request.body)
    ///     }
    ///
    /// These requests are not in ``requests``. The timeouts of a request limit the wait for the
    /// closure. If the closure throws a ``WherryError`` that a network can cause, the request fails
    /// with its reason; any other error becomes `refused`.
    ///
    /// - Parameters:
    ///   - url: a URL, or a pattern in which each "*" stands for any text.
    ///   - method: `nil`, the default, is any.
    ///   - times: how many requests it answers; `nil`, the default, is all.
    public func respond(
        _ url: String, method: String? = nil, times: Int? = nil,
        with handler: @escaping @Sendable (Received) async throws -> Reply
    ) {
        transport.addQuestion(method: method, url: url, times: times ?? -1) { question in
            Task {
                do {
                    let reply = try await handler(Received(question.request))
                    question.respond(
                        status: reply.status, head: Self.lines(reply.headers), body: reply.body)
                } catch let error as WherryError {
                    question.fail(
                        TransportError.Kind(rawValue: error.reasonWord.rawValue) ?? .refused,
                        error.message)
                } catch {
                    question.fail(.refused, "The handler of the stub failed: \(error)")
                }
            }
        }
    }

    /// A response of the closure of ``respond(_:method:times:with:)``.
    public struct Reply: Sendable {
        /// 200 to 999; any other value becomes 500.
        public var status: Int
        /// Content-Length is added if it is missing.
        public var headers: Headers
        public var body: Bytes

        public init(status: Int = 200, headers: Headers = [:], body: Bytes = []) {
            self.status = (200...999).contains(status) ? status : 500
            self.headers = headers
            self.body = body
        }
    }

    /// Sends requests for a URL to the network, with all settings of the client except
    /// `waitForNetwork`. Do not combine with ``advance(by:)``.
    public func passThrough(_ url: String, method: String? = nil, times: Int? = nil) {
        transport.addNetwork(method: method, url: url, times: times ?? -1)
    }

    private static func lines(_ headers: Headers) -> String {
        headers.fields.compactMap { field in field.value.map { "\(field.name): \($0)\n" } }.joined()
    }

    private func setDelay(_ delay: Duration) {
        if delay > .zero { transport.setDelay(milliseconds: delay.wholeMilliseconds) }
    }

    /// The requests so far, in the order of their start.
    public var requests: [Received] {
        transport.requests.map(Received.init)
    }

    /// Moves the clients' time on, and returns when what came due has happened. Until the first
    /// call time passes by itself.
    public func advance(by time: Duration) {
        transport.advance(milliseconds: time.wholeMilliseconds)
    }
}

extension Client.Configuration {
    /// Answers all requests of the client in place of the network. None by default; for tests.
    public var stubServer: StubServer? {
        get { stub.map { StubServer($0) } }
        set { stub = newValue?.transport }
    }
}
