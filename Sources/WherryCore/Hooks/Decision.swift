// Wherry: a decision of the caller that a transfer waits for.
// SPDX-License-Identifier: Apache-2.0

import WherryDownloads
import WherryHTTP
import WherryRequests
import WherrySystem
import WherryTransport

/// A decision of the caller. Made once: by the caller, by releasing the object, or on timeout.
package final class Decision: Sendable {
    package enum Kind: Sendable {
        /// The request about to be sent, which may be edited.
        case adapt(Request)
        /// The redirect response, and the request that would follow it, with its absolute URL.
        case redirect(Response, Request)
        /// The 401 response, its realm, the scheme of the credentials, and how often this transfer
        /// has asked before.
        case credentials(Response, realm: String, Credentials.Scheme, before: Int)
        /// The response headers, and the information needed to save the body.
        case head(Response, BodyPlace)
        /// The error, with the response if there is one, and the number of earlier attempts.
        case retry(WherryError, retries: Int)
        /// The response to be stored.
        case store(Response)
        /// The 401 response to the client's bearer token.
        case token(Response)
        /// The result of the previous step of a chain; `nil` at the beginning.
        case next(GroupAnswer.Member?)
        /// The complete request that the program responds to in place of the network.
        case respond(StubQuestion)

        package var set: DecisionSet {
            switch self {
            case .adapt: .adapt
            case .redirect: .redirect
            case .credentials: .credentials
            case .head: .head
            case .retry: .retry
            case .store: .store
            case .token: .token
            case .next: .next
            case .respond: .respond
            }
        }
    }

    package enum Answer: Sendable {
        /// Apply the default.
        case standard
        /// Send this request, before an attempt or after a redirect.
        case adapted(Request)
        case follow(Bool)
        case credentials(Credentials)
        /// Whether to store the response, and the headers to leave out.
        case store(Bool, without: [String])
        /// Save the body to this file.
        case save(DownloadTarget)
        /// Whether to retry, and the delay in nanoseconds; `nil` for the default delay.
        case again(Bool, after: Int64?)
        /// Set the client's bearer token; `nil` if the caller has no new one.
        case token(String?)
        /// Continue the chain with this step.
        case next(RequestGroup.Member)
        /// End the chain.
        case stop
        /// End the transfer with this error.
        case fail(WherryError)
        /// End the transfer with this message.
        case refuse(String)
    }

    package let kind: Kind
    private let handler: Lock<(@Sendable (Answer) -> Void)?>
    private let expired = Lock(false)

    package init(_ kind: Kind, _ handler: @escaping @Sendable (Answer) -> Void) {
        self.kind = kind
        self.handler = Lock(handler)
    }

    deinit { resolve(.standard) }

    /// Makes the decision. Throws if it has already been made, or timed out.
    package func answer(_ answer: Answer) throws(WherryError) {
        guard resolve(answer) else {
            throw expired.withLock { $0 }
                ? WherryError(
                    .decisionExpired, "The decision came too late: its timeout has passed")
                : WherryError(.answered, "This decision has already been made")
        }
    }

    /// Creates a decision by which the program responds to a request; the program passes the
    /// response to `question`. The timeouts of the request limit the wait.
    package static func respond(to question: StubQuestion) -> Decision {
        Decision(.respond(question)) { answer in
            if case .refuse(let message) = answer {
                question.fail(.refused, message)
            } else {
                question.failUnanswered()
            }
        }
    }

    /// Ends the wait on timeout or cancel. The default applies.
    package func expire() {
        expired.withLock { $0 = true }
        resolve(.standard)
    }

    @discardableResult
    private func resolve(_ answer: Answer) -> Bool {
        let handler = handler.withLock { handler in
            let taken = handler
            handler = nil
            return taken
        }
        handler?(answer)
        return handler != nil
    }
}
