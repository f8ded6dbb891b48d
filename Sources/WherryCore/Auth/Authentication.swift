// Wherry: how one transfer says who asks.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// The credentials of a transfer at one origin, and what has become of them there.
package struct Authentication: Sendable {
    /// What is to be done about a refusal.
    package enum Step: Sendable {
        /// The same request again, with another field.
        case again
        /// The caller is asked for credentials.
        case ask(AuthChallenge)
        /// The refusal is the answer.
        case stand
    }

    package let origin: Origin
    package private(set) var credentials: Credentials?
    /// The scheme of the next request; `nil` says nothing.
    private var scheme: Credentials.Scheme?
    /// The last request answered a challenge of this very transfer, and not one of long ago.
    private var isFresh = false
    private var tries = 0
    /// How often the caller was asked.
    package private(set) var questions = 0

    /// So often it is tried with what the server said last: nonces may grow stale on the way.
    private static let maxTries = 4
    /// So often a caller is asked for one transfer.
    private static let maxQuestions = 8

    /// - Parameter credentials: those that the caller named for this origin beforehand.
    package init(_ credentials: Credentials?, at origin: Origin) {
        self.origin = origin
        self.credentials = credentials
        scheme = credentials.flatMap { $0.scheme == .basic ? .basic : .digest }
    }

    /// The algorithm of the body's digest that the next request needs; `nil` for none.
    package func bodyAlgorithm(at url: HTTPURL, memory: AuthMemory) -> DigestAlgorithm? {
        guard let credentials, scheme == .digest, url.origin == origin else { return nil }
        return memory.bodyAlgorithm(key(credentials))
    }

    /// The `Authorization` of the next request; `nil` for none.
    ///
    /// - Parameter bodyHash: returns the digest of the body, if it is known.
    package func field(
        method: String, url: HTTPURL, memory: AuthMemory, bodyHash: (DigestAlgorithm) -> [UInt8]?
    ) -> String? {
        guard let credentials, url.origin == origin else { return nil }
        switch scheme {
        case .basic:
            let pair = "\(credentials.user):\(credentials.password)"
            return "Basic " + Base64.encode(Array(pair.utf8))
        case .digest:
            return memory.field(
                key(credentials), method: method, target: Self.target(of: url), bodyHash: bodyHash)
        case .any, nil: return nil
        }
    }

    /// What names these credentials in a cache's key, where the field itself changes each time;
    /// `nil` where it does not, or there is none.
    package var identity: String? {
        guard let credentials, scheme == .digest else { return nil }
        return "Digest \(credentials.user.utf8.count):\(credentials.user)\(credentials.password)"
    }

    /// Looks at a 401.
    ///
    /// - Parameter asks: whether the caller may be asked.
    package mutating func step(
        after head: ResponseHead, asks: Bool, memory: AuthMemory
    ) -> Step {
        let challenges = AuthChallenge.all(head)
        if let credentials, tries < Self.maxTries, answer(challenges, credentials, memory) {
            tries += 1
            return .again
        }
        if let credentials { memory.forget(key(credentials)) }
        guard asks, questions < Self.maxQuestions,
            let challenge = challenges.first(where: { Self.session($0) != nil })
                ?? challenges.first(where: { $0.scheme == "basic" })
        else { return .stand }
        questions += 1
        return .ask(challenge)
    }

    /// Takes the caller's answer to the question.
    package mutating func use(
        _ credentials: Credentials, for head: ResponseHead, memory: AuthMemory
    ) -> Bool {
        self.credentials = credentials
        (isFresh, tries) = (false, 1)
        scheme = nil
        return answer(AuthChallenge.all(head), credentials, memory)
    }

    /// With other credentials of the caller's own, and no more tries and questions than before.
    package func with(_ credentials: Credentials?) -> Authentication {
        var other = Authentication(credentials, at: origin)
        (other.tries, other.questions) = (tries, questions)
        return other
    }

    /// What a success says about the next request.
    package func renew(by head: ResponseHead, memory: AuthMemory) {
        guard let credentials, scheme == .digest else { return }
        memory.renew(key(credentials), by: head)
    }

    /// Chooses the strongest of the challenges that these credentials may answer; `false` where
    /// there is none, or they were refused.
    private mutating func answer(
        _ challenges: [AuthChallenge], _ credentials: Credentials, _ memory: AuthMemory
    ) -> Bool {
        if credentials.scheme != .basic {
            let sessions = challenges.compactMap { challenge in
                Self.session(challenge).map { (challenge, $0) }
            }
            if let best = sessions.max(by: { $0.1.strength < $1.1.strength }) {
                // A stale nonce says nothing against the password (RFC 7616, section 3.3).
                let isStale = best.0.parameters["stale"]?.asciiLowercased == "true"
                guard !isFresh || isStale else { return false }
                memory.learn(best.1, for: key(credentials))
                (scheme, isFresh) = (.digest, true)
                return true
            }
        }
        guard credentials.scheme != .digest, scheme != .basic,
            challenges.contains(where: { $0.scheme == "basic" })
        else { return false }
        scheme = .basic
        return true
    }

    private static func session(_ challenge: AuthChallenge) -> DigestSession? {
        guard challenge.scheme == "digest",
            let clientNonce = try? SystemRandom.hex(byteCount: 16)
        else { return nil }
        return DigestSession(challenge, clientNonce: clientNonce)
    }

    private func key(_ credentials: Credentials) -> AuthMemory.Key {
        AuthMemory.Key(origin: origin.text, credentials: credentials)
    }

    /// What stands in the request line: never empty.
    private static func target(of url: HTTPURL) -> String {
        let path = url.path.isEmpty ? "/" : String(url.path)
        guard let query = url.query else { return path }
        return "\(path)?\(query)"
    }
}
