// Wherry: network exchanges of a download.
// SPDX-License-Identifier: Apache-2.0

import WherryDownloads
import WherryHTTP
import WherryRequests
import WherrySystem
import WherryTransport

extension DownloadTransfer {
    /// How to handle a response.
    enum BodyUse: Sendable {
        case none
        /// Discards the body, then follows the redirect.
        case redirect(RedirectRules.Hop)
        /// Discards the body, then sends the request again with credentials.
        case unauthorized(Hop.Start)
        /// The body belongs to the file.
        case file
        /// The body is an error message of the server.
        case refusal(ResponseHead)
    }

    /// One exchange of an attempt.
    struct Hop: Sendable {
        /// The request and its URL. Each attempt starts at the original URL (DR10).
        struct Start: Sendable {
            let request: DownloadRequest
            var follower: AttemptFollower
        }

        let start: Start
        let exchange: Exchange
        let sentAt: Instant
        var head: ResponseHead?
        var use = BodyUse.none
        /// The number of body bytes that were passed to the machine.
        var delivered: Int64 = 0
        var words: [UInt8] = []

        var attempt: Int { start.request.attempt }
        var url: HTTPURL { start.follower.url }
    }

    /// The maximum number of bytes to keep of a body that is not the file (R15).
    static let wordsLimit = 65_536

    // MARK: Sending

    /// Returns the start of a request, at the original URL or at a mirror. A mirror gets no secrets
    /// of the URL.
    func start(of request: DownloadRequest) -> Hop.Start {
        guard request.source > 0, request.source <= mirrors.count else {
            return Hop.Start(
                request: request, follower: AttemptFollower(firstURL, method: method))
        }
        let url = mirrors[request.source - 1]
        let isForeign = url.origin != firstURL.origin && options[.keepAuthAcrossHosts] == 0
        return Hop.Start(
            request: request,
            follower: AttemptFollower(
                url, method: method, origin: firstURL.origin, withholdsCredentials: isForeign))
    }

    func send(_ start: Hop.Start) {
        let attempt = start.request.attempt
        // The caller may have paused or cancelled the download in the meantime.
        let place = core.withLock { core in
            core.isStopping ? nil : core.machine.place(of: attempt)
        }
        guard let place else { return }
        var start = start
        let authorization = start.follower.authorization(
            self.request, settings, memory: client.auth
        ) {
            Digest.hash(of: [], $0)
        }
        do {
            var asked = self.request
            // The download controls the range fields.
            let fields = start.request.fields
            for name in ["Range", "If-Range"] + fields.map(\.name) { asked.headers.remove(name) }
            var extra = fields.map { Headers.Field(name: $0.name, value: $0.value) }
            for name in ["Range", "If-Range"] where !fields.contains(where: { $0.name == name }) {
                extra.append(Headers.Field(name: name, value: nil))
            }
            let headers = try RequestPlanner.fields(
                of: asked, contentType: nil, hasBody: false, settings: settings,
                extra: extra, authorization: authorization,
                cookies: usesJar ? cookieJar.field(for: start.follower.url) : nil,
                mergesCookies: options.cookieHandling.merges,
                withholdsCredentials: start.follower.withholdsCredentials,
                withholdsHost: start.follower.url.origin != firstURL.origin,
                closes: options[.keepAlive] == 0)
            var exchange = RequestPlanner.exchange(
                method: method, url: start.follower.url, headers: headers, body: .none,
                settings: settings,
                options: options, deadline: deadline)
            exchange.decoding = .identity
            exchange.isBulk = true
            // The limit applies to all connections together and can change at any time. libcurl's
            // limit supports neither.
            exchange.options.maxReceiveSpeed = 0
            exchange.speedLimits = speedLimits
            exchange.wantsProgress = true
            let window = Int64.milliseconds(options[.stallTimeout])
            // Unless the caller sets the stall timeout, a server may take longer for its first byte
            // than for later ones. No bytes at all are below any minimum speed.
            if options.hasStallTimeout, window > 0 {
                let first = exchange.timeouts.firstByte
                exchange.timeouts.firstByte = first > 0 ? min(first, window) : window
            }
            if options[.stallSpeed] > 0 {
                exchange.timeouts.stallWindow = window
                exchange.timeouts.stallBytesPerSecond = options[.stallSpeed]
            }
            // HTTP/2 framing costs processor time, and its streams share the bandwidth of one
            // connection. Additional requests therefore always use separate HTTP/1.1 connections.
            if exchange.httpVersion == 0 || place == .further { exchange.httpVersion = 11 }
            if place == .further {
                exchange.admission = policy.segments > 0 ? .always : .onlyIfFree
            }
            let started = Exchange(exchange, receiver: self)
            let now = client.transport.clock.now()
            core.withLock { core in
                core.hops.append(Hop(start: start, exchange: started, sentAt: now))
            }
            client.transport.start(started, wake: .now)
        } catch {
            core.withLock { core in
                Self.add(core.machine.failed(DownloadError(error), attempt: attempt), to: &core)
            }
        }
    }

    /// Cancels the exchanges of the matching attempts.
    func stop(_ matches: (Int) -> Bool) {
        let exchanges = core.withLock { core -> [Exchange] in
            let ending = core.hops.filter { matches($0.attempt) }.map(\.exchange)
            core.hops.removeAll { matches($0.attempt) }
            for exchange in ending { core.wireBefore &+= exchange.receivedOnWire }
            Self.applyStopped(to: &core)
            return ending
        }
        for exchange in exchanges { client.transport.cancel(exchange) }
    }

    /// Applies the deferred verbs once the last bytes have arrived.
    private static func applyStopped(to core: inout State) {
        guard core.hops.isEmpty else { return }
        core.isStopping = false
        applyDeferred(to: &core)
    }

    func setHeld(_ held: Bool) {
        // A held download has only one connection.
        let exchange = core.withLock { $0.hops.first?.exchange }
        if let exchange { client.transport.setPaused(exchange, held) }
    }

    // MARK: Transport events

    package func exchangeMustWait(_ exchange: Exchange) {
        observer.transfer(self, waitsForConnection: true)
        // No bytes are written before the next response.
        guard core.withLock({ $0.hops.allSatisfy { $0.head == nil } }) else { return }
        disk.submit { [self] in files.rest() }
    }

    package func exchangeDidStart(_ exchange: Exchange) {
        observer.transfer(self, waitsForConnection: false)
        guard client.log.isOn(.debug) else { return }
        let attempt = core.withLock { core in core.index(of: exchange).map { core.hops[$0].attempt }
        }
        noteSent(exchange, attempt: attempt ?? 0)
    }

    package func exchange(
        _ exchange: Exchange, didReceive head: ResponseHead
    ) -> BodyDisposition {
        if client.log.isOn(.debug) { noteHead(head) }
        let now = client.transport.clock.now()
        let disposition = core.withLock { core -> BodyDisposition in
            guard let index = core.index(of: exchange) else { return .discard }
            core.hops[index].head = head
            if usesJar { cookieJar.take(head, from: core.hops[index].url) }
            let hop = core.hops[index]
            let isFirst = hop.attempt == core.machine.attempt
            switch hop.start.follower.step(after: head, body: nil, options: options) {
            case .follow(let next):
                core.hops[index].use = .redirect(next)
                return .discard
            case .fail(let error):
                if isFirst { core.response = response(head, hop) }
                var error = DownloadError(error)
                error.status = head.status
                Self.add(core.machine.failed(error, attempt: hop.attempt), to: &core)
                return .abort(TransportError(.refused, error.message))
            case .deliver: break
            }
            if let again = again(after: head, hop.start) {
                core.hops[index].use = .unauthorized(again)
                return .discard
            }
            if isFirst {
                core.response = response(head, hop)
                if options[.wantHeaders] == 1, let response = core.response {
                    core.steps.append(.head(response))
                }
            }
            guard head.status == 200 || head.status == 206 else {
                core.hops[index].use = .refusal(head)
                return .deliver(offset: 0, eager: true)
            }
            core.hops[index].use = .file
            judge(head, hop, &core, now: now)
            guard let offset = core.machine.body(of: hop.attempt)?.position else {
                return .discard
            }
            if let progress = Self.measure(&core, now: now, isForced: true), wantsProgress {
                core.steps.append(.progress(progress))
            }
            return .deliver(offset: offset, eager: false)
        }
        carry()
        return disposition
    }

    /// Passes a final response to the machine.
    private func judge(_ head: ResponseHead, _ hop: Hop, _ core: inout State, now: Instant) {
        let wall = client.transport.clock.wallSeconds()
        var read = DownloadHead(status: head.status, fields: head.fields, at: Int64(wall))
        read.url = hop.url.text
        let name =
            target.name == nil
            ? SuggestedFileName.choose(
                contentDisposition: read.contentDisposition, url: hop.url.text)
            : nil
        Self.add(
            core.machine.head(
                read, attempt: hop.attempt, suggestedName: name,
                latency: now.since(hop.sentAt), now: now),
            to: &core)
    }

    package func exchange(_ exchange: Exchange, didReceive piece: Bytes) {
        let now = client.transport.clock.now()
        enum Rest {
            case kept, unwanted, enough
            /// The bytes are kept, and another connection receives the following ones.
            case last
        }
        var checkpointDue: Instant?
        let rest = core.withLock { core -> Rest in
            guard let index = core.index(of: exchange) else { return .unwanted }
            let hop = core.hops[index]
            switch hop.use {
            case .file:
                core.hops[index].delivered &+= Int64(piece.count)
                let placement = core.machine.received(
                    piece.count, attempt: hop.attempt, now: now)
                let body = core.machine.body(of: hop.attempt)
                guard placement.count > 0 else {
                    // Do not wait for bytes beyond the requested range.
                    return body?.isWhole == true ? .enough : .unwanted
                }
                core.steps.append(.write(piece, placement, exchange))
                Self.add(placement.actions, to: &core)
                checkpointDue = Self.dueCheckpoint(&core)
                return body?.isWhole == true && body?.isCut == true ? .last : .kept
            case .refusal:
                let room = Self.wordsLimit - hop.words.count
                core.hops[index].words.append(contentsOf: piece.prefix(room))
                return piece.count < room ? .unwanted : .enough
            case .none, .redirect, .unauthorized: return .unwanted
            }
        }
        if let checkpointDue { scheduleCheckpoint(at: checkpointDue) }
        switch rest {
        case .kept: break
        case .last: client.transport.cancel(exchange)
        case .unwanted: exchange.consumed()
        case .enough:
            exchange.consumed()
            client.transport.cancel(exchange)
        }
        carry()
    }

    package func exchangeDidProgress(_ exchange: Exchange) {
        let isOfFile = core.withLock { core in
            guard let index = core.index(of: exchange), case .file = core.hops[index].use else {
                return false
            }
            return true
        }
        if isOfFile { tellProgress() }
        carry()
    }

    package func exchange(_ exchange: Exchange, calls call: StubCall) {
        emit(.hook(.respond(to: call)))
    }

    package func exchange(_ exchange: Exchange, didFinish result: ExchangeResult) {
        client.counters.count(exchange, result)
        let now = client.transport.clock.now()
        core.withLock { core in
            core.wire.sent &+= result.metrics.sent
            core.wire.received &+= result.metrics.received
            guard let index = core.index(of: exchange) else { return }
            core.wireBefore &+= exchange.receivedOnWire
            let hop = core.hops.remove(at: index)
            if case .redirect(let next) = hop.use, let head = hop.head, result.error == nil,
                !core.isStopping
            {
                var start = hop.start
                start.follower.follow(next, from: head, options: options)
                return core.steps.append(.follow(start))
            }
            if case .unauthorized(let again) = hop.use, result.error == nil, !core.isStopping {
                return core.steps.append(.follow(again))
            }
            finish(hop, result, &core, now: now)
            Self.applyStopped(to: &core)
        }
        carry()
    }

    /// Returns the request to send after a 401 response; `nil` if the response is final.
    private func again(after head: ResponseHead, _ start: Hop.Start) -> Hop.Start? {
        guard head.status == 401 else {
            start.follower.authentication?.renew(by: head, memory: client.auth)
            return nil
        }
        var again = start
        guard case .again = again.follower.challenge(head, asks: false, memory: client.auth) else {
            return nil
        }
        return again
    }

    /// Passes the end of an exchange to the machine.
    private func finish(_ hop: Hop, _ result: ExchangeResult, _ core: inout State, now: Instant) {
        let attempt = hop.attempt
        if let head = result.head, attempt == core.machine.attempt {
            var metrics = result.metrics
            metrics.sent = core.wire.sent
            metrics.received = core.wire.received
            core.response = response(
                head, hop, body: Bytes(hop.words), metrics: metrics, retries: core.retries)
        }
        // The caller cancelled before this event.
        if core.isStopping, core.deferred.contains(where: \.isCancel) { return }
        if case .refusal(let head) = hop.use, result.error?.kind != .totalTimeout {
            // Only the status counts, even if the body is truncated.
            return judge(head, hop, &core, now: now)
        }
        if let error = result.error {
            // The exchange was cancelled for a pause, which follows.
            if core.isStopping, error.kind == .cancelled { return }
            return Self.add(
                core.machine.failed(DownloadError(WherryError(error)), attempt: attempt),
                to: &core)
        }
        if result.isLengthUnverified, !core.machine.hasDigest {
            // SEC-R4: an attacker could have truncated the body.
            let error = DownloadError(
                .lengthUnverified,
                "The file from \(hop.url.origin.text) may be incomplete: the response has no length, and the connection ended without close_notify. Set an expected digest to verify the file."
            )
            return Self.add(core.machine.failed(error, attempt: attempt), to: &core)
        }
        Self.add(core.machine.ended(attempt: attempt), to: &core)
    }

    private func response(
        _ head: ResponseHead, _ hop: Hop, body: Bytes = Bytes(),
        metrics: ExchangeMetrics = ExchangeMetrics(), retries: Int = 0
    ) -> Response {
        Response(
            head: head, body: body, url: hop.url.text, redirects: hop.start.follower.redirects,
            metrics: metrics, retries: retries)
    }
}

extension DownloadTransfer.State {
    func index(of exchange: Exchange) -> Int? { hops.firstIndex { $0.exchange === exchange } }
}
