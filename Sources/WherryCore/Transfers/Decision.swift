// Wherry: a question to the caller that holds a transfer until it is answered.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// Which questions are asked. The raw values are those of `wherry_decision`.
package struct DecisionSet: OptionSet, Sendable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Before every attempt: send it as it is?
    package static let adapt = DecisionSet(rawValue: 1)
    /// Follow this redirect, and as which request?
    package static let redirect = DecisionSet(rawValue: 2)
    /// Who asks?
    package static let credentials = DecisionSet(rawValue: 4)
    /// What becomes of the answer that this head begins?
    package static let head = DecisionSet(rawValue: 16)
    /// Try again after this failure?
    package static let retry = DecisionSet(rawValue: 8)
    /// Store this answer?
    package static let store = DecisionSet(rawValue: 32)
    /// Which token instead of the one that was answered with 401?
    package static let token = DecisionSet(rawValue: 64)
    /// What follows in a chain? Not asked for by a client or request: every chain asks it.
    package static let next = DecisionSet(rawValue: 128)
    /// The response in place of the network. Not for a client or request to ask for: a rule of a
    /// stub asks it.
    package static let respond = DecisionSet(rawValue: 256)
    package static let all: DecisionSet = [
        .adapt, .redirect, .credentials, .retry, .head, .store, .token,
    ]
}

/// One question. Answered once: by the caller, by letting go of it, or by time.
package final class Decision: Sendable {
    package enum Kind: Sendable {
        /// The request about to go out, to be edited.
        case adapt(Request)
        /// The redirect's answer, and the request that would follow it, with the absolute target.
        case redirect(Response, Request)
        /// The 401, what it calls the place it guards, how credentials for it are sent, and how often
        /// this transfer has asked before.
        case credentials(Response, realm: String, Credentials.Scheme, before: Int)
        /// The head of the answer, and where its body may be saved to.
        case head(Response, BodyPlace)
        /// What went wrong, with the answer if there is one, and how many attempts went before.
        case retry(WherryError, retries: Int)
        /// The answer that is about to be stored.
        case store(Response)
        /// The 401 that the client's bearer token was answered with.
        case token(Response)
        /// What the step of a chain brought that has ended; `nil` at the beginning.
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
        /// Nobody said anything: the rules.
        case standard
        /// Send this request, before an attempt or after a redirect.
        case adapted(Request)
        case follow(Bool)
        case credentials(Credentials)
        /// Whether to store it, and without which header fields.
        case store(Bool, without: [String])
        /// Save the body there.
        case save(DownloadTarget)
        /// Whether to try again, and after how many nanoseconds; `nil` for the usual wait.
        case again(Bool, after: Int64?)
        /// The client's bearer token from now on; `nil`: there is none.
        case token(String?)
        /// This step follows.
        case next(RequestGroup.Member)
        /// The chain is done.
        case stop
        /// End the transfer with this error.
        case fail(WherryError)
        /// End the transfer with this sentence.
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

    /// Gives the answer. Fails if there has been one, or the time for it is over.
    package func answer(_ answer: Answer) throws(WherryError) {
        guard resolve(answer) else {
            throw expired.withLock { $0 }
                ? WherryError(.decisionExpired, "The time to answer this question is over")
                : WherryError(.answered, "This question has been answered")
        }
    }

    /// Asks the program for the response to a request, which it gives to the question itself. The
    /// timeouts of the request limit the wait.
    package static func respond(to question: StubQuestion) -> Decision {
        Decision(.respond(question)) { answer in
            if case .refuse(let message) = answer {
                question.fail(.refused, message)
            } else {
                question.failUnanswered()
            }
        }
    }

    /// The time is over: the default holds.
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
