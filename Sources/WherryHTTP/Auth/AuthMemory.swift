// Wherry: the Digest nonces of a client.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// Stores Digest challenges, so that the server rejects only the first of many requests. A nonce is
/// valid for all connections.
package final class AuthMemory: Sendable {
    struct Key: Hashable, Sendable {
        let origin: String
        let credentials: Credentials
    }
    private struct Known {
        var session: DigestSession
        var lastUse: UInt64
    }
    private struct State {
        var known: [Key: Known] = [:]
        var uses: UInt64 = 0
    }
    private let state = Lock(State())
    /// The maximum number of entries. The least recently used entry is removed first.
    private static let capacity = 128

    package init() {}

    /// Returns the algorithm of the body digest that the server requires (`auth-int`). `nil` if it
    /// requires none.
    func bodyAlgorithm(_ key: Key) -> DigestAlgorithm? {
        state.withLock { $0.known[key]?.session.bodyAlgorithm }
    }

    /// Returns the Authorization header for one request. `nil` if the server has not sent a Digest
    /// challenge, or if the body's digest is missing.
    ///
    /// - Parameter bodyHash: Returns the digest of the body, or `nil` if it is not known.
    func field(
        _ key: Key, method: String, target: String, bodyHash: (DigestAlgorithm) -> [UInt8]?
    ) -> String? {
        state.withLock { state in
            guard var known = state.known[key] else { return nil }
            state.uses += 1
            known.lastUse = state.uses
            let field = known.session.field(
                key.credentials, method: method, target: target,
                bodyHash: known.session.bodyAlgorithm.flatMap(bodyHash))
            state.known[key] = known
            return field
        }
    }

    func learn(_ session: DigestSession, for key: Key) {
        state.withLock { state in
            state.uses += 1
            state.known[key] = Known(session: session, lastUse: state.uses)
            guard state.known.count > Self.capacity,
                let oldest = state.known.min(by: { $0.value.lastUse < $1.value.lastUse })
            else { return }
            state.known[oldest.key] = nil
        }
    }

    /// Removes a rejected nonce, so that the next request does not send it preemptively.
    func forget(_ key: Key) { state.withLock { $0.known[key] = nil } }

    /// Stores the next nonce from a response, if there is one.
    func renew(_ key: Key, by head: ResponseHead) {
        guard let info = head["authentication-info"] else { return }
        // This header has the syntax of a challenge without its scheme.
        var found: [AuthChallenge] = []
        AuthChallenge.read("digest \(info)", into: &found)
        guard let next = found.first?.parameters["nextnonce"],
            let clientNonce = try? SystemRandom.hex(byteCount: 16)
        else { return }
        state.withLock { state in
            state.known[key]?.session.renew(next, clientNonce: clientNonce)
        }
    }
}
