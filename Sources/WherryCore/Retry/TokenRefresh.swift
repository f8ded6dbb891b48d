// Wherry: the refresh of a bearer token after 401 responses.
// SPDX-License-Identifier: Apache-2.0

import WherryRequests
import WherrySystem
import WherryTransport

/// Requests one new token, however many requests received a 401 response for the old one (R32).
///
/// The first request asks the program, on the request's own queue; the others wait for the result.
/// A request that was sent with an outdated token is retried at once.
package final class TokenRefresh: Sendable {
    private struct State {
        /// The request that is asking the program.
        var refresher: UInt64?
        var waiting: [(id: UInt64, resume: @Sendable (TokenVerdict) -> Void)] = []
        /// The times of the last refreshes, oldest first.
        var refreshes: [Instant] = []
    }

    private static let window: Int64 = 30_000_000_000
    private static let mostInWindow = 5
    private let state = Lock(State())

    package init() {}

    /// Handles a 401 response. Returns `nil` if the request waits for the new token that another one
    /// has asked for, and `giveUp` if five new tokens within 30 seconds did not help.
    ///
    /// - Parameters:
    ///   - used: The token that the request was sent with.
    ///   - current: Returns the client's token.
    ///   - resume: Called once if the result is `nil`, from any thread.
    package func met401(
        _ id: UInt64, used: String?, now: Instant, current: () -> String?,
        resume: @escaping @Sendable (TokenVerdict) -> Void
    ) -> TokenVerdict? {
        state.withLock { state in
            if let current = current(), current != used { return .replay(current) }
            guard state.refresher == nil else {
                state.waiting.append((id, resume))
                return nil
            }
            state.refreshes.removeAll { $0.advanced(by: Self.window) <= now }
            guard state.refreshes.count < Self.mostInWindow else { return .giveUp }
            state.refreshes.append(now)
            state.refresher = id
            return .refresh
        }
    }

    /// Resumes the waiting requests with the token that `take` returns, or without one if it
    /// returns `nil`. `take` sets the client's token.
    package func settle(_ take: () -> String?) {
        let (token, waiting) = state.withLock { state in
            let token = take()
            let waiting = state.waiting
            state.waiting = []
            state.refresher = nil
            return (token, waiting)
        }
        for one in waiting { one.resume(token.map { .replay($0) } ?? .giveUp) }
    }

    /// Lets the next waiting request ask, since the asking request was cancelled.
    package func handOver() {
        let next = state.withLock {
            state -> (id: UInt64, resume: @Sendable (TokenVerdict) -> Void)? in
            state.refresher = nil
            guard !state.waiting.isEmpty else { return nil }
            let next = state.waiting.removeFirst()
            state.refresher = next.id
            return next
        }
        next?.resume(.refresh)
    }

    /// Removes a waiting request that was cancelled.
    package func leave(_ id: UInt64) {
        state.withLock { state in state.waiting.removeAll { $0.id == id } }
    }
}
