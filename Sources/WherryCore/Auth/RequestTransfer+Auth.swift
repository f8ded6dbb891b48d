// Wherry: the credentials of a request.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherryRequests
import WherrySystem
import WherryTransport

extension Request {
    /// Returns whether both requests have the same credentials.
    func hasSameCredentials(_ other: Request) -> Bool {
        credentials == other.credentials && bearerToken == other.bearerToken
            && headers.values("Authorization") == other.headers.values("Authorization")
    }
}

extension RequestTransfer {
    /// Whether a 401 response may lead to another request.
    var mayAuthenticate: Bool {
        if request.credentials != nil || settings.hasCredentials
            || decisions.contains(.credentials)
        {
            return true
        }
        // A callback may have added credentials before an attempt or at a redirect.
        return !decisions.isDisjoint(with: [.adapt, .redirect]) && hops.withLock { $0.follower.authentication?.credentials != nil }
    }

    /// Returns the `Cookie` header of the jar for the current hop; `nil` if there is none.
    func cookies(_ state: State) -> String? {
        usesJar(state) ? cookieJar.field(for: state.follower.url) : nil
    }

    /// Returns the `Authorization` header of the next hop; `nil` keeps that of the request. The
    /// caller holds the lock.
    func authorization(_ state: inout State) -> String? {
        let integrity = state.body.integrity
        return state.follower.authorization(
            state.edited ?? request, settings, memory: client.auth
        ) { algorithm in
            integrity?.algorithm == algorithm ? integrity?.value : nil
        }
    }

    /// The algorithm of the body digest that the next hop needs and lacks; `nil` if none.
    var lackingIntegrity: DigestAlgorithm? {
        guard mayAuthenticate else { return nil }
        return hops.withLock { state in
            let authentication = state.follower.currentAuthentication(state.edited ?? request, settings)
            let needed = authentication?.bodyAlgorithm(
                at: state.follower.url, memory: client.auth)
            return state.body.integrity?.algorithm == needed ? nil : needed
        }
    }

    /// Computes the digest of the body, then sends the request. Uses a worker unless the body is
    /// small.
    func computeIntegrity(_ algorithm: DigestAlgorithm, wake: Wake) {
        let body = hops.withLock { $0.body.body }
        let isSmall = switch body {
        case .none: true
        case .bytes(let bytes): bytes.count <= Self.smallBody
        case .source: false
        }
        if isSmall { return addIntegrity(algorithm, of: body, wake: wake) }
        client.workers.submit { [self] in addIntegrity(algorithm, of: body, wake: .now) }
    }

    /// The largest body hashed on the calling thread, in bytes: hashing takes less time than
    /// handing the body to a worker.
    private static let smallBody = 65_536

    private func addIntegrity(_ algorithm: DigestAlgorithm, of body: ExchangeBody, wake: Wake) {
        do throws(WherryError) {
            let value = try BodyDigest.value(algorithm, of: body, isStopped: { isCancelled })
            guard let value else {
                guard !isCancelled else { return resume {} }
                let origin = hops.withLock { $0.follower.url.origin.text }
                throw WherryError(
                    .bodySpent,
                    "The request to \(origin) cannot be authenticated: the server demands a digest of the body (qop=auth-int), and this body can be read only once. Send bytes or a file."
                )
            }
            hops.withLock { $0.body.integrity = (algorithm, value) }
            resume { send(wake: wake) }
        } catch {
            end(TransferOutcome(error: error))
        }
    }

    /// Handles the headers of a 401 response. Returns `nil` to treat it like any other response.
    func handleUnauthorized(_ head: ResponseHead) -> BodyDisposition? {
        guard mayAuthenticate else { return nil }
        let step = hops.withLock { state in
            let step = challenge(head, &state)
            state.refusal = step
            return step
        }
        switch step {
        case .stand: return nil
        case .again: return caching?.hasHTTP == true ? .skim : .discard
        case .ask: return deferHeaders()
        }
    }

    /// Updates the authentication state from the headers of a network response. Cached headers
    /// would be outdated.
    func renewNonce(by head: ResponseHead) {
        guard mayAuthenticate, head.status != 401 else { return }
        hops.withLock { $0.follower.authentication?.renew(by: head, memory: client.auth) }
    }

    private func challenge(_ head: ResponseHead, _ state: inout State) -> Authentication.Step {
        state.follower.challenge(
            head, asks: decisions.contains(.credentials), memory: client.auth)
    }

    /// Handles a 401 response. Returns `false` if the response is final or has another status.
    func authenticate(
        _ head: ResponseHead, _ result: ExchangeResult, _ marks: Response.CacheMarks
    ) -> Bool {
        guard head.status == 401 else { return false }
        let step = hops.withLock { state -> Authentication.Step in
            // A cached response did not pass through `handleUnauthorized(_:)`.
            let step = state.refusal ?? challenge(head, &state)
            state.refusal = nil
            return step
        }
        switch step {
        case .stand: return false
        case .again: resend(head, result, marks)
        case .ask(let challenge): ask(challenge, head, result, marks)
        }
        return true
    }

    private func ask(
        _ challenge: AuthChallenge, _ head: ResponseHead, _ result: ExchangeResult,
        _ marks: Response.CacheMarks
    ) {
        let before = hops.withLock { ($0.follower.authentication?.questions ?? 1) - 1 }
        let question = Decision.Kind.credentials(
            response(head, result.body, result, marks), realm: challenge.realm,
            challenge.scheme == "digest" ? .digest : .basic, before: before)
        put(question) { [self] answer in
            switch answer {
            case .refuse(let message): refuse(message)
            case .credentials(let credentials):
                resume { self.use(credentials, head, result, marks) }
            case .standard, .adapted, .follow, .store, .again, .save, .token, .next, .stop, .fail:
                resume { self.judge(head, result, marks) }
            }
        }
    }

    private func use(
        _ credentials: Credentials, _ head: ResponseHead, _ result: ExchangeResult,
        _ marks: Response.CacheMarks
    ) {
        do {
            try credentials.check()
        } catch {
            return end(TransferOutcome(error: error))
        }
        let isAnswer = hops.withLock { state in
            state.follower.authentication?.use(credentials, for: head, memory: client.auth) ?? false
        }
        // Credentials that do not fit this challenge change nothing.
        guard isAnswer else { return judge(head, result, marks) }
        resend(head, result, marks)
    }

    /// Sends the same request again, with its body from the first byte (U13).
    private func resend(
        _ head: ResponseHead, _ result: ExchangeResult, _ marks: Response.CacheMarks
    ) {
        let canReplay = hops.withLock { state -> Bool in
            state.wire.sent += result.metrics.sent
            state.wire.received += result.metrics.received
            guard case .source(let source) = state.body.body else { return true }
            return state.body.isReplayable && source.rewind()
        }
        guard canReplay else {
            let response = response(head, Bytes(), result, marks)
            let error = WherryError(
                .bodySpent,
                "The request cannot be authenticated: its body is a stream that cannot be sent again. Send bytes or a file."
            )
            return end(
                TransferOutcome(
                    response: response,
                    error: error.with {
                        $0.httpStatus = head.status
                        $0.response = response
                    }))
        }
        if decisions.contains(.adapt) { ask() } else { send(wake: .now) }
    }
}
