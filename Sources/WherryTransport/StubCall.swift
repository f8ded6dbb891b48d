// Wherry: a request to a stub that the program responds to.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// A complete request that waits for the program's response. Accepts one response, from any thread.
/// If the program releases the call without a response, the request fails with `connect`.
package final class StubCall: Sendable {
    /// The request with its complete body.
    package let request: StubRequest
    private let reply: Lock<(@Sendable (StubOutcome) -> Void)?>

    init(_ request: StubRequest, _ reply: @escaping @Sendable (StubOutcome) -> Void) {
        self.request = request
        self.reply = Lock(reply)
    }

    deinit { failUnanswered() }

    /// Responds to the request.
    ///
    /// - Parameter head: Lines of the form "Name: value". Content-Length is added if missing.
    /// - Returns: `false` if the program has already responded.
    @discardableResult
    package func respond(status: Int, head: String, body: Bytes) -> Bool {
        resolve(StubOutcome(status: status, head: head, body: body))
    }

    /// Fails the request as a network transport would.
    ///
    /// - Returns: `false` if the program has already responded.
    @discardableResult
    package func fail(_ kind: TransportError.Kind, _ message: String) -> Bool {
        resolve(StubOutcome(failure: TransportError(kind, message)))
    }

    /// Fails the request because the program released the call.
    package func failUnanswered() {
        fail(.connect, "The program did not respond to \(request.method) \(request.url)")
    }

    private func resolve(_ outcome: StubOutcome) -> Bool {
        let reply = reply.withLock { reply in
            defer { reply = nil }
            return reply
        }
        reply?(outcome)
        return reply != nil
    }
}
