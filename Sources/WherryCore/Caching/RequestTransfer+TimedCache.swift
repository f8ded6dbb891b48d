// Wherry: the timed cache in a request transfer.
// SPDX-License-Identifier: Apache-2.0

import WherryCache
import WherryHTTP
import WherryRequests
import WherrySystem
import WherryTransport

extension RequestTransfer {
    /// Looks up the cache.
    ///
    /// Runs on the calling thread if the caller waits for the response there; otherwise on a
    /// worker, so that a starting call never waits for the disk (K6).
    func lookUp(wake: Wake) {
        guard let caching else { return feed(.lookedUp(nil), wake: wake) }
        if case .never = wake { return feed(lookUp(in: caching), wake: wake) }
        client.workers.submit { [self] in feed(lookUp(in: caching)) }
    }

    private func lookUp(in caching: TransferCaching) -> RequestEvent {
        guard !isCancelled else { return .lookedUp(nil) }
        let found = find(in: caching)
        guard !isCancelled else { return .lookedUp(nil) }
        switch found {
        case .success(let response):
            if let error = tooLarge(response.body) { return .foundTooLarge(response, error) }
            guard caching.policy == .thenNetwork else {
                noteHit(response)
                return .lookedUp(response)
            }
            caching.shown.withLock { $0 = response.body }
            emit(.cached(response))
        case .failure(let refusal):
            if caching.timed != nil || caching.policy == .only {
                noteMiss(refusal, asksNetwork: caching.policy != .only && !caching.hasHTTP)
            }
            if caching.policy == .only { return .failed(caching.failure ?? refusal.error) }
        }
        return .lookedUp(nil)
    }

    /// Returns an error if a cached body exceeds the request's limit.
    private func tooLarge(_ body: Bytes) -> TransportError? {
        let limit = options[.maxBodyBytes]
        return body.count > limit ? .tooLarge(limit) : nil
    }

    /// Returns the cached response, if the caller would also accept it from the network.
    private func find(in caching: TransferCaching) -> Result<Response, TimedRefusal> {
        guard let timed = caching.timed else { return .failure(.missing) }
        return timed.read(client.transport.clock).flatMap { entry in
            let url = work.withLock { $0.machine.hop.follower.url.text }
            let response = Response(
                head: entry.head, body: entry.body, url: url, marks: .stored)
            guard
                ResponseRules.error(
                    response, method: method, request: request, options: options, receivedAt: 0)
                    != nil
            else { return .success(response) }
            timed.remove(entry)
            return .failure(.damaged)
        }
    }

    /// Stores a successful network response that belongs into the cache. Returns the next action if
    /// this needs no worker.
    func keep(_ response: Response) -> RequestAction? {
        guard let caching else { return handle(.kept(response)) }
        // Partial and 304 responses are incomplete. Responses of the HTTP cache do not go into the
        // timed cache.
        let isOfNetwork = !response.isFromCache || response.isRevalidated
        let (isOther, copy) = work.withLock { work in
            let hop = work.machine.hop
            return (
                hop.isEditedLate || (hop.follower.authentication?.hookCalls ?? 0) > 0, work.copy
            )
        }
        let timed =
            caching.writes && isOfNetwork && !response.isLengthUnverified
                && response.status != 206 && response.status != 304 && !isOther
            ? caching.timed : nil
        if isDeliveredInPieces {
            // Only the copy contains the body; `nil` if it is too large to be stored.
            guard let timed, let body = copy?.body else { return handle(.kept(response)) }
            client.workers.submit { [self] in write(response, response.head, timed, body: body) }
            return nil
        }
        let shown = caching.shown.withLock { $0 }
        guard timed != nil || shown != nil else { return handle(.kept(response)) }
        // Compare bodies and access the disk on a worker.
        client.workers.submit { [self] in
            let response = shown == response.body ? response.marked(.unchanged) : response
            guard timed == nil else { return feed(.storable(response)) }
            feed(isCancelled ? .failed(Self.cancelledError) : .kept(response))
        }
        return nil
    }

    /// Stores a response without these headers. Runs on a worker.
    func write(_ response: Response, without names: [String]) {
        guard let timed = caching?.timed else { return feed(.kept(response)) }
        var head = response.head
        if !names.isEmpty { head.block = StoredFields.without(names, in: head.block) }
        write(response, head, timed, body: response.body)
    }

    private func write(
        _ response: Response, _ head: ResponseHead, _ timed: TimedCaching, body: Bytes
    ) {
        guard !isCancelled else { return feed(.failed(Self.cancelledError)) }
        if timed.write(head: head, body: body, client.transport.clock) {
            noteStored(body.count, identifier: timed.key.identifier, seconds: timed.seconds)
        } else {
            noteUnstored()
        }
        feed(.kept(response))
    }
}
