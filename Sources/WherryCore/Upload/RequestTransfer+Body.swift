// Wherry: the body and the credentials of an exchange.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherryRequests
import WherrySystem
import WherryTransport

extension RequestTransfer {
    func encodeImages() {
        UploadEngine.encode(request, for: self) { [self] outcomes, body in
            work.withLock { $0.images = outcomes }
            switch body {
            case .success(let body): feed(.encoded(body))
            case .failure(let error): feed(.failed(isCancelled ? Self.cancelledError : error))
            }
        }
    }

    // MARK: Content coding and digests

    /// Compresses the body, or prepares its compression. Returns the next action if this is done.
    func codeBody() -> RequestAction? {
        do throws(WherryError) {
            let (request, made) = work.withLock { ($0.machine.hop.request, $0.machine.hop.body) }
            var body = made
            switch try BodyCoding.plan(
                body, of: request, settings, options, workers: client.workers)
            {
            case .nothing: break
            case .streamed(let source, let coding):
                body.body = .source(
                    CodedBody(source, coding, flushes: stream != nil, workers: client.workers))
                body.coding = coding
            case .whole(let bytes, let coding) where bytes.count > BodyCoding.quick:
                client.workers.submit { [self] in feed(code(made, bytes, coding)) }
                return nil
            case .whole(let bytes, let coding): return handle(code(body, bytes, coding))
            }
            return handle(.prepared(.coding, body))
        } catch {
            return handle(.failed(error))
        }
    }

    /// Compresses the whole body on the calling thread.
    private func code(
        _ body: PreparedBody, _ bytes: Bytes, _ coding: Inflater.Coding
    ) -> RequestEvent {
        guard let coded = Deflater.code(bytes, coding) else {
            return .failed(
                WherryError(
                    .noMemory, "Could not encode the request body: there is not enough memory"))
        }
        var body = body
        // Keep a body that compression does not shrink, such as an image.
        if coded.count < bytes.count {
            body.body = .bytes(coded)
            body.coding = coding
            body.plainLength = Int64(bytes.count)
        }
        return .prepared(.coding, body)
    }

    /// Computes the digests on a worker.
    func computeDigests() {
        client.workers.submit { [self] in
            do throws(WherryError) {
                let (request, made) = work.withLock {
                    ($0.machine.hop.request, $0.machine.hop.body)
                }
                var body = made
                // Parts with images already have their digests.
                if case .multipart = request.body, options[.partDigests] != 0, !request.hasImages,
                    case .source = made.body
                {
                    body = try UploadEngine.body(
                        of: request, method: method, settings: settings, options: options,
                        workers: client.workers, computesDigests: true)
                }
                if let algorithm = BodyDigest.algorithm(options[.bodyDigest]) {
                    body.digest = try BodyDigest.field(
                        algorithm, of: body.body, isStopped: { isCancelled })
                }
                feed(.prepared(.digests, body))
            } catch {
                feed(.failed(error))
            }
        }
    }

    /// The largest body hashed on the calling thread, in bytes: hashing takes less time than
    /// handing the body to a worker.
    private static let smallBody = 65_536

    /// Computes the digest that the credentials cover. Uses a worker unless the body is small.
    func computeIntegrity(_ algorithm: DigestAlgorithm) -> RequestAction? {
        let body = work.withLock { $0.machine.hop.body }
        let isSmall =
            switch body.body {
            case .none: true
            case .bytes(let bytes): bytes.count <= Self.smallBody
            case .source: false
            }
        if isSmall { return handle(integrity(algorithm, of: body)) }
        client.workers.submit { [self] in feed(integrity(algorithm, of: body)) }
        return nil
    }

    private func integrity(_ algorithm: DigestAlgorithm, of body: PreparedBody) -> RequestEvent {
        do throws(WherryError) {
            var body = body
            let value = try BodyDigest.value(algorithm, of: body.body, isStopped: { isCancelled })
            if let value {
                body.integrity = (algorithm, value)
                return .prepared(.integrity(algorithm), body)
            }
            guard !isCancelled else { return .failed(Self.cancelledError) }
            let origin = work.withLock { $0.machine.hop.follower.url.origin.text }
            throw WherryError(
                .bodySpent,
                "The request to \(origin) cannot be authenticated: the server demands a digest of the body (qop=auth-int), and this body can be read only once. Send bytes or a file."
            )
        } catch {
            return .failed(error)
        }
    }

    // MARK: Credentials

    /// Whether the request has credentials, or can get them from the program.
    private var hasCredentials: Bool {
        request.credentials != nil || settings.hasCredentials || hooks.contains(.credentials)
    }

    /// Whether a hook may add credentials before an attempt or at a redirect.
    private var mayGetCredentials: Bool {
        hooks.contains(.adapt) || hooks.contains(.redirect)
    }

    /// Returns what a 401 response demands; `nil` for other responses, and without credentials.
    /// Updates the authentication state from the headers of other responses.
    func challenge(by head: ResponseHead, _ hop: inout RequestHop) -> Authentication.Step? {
        guard
            hasCredentials
                || (mayGetCredentials && hop.follower.authentication?.credentials != nil)
        else { return nil }
        guard head.status == 401 else {
            hop.follower.authentication?.renew(by: head, memory: client.auth)
            return nil
        }
        return hop.follower.challenge(
            head, asks: hooks.contains(.credentials), memory: client.auth)
    }

    /// Returns what a cached 401 response demands. Its other headers would be outdated.
    func challenge(byCached head: ResponseHead?) -> Authentication.Step? {
        guard let head, head.status == 401 else { return nil }
        return work.withLock { challenge(by: head, &$0.machine.hop) }
    }

    /// The algorithm of the body digest that the next exchange needs and lacks; `nil` if none.
    func lackingIntegrity(_ hop: inout RequestHop) -> DigestAlgorithm? {
        guard
            hasCredentials
                || (mayGetCredentials && hop.follower.authentication?.credentials != nil)
        else { return nil }
        let authentication = hop.follower.currentAuthentication(hop.request, settings)
        let needed = authentication?.bodyAlgorithm(at: hop.follower.url, memory: client.auth)
        return hop.body.integrity?.algorithm == needed ? nil : needed
    }

    /// Returns the `Authorization` header of the next exchange; `nil` keeps that of the request.
    func authorization(_ hop: inout RequestHop) -> String? {
        let integrity = hop.body.integrity
        return hop.follower.authorization(hop.request, settings, memory: client.auth) { algorithm in
            integrity?.algorithm == algorithm ? integrity?.value : nil
        }
    }
}
