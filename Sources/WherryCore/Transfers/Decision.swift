// Wherry: a question to the caller that holds a transfer until it is answered.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// Which questions are asked. The raw values are those of `wherry_decision`.
package struct DecisionSet: OptionSet, Sendable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Before every attempt: send it as it is?
    package static let adapt = DecisionSet(rawValue: 1)
    /// Follow this redirect?
    package static let redirect = DecisionSet(rawValue: 2)
    /// Store this answer?
    package static let store = DecisionSet(rawValue: 32)
    package static let all: DecisionSet = [.adapt, .redirect, .store]
}

/// One question. Answered once: by the caller, by letting go of it, or by time.
package final class Decision: Sendable {
    package enum Kind: Sendable {
        /// The request about to go out, to be edited.
        case adapt(Request)
        /// The redirect's answer and its absolute target.
        case redirect(Response, target: String)
        /// The answer that is about to be stored.
        case store(Response)

        package var set: DecisionSet {
            switch self {
            case .adapt: .adapt
            case .redirect: .redirect
            case .store: .store
            }
        }
    }

    package enum Answer: Sendable {
        /// Nobody said anything: the rules.
        case standard
        /// Send this request.
        case adapted(Request)
        case follow(Bool)
        /// Whether to store it, and without which header fields.
        case store(Bool, without: [String])
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
