// Wherry: a call of a hook, which a transfer waits for.
// SPDX-License-Identifier: Apache-2.0

import WherryDownloads
import WherryHTTP
import WherryRequests
import WherrySystem
import WherryTransport

/// A call of one of the program's hooks. Resolved once: by the program, on release, or on timeout.
package final class HookCall: Sendable {
    package enum Kind: Sendable {
        /// The request about to be sent, which may be edited.
        case adapt(Request)
        /// The redirect response, and the request that would follow it, with its absolute URL.
        case redirect(Response, Request)
        /// The 401 response, its realm, the scheme of the credentials, and how often the hook was
        /// called before for this transfer.
        case credentials(Response, realm: String, Credentials.Scheme, before: Int)
        /// The response headers, and the information needed to save the body.
        case headers(Response, BodyPlace)
        /// The error, with the response if there is one, and the number of earlier attempts.
        case retry(WherryError, retries: Int)
        /// The response to be stored.
        case store(Response)
        /// The 401 response to the client's bearer token.
        case token(Response)
        /// The result of the previous step of a chain; `nil` at the beginning.
        case next(GroupResult.Member?)
        /// The complete request that the program responds to in place of the network.
        case respond(StubCall)

        package var set: HookSet {
            switch self {
            case .adapt: .adapt
            case .redirect: .redirect
            case .credentials: .credentials
            case .headers: .headers
            case .retry: .retry
            case .store: .store
            case .token: .token
            case .next: .next
            case .respond: .respond
            }
        }
    }

    package enum Resolution: Sendable {
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
    private let handler: Lock<(@Sendable (Resolution) -> Void)?>
    private let expired = Lock(false)

    package init(_ kind: Kind, _ handler: @escaping @Sendable (Resolution) -> Void) {
        self.kind = kind
        self.handler = Lock(handler)
    }

    deinit { finish(.standard) }

    /// Resolves the call. Throws if it is already resolved, or timed out.
    package func resolve(_ resolution: Resolution) throws(WherryError) {
        guard finish(resolution) else {
            throw expired.withLock { $0 }
                ? WherryError(
                    .hookExpired, "The hook was resolved too late: its timeout has passed")
                : WherryError(.resolved, "This hook is already resolved")
        }
    }

    /// Creates a call of the hook by which the program responds to a request. The program passes
    /// the response to `call`. The timeouts of the request limit the wait.
    package static func respond(to call: StubCall) -> HookCall {
        HookCall(.respond(call)) { resolution in
            if case .refuse(let message) = resolution {
                call.fail(.refused, message)
            } else {
                call.failUnanswered()
            }
        }
    }

    /// Ends the wait on timeout or cancel. The default applies.
    package func expire() {
        expired.withLock { $0 = true }
        finish(.standard)
    }

    @discardableResult
    private func finish(_ resolution: Resolution) -> Bool {
        let handler = handler.withLock { handler in
            let taken = handler
            handler = nil
            return taken
        }
        handler?(resolution)
        return handler != nil
    }
}
