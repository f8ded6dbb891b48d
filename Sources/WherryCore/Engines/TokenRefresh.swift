// Wherry: one new bearer token for all requests that met a 401
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// Asks for a new token once, however many requests find the old one refused (R32).
///
/// The first one asks, on its own queue; those that come meanwhile wait. Who comes later with a token
/// that is no longer the client's goes again at once.
package final class TokenRefresh: Sendable {
    /// What the request does that met a 401.
    package enum Verdict: Sendable, Equatable {
        /// Goes again with this token, which the client has got since.
        case replay(String)
        /// Waits for the answer to another one's question.
        case wait
        /// Asks, and waits for the answer.
        case ask
        /// Ends with its 401: five new tokens in half a minute did not help.
        case giveUp
    }

    private struct State {
        /// Who asks.
        var asker: UInt64?
        var waiting: [(id: UInt64, goOn: @Sendable (Outcome) -> Void)] = []
        /// When the last questions were put, oldest first.
        var asked: [Instant] = []
    }

    /// What those who waited do.
    package enum Outcome: Sendable {
        case replay(String)
        /// There is no new token.
        case giveUp
        /// Whoever asked is gone: it is this one's turn to ask.
        case ask
    }

    private static let window: Int64 = 30_000_000_000
    private static let mostInWindow = 5
    private let state = Lock(State())

    package init() {}

    /// A request was answered with 401.
    ///
    /// - Parameters:
    ///   - used: the token that it was sent with.
    ///   - current: reads the client's token.
    ///   - goOn: called once after `.wait`, from any thread.
    package func met401(
        _ id: UInt64, used: String?, now: Instant, current: () -> String?,
        goOn: @escaping @Sendable (Outcome) -> Void
    ) -> Verdict {
        state.withLock { state in
            if let current = current(), current != used { return .replay(current) }
            guard state.asker == nil else {
                state.waiting.append((id, goOn))
                return .wait
            }
            state.asked.removeAll { $0.advanced(by: Self.window) <= now }
            guard state.asked.count < Self.mostInWindow else { return .giveUp }
            state.asked.append(now)
            state.asker = id
            return .ask
        }
    }

    /// Ends the question with the token that `take` gives back once the client has it, or `nil`.
    package func settle(_ take: () -> String?) {
        let (token, waiting) = state.withLock { state in
            let token = take()
            let waiting = state.waiting
            state.waiting = []
            state.asker = nil
            return (token, waiting)
        }
        for one in waiting { one.goOn(token.map { .replay($0) } ?? .giveUp) }
    }

    /// Whoever asked was cancelled: the next one asks.
    package func handOver() {
        let next = state.withLock { state -> (id: UInt64, goOn: @Sendable (Outcome) -> Void)? in
            state.asker = nil
            guard !state.waiting.isEmpty else { return nil }
            let next = state.waiting.removeFirst()
            state.asker = next.id
            return next
        }
        next?.goOn(.ask)
    }

    /// A request that waited has been cancelled.
    package func leave(_ id: UInt64) {
        state.withLock { state in state.waiting.removeAll { $0.id == id } }
    }
}
