// Wherry: stub responses for tests.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// Responds to the requests of clients in tests, without a network.
///
///     let stub = StubServer()
///     stub.respond("https://example.org/users/*", json: ["name": "Skye"])
///     let client = try Client { $0.stubServer = stub }
///
/// A request that matches no rule fails with `connect`. Several clients may share a stub server.
public final class StubServer: Sendable {
    /// A request as it would have been sent.
    public struct Received: Sendable {
        /// The method as sent.
        public let method: String
        /// The complete URL.
        public let url: String
        /// All headers, including those that the network transport adds.
        public let headers: Headers
        /// The body, or its first 64 MiB.
        public let body: Bytes
        /// The length of the complete body.
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

    /// Creates a stub server without rules.
    public init() { transport = StubTransport() }

    init(_ transport: StubTransport) { self.transport = transport }

    /// Responds to requests for a URL. The oldest of several matching rules applies first.
    ///
    /// - Parameters:
    ///   - url: A URL, or a pattern in which each "*" matches any text.
    ///   - method: `nil`, the default, matches any method.
    ///   - times: The number of requests to respond to; `nil`, the default, responds to all.
    ///   - delay: The time from the end of a request to its response, on the clock that
    ///     ``advance(by:)`` moves.
    public func respond(
        _ url: String, method: String? = nil, times: Int? = nil, status: Int = 200,
        headers: Headers = [:], body: Bytes = [], delay: Duration = .zero
    ) {
        transport.addResponse(
            method: method, url: url, times: times ?? -1, status: status,
            head: Self.lines(headers), body: body)
        setDelay(delay)
    }

    /// Responds to requests for a URL with JSON.
    ///
    /// - Throws: `bad_parameters` for values that JSON cannot represent.
    public func respond(
        _ url: String, method: String? = nil, times: Int? = nil, status: Int = 200, json: JSON,
        delay: Duration = .zero
    ) throws(WherryError) {
        let body: Bytes
        do {
            body = Bytes(try json.printed())
        } catch {
            throw WherryError(.badParameters, error.message)
        }
        respond(
            url, method: method, times: times, status: status,
            headers: ["Content-Type": "application/json"], body: body, delay: delay)
    }

    /// Fails requests for a URL: at once, or after a number of bytes of the response body.
    ///
    /// - Parameter reason: An error reason that a network can cause, such as "connect",
    ///   "idle_timeout" or "truncated".
    /// - Throws: `bad_value` for any other reason.
    public func fail(
        _ url: String, method: String? = nil, times: Int? = nil, reason: String,
        afterBytes: Int64 = 0, delay: Duration = .zero
    ) throws(WherryError) {
        guard ErrorReason(rawValue: reason) != nil, let kind = TransportError.Kind(rawValue: reason)
        else {
            throw WherryError(
                .badValue,
                "A stub cannot fail with the reason \"\(reason)\". Use a reason such as \"connect\"."
            )
        }
        transport.addFailure(
            method: method, url: url, times: times ?? -1, kind: kind, afterBytes: afterBytes)
        setDelay(delay)
    }

    /// Responds to requests for a URL with the result of a closure, which runs in a new task.
    ///
    ///     stub.respond("https://example.org/*") { request in
    ///         .init(status: 201, body: request.body)
    ///     }
    ///
    /// These requests are not in ``requests``. The timeouts of a request limit the wait for the
    /// closure. If the closure throws a `WherryError` that a network can cause, the request fails
    /// with its reason; any other error becomes `refused`.
    ///
    /// - Parameters:
    ///   - url: A URL, or a pattern in which each "*" matches any text.
    ///   - method: `nil`, the default, matches any method.
    ///   - times: The number of requests to respond to; `nil`, the default, responds to all.
    public func respond(
        _ url: String, method: String? = nil, times: Int? = nil,
        with handler: @escaping @Sendable (Received) async throws -> Reply
    ) {
        transport.addHook(method: method, url: url, times: times ?? -1) { call in
            Task {
                do {
                    let reply = try await handler(Received(call.request))
                    call.respond(
                        status: reply.status, head: Self.lines(reply.headers), body: reply.body)
                } catch let error as WherryError {
                    call.fail(
                        TransportError.Kind(rawValue: error.reason) ?? .refused,
                        error.message)
                } catch {
                    call.fail(.refused, "The stub's handler failed: \(error)")
                }
            }
        }
    }

    /// A response from the closure of ``respond(_:method:times:with:)``.
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

    /// Advances the clients' clock, and returns when all events that are due have happened. Until
    /// the first call the clock runs normally.
    public func advance(by time: Duration) {
        transport.advance(milliseconds: time.wholeMilliseconds)
    }
}

extension Client.Configuration {
    /// The stub server for all requests of the client, for tests. Default: none.
    public var stubServer: StubServer? {
        get { stub.map { StubServer($0) } }
        set { stub = newValue?.transport }
    }
}
