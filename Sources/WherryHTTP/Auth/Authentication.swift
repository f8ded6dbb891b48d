// Wherry: the authentication state of a transfer.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// The credentials of a transfer for one origin, and the state of the authentication.
package struct Authentication: Sendable {
    /// How to handle a 401 response.
    package enum Step: Sendable {
        /// Send the request once more with a new Authorization header.
        case again
        /// Ask the caller for credentials.
        case ask(AuthChallenge)
        /// Return the 401 response.
        case deliver
    }

    package let origin: Origin
    package private(set) var credentials: Credentials?
    /// The scheme for the next request. `nil` sends no credentials.
    private var scheme: Credentials.Scheme?
    /// Whether the last request used a challenge that this transfer received, and not an older one.
    private var isFresh = false
    private var tries = 0
    /// The number of calls of the credentials hook.
    package private(set) var hookCalls = 0

    /// The maximum number of attempts with new challenges. More than one is needed because a nonce
    /// may become stale in transit.
    private static let maxTries = 4
    /// The maximum number of calls of the credentials hook for a transfer.
    private static let maxHookCalls = 8

    /// - Parameter credentials: The credentials that the caller set for this origin.
    package init(_ credentials: Credentials?, at origin: Origin) {
        self.origin = origin
        self.credentials = credentials
        scheme = credentials.flatMap { $0.scheme == .basic ? .basic : .digest }
    }

    /// Returns the algorithm of the body digest that the next request needs. `nil` if it needs
    /// none.
    package func bodyAlgorithm(at url: HTTPURL, memory: AuthMemory) -> DigestAlgorithm? {
        guard let credentials, scheme == .digest, url.origin == origin else { return nil }
        return memory.bodyAlgorithm(key(credentials))
    }

    /// Returns the Authorization header for the next request. `nil` if it needs none.
    ///
    /// - Parameter bodyHash: Returns the digest of the body, or `nil` if it is not known.
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

    /// A cache key for these credentials if the header differs for each request. Otherwise `nil`.
    package var identity: String? {
        guard let credentials, scheme == .digest else { return nil }
        return "Digest \(credentials.user.utf8.count):\(credentials.user)\(credentials.password)"
    }

    /// Handles a 401 response.
    ///
    /// - Parameter asks: Whether there is a credentials hook.
    package mutating func step(
        after head: ResponseHead, asks: Bool, memory: AuthMemory
    ) -> Step {
        let challenges = AuthChallenge.all(head)
        if let credentials, tries < Self.maxTries, answer(challenges, credentials, memory) {
            tries += 1
            return .again
        }
        if let credentials { memory.forget(key(credentials)) }
        guard asks, hookCalls < Self.maxHookCalls,
            let challenge = challenges.first(where: { Self.session($0) != nil })
                ?? challenges.first(where: { $0.scheme == "basic" })
        else { return .deliver }
        hookCalls += 1
        return .ask(challenge)
    }

    /// Uses the credentials that the caller provided.
    package mutating func use(
        _ credentials: Credentials, for head: ResponseHead, memory: AuthMemory
    ) -> Bool {
        self.credentials = credentials
        (isFresh, tries) = (false, 1)
        scheme = nil
        return answer(AuthChallenge.all(head), credentials, memory)
    }

    /// Returns a copy with other credentials and the same attempt and hook counts.
    package func with(_ credentials: Credentials?) -> Authentication {
        var other = Authentication(credentials, at: origin)
        (other.tries, other.hookCalls) = (tries, hookCalls)
        return other
    }

    /// Stores the nonce that a successful response provides for the next request.
    package func renew(by head: ResponseHead, memory: AuthMemory) {
        guard let credentials, scheme == .digest else { return }
        memory.renew(key(credentials), by: head)
    }

    /// Chooses the strongest challenge that the credentials support. Returns `false` if there is
    /// none, or if the credentials were rejected.
    private mutating func answer(
        _ challenges: [AuthChallenge], _ credentials: Credentials, _ memory: AuthMemory
    ) -> Bool {
        if credentials.scheme != .basic {
            let sessions = challenges.compactMap { challenge in
                Self.session(challenge).map { (challenge, $0) }
            }
            if let best = sessions.max(by: { $0.1.strength < $1.1.strength }) {
                // A stale nonce does not mean that the password is wrong (RFC 7616, section 3.3).
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

    /// Returns the request target, which is never empty.
    private static func target(of url: HTTPURL) -> String {
        let path = url.path.isEmpty ? "/" : String(url.path)
        guard let query = url.query else { return path }
        return "\(path)?\(query)"
    }
}
