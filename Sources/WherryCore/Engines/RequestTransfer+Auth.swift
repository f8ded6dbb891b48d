// Wherry: the credentials of a request.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherryRequests
import WherrySystem
import WherryTransport

extension Request {
    /// Returns whether both requests have the same credentials.
    func asksLike(_ other: Request) -> Bool {
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
        return !decisions.isDisjoint(with: [.adapt, .redirect]) && hops.withLock { $0.auth?.credentials != nil }
    }

    /// Returns the `Cookie` header of the jar for the current hop; `nil` if there is none.
    func cookies(_ state: State) -> String? {
        usesJar(state) ? cookieJar.field(for: state.url) : nil
    }

    /// Returns the `Authorization` header of the next hop; `nil` keeps that of the request. The
    /// caller holds the lock.
    func authorization(_ state: inout State) -> String? {
        guard let auth = authentication(&state) else { return nil }
        let integrity = state.body.integrity
        return auth.field(method: state.method, url: state.url, memory: client.auth) { algorithm in
            integrity?.algorithm == algorithm ? integrity?.value : nil
        }
    }

    /// Returns the credentials for the origin of the next hop; `nil` if there are none. The caller
    /// holds the lock.
    private func authentication(_ state: inout State) -> Authentication? {
        let request = state.edited ?? request
        guard state.auth != nil || request.credentials != nil || settings.hasCredentials else {
            return nil
        }
        let origin = state.url.origin
        if state.auth?.origin != origin {
            // The caller's credentials for one origin are never sent to another.
            let credentials = settings.credentials(
                of: request, at: origin, isHome: !state.isCrossOrigin)
            state.auth = credentials.map { Authentication($0, at: origin) }
        }
        return state.auth
    }

    /// The algorithm of the body digest that the next hop needs and lacks; `nil` if none.
    var lackingIntegrity: DigestAlgorithm? {
        guard mayAuthenticate else { return nil }
        return hops.withLock { state in
            let needed = authentication(&state)?.bodyAlgorithm(at: state.url, memory: client.auth)
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
                let origin = hops.withLock { $0.url.origin.text }
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
    func meet(refusal head: ResponseHead) -> BodyDisposition? {
        guard mayAuthenticate else { return nil }
        let step = hops.withLock { state in
            let step = weigh(head, &state)
            state.refusal = step
            return step
        }
        switch step {
        case .stand: return nil
        case .again: return caching?.hasHTTP == true ? .skim : .discard
        case .ask: return hold()
        }
    }

    /// Updates the authentication state from the headers of a network response. Cached headers
    /// would be outdated.
    func renewNonce(by head: ResponseHead) {
        guard mayAuthenticate, head.status != 401 else { return }
        hops.withLock { $0.auth?.renew(by: head, memory: client.auth) }
    }

    private func weigh(_ head: ResponseHead, _ state: inout State) -> Authentication.Step {
        let origin = state.url.origin
        var auth = state.auth?.origin == origin ? state.auth : nil
        if auth == nil { auth = Authentication(nil, at: origin) }
        guard var auth else { return .stand }
        let step = auth.step(
            after: head, asks: decisions.contains(.credentials), memory: client.auth)
        state.auth = auth
        return step
    }

    /// Handles a 401 response. Returns `false` if the response is final or has another status.
    func authenticate(
        _ head: ResponseHead, _ result: ExchangeResult, _ marks: Response.CacheMarks
    ) -> Bool {
        guard head.status == 401 else { return false }
        let step = hops.withLock { state -> Authentication.Step in
            // A cached response did not pass through `meet(refusal:)`.
            let step = state.refusal ?? weigh(head, &state)
            state.refusal = nil
            return step
        }
        switch step {
        case .stand: return false
        case .again: sendAgain(head, result, marks)
        case .ask(let challenge): ask(challenge, head, result, marks)
        }
        return true
    }

    private func ask(
        _ challenge: AuthChallenge, _ head: ResponseHead, _ result: ExchangeResult,
        _ marks: Response.CacheMarks
    ) {
        let before = hops.withLock { ($0.auth?.questions ?? 1) - 1 }
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
            state.auth?.use(credentials, for: head, memory: client.auth) ?? false
        }
        // Credentials that do not fit this challenge change nothing.
        guard isAnswer else { return judge(head, result, marks) }
        sendAgain(head, result, marks)
    }

    /// Sends the same request again, with its body from the first byte (U13).
    private func sendAgain(
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
