// Wherry: the network's side of a download
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

extension DownloadTransfer {
    /// What is done with the answer that comes.
    enum Answer: Sendable {
        case none
        /// Its body is read and thrown away; then on.
        case redirect(RedirectRules.Hop)
        /// The bytes are of the file.
        case file
        /// The server's words on why not.
        case refusal(ResponseHead)
    }

    /// One exchange of an attempt: the first of each is to the original URL (DR10).
    struct Hop: Sendable {
        let request: DownloadRequest
        var url: HTTPURL
        var isCrossOrigin = false
        var redirects: [Response.Redirect] = []
        var exchange: Exchange?
        var head: ResponseHead?
        var answer = Answer.none
        /// Body bytes that were handed to the machine.
        var delivered: Int64 = 0
        var words: [UInt8] = []
        /// It was broken off for a verb, which is done once its last bytes are here.
        var isStopping = false
    }

    /// So much is kept of a body that is not the file (R15).
    static let wordsLimit = 65_536

    // MARK: Sending

    func send(_ request: DownloadRequest) {
        core.withLock { $0.response = nil }
        send(Hop(request: request, url: firstURL))
    }

    func send(_ hop: Hop) {
        // A verb may have come since it was decided.
        let isWanted = core.withLock { core in
            core.machine.state == .requesting && core.machine.attempt == hop.request.attempt
        }
        guard isWanted else { return }
        do {
            var asked = self.request
            // Which bytes are asked for is decided here.
            for name in ["Range", "If-Range", "Accept-Encoding"] { asked.headers.remove(name) }
            let fields = hop.request.fields
            var extra = fields.map { Headers.Field(name: $0.name, value: $0.value) }
            for name in ["Range", "If-Range"] where !fields.contains(where: { $0.name == name }) {
                extra.append(Headers.Field(name: name, value: nil))
            }
            let headers = try RequestPlanner.fields(
                of: asked, contentType: nil, hasBody: false, settings: settings,
                extra: extra, crossOrigin: hop.isCrossOrigin)
            var exchange = RequestPlanner.exchange(
                method: method, url: hop.url, headers: headers, body: .none, settings: settings,
                options: options, deadline: deadline)
            exchange.decoding = .identity
            exchange.isBulk = true
            exchange.wantsProgress = wantsProgress
            if options[.stallSpeed] > 0 {
                exchange.timeouts.stallWindow = 10_000_000_000
                // A limit that the caller has set is no stall.
                let limit = options[.maxReceiveSpeed]
                exchange.timeouts.stallBytesPerSecond =
                    limit > 0 ? min(options[.stallSpeed], max(1, limit / 2)) : options[.stallSpeed]
            }
            let started = Exchange(exchange, receiver: self)
            core.withLock { core in
                core.hop = hop
                core.hop?.exchange = started
            }
            client.transport.start(started, wake: .now)
        } catch {
            core.withLock { core in
                core.hop = nil
                Self.add(
                    core.machine.failed(DownloadError(error), attempt: hop.request.attempt),
                    to: &core)
            }
        }
    }

    func stop() {
        let exchange = core.withLock { core -> Exchange? in
            let exchange = core.hop?.exchange
            core.wireBefore &+= exchange?.receivedOnWire ?? 0
            core.hop = nil
            Self.applyDeferred(to: &core)
            return exchange
        }
        if let exchange { client.transport.cancel(exchange) }
    }

    func setHeld(_ held: Bool) {
        let exchange = core.withLock { $0.hop?.exchange }
        if let exchange { client.transport.setPaused(exchange, held) }
    }

    // MARK: What the transport tells

    package func exchangeDidStart(_ exchange: Exchange) {}

    package func exchange(
        _ exchange: Exchange, didReceive head: ResponseHead
    ) -> BodyDisposition {
        let now = client.transport.clock.now()
        let disposition = core.withLock { core -> BodyDisposition in
            guard core.hop?.exchange === exchange, let hop = core.hop else { return .discard }
            core.hop?.head = head
            let step = RedirectRules.step(
                head: head, method: method, url: hop.url, origin: firstURL.origin,
                hops: hop.redirects.count, limit: options[.maxRedirects], hasBody: false,
                bodyIsReplayable: true,
                mayCrossWithBody: true)
            switch step {
            case .follow(let next):
                core.hop?.answer = .redirect(next)
                return .discard
            case .fail(let error):
                core.response = response(head, hop)
                var error = DownloadError(error)
                error.status = head.status
                Self.add(core.machine.failed(error, attempt: hop.request.attempt), to: &core)
                return .abort(TransportError(.refused, error.message))
            case .answer: break
            }
            core.response = response(head, hop)
            if options[.wantHead] == 1, let response = core.response {
                core.steps.append(.head(response))
            }
            guard head.status == 200 || head.status == 206 else {
                core.hop?.answer = .refusal(head)
                return .deliver(offset: 0, eager: true)
            }
            core.hop?.answer = .file
            judge(head, hop, &core, now: now)
            guard core.machine.isReceiving(hop.request.attempt),
                let offset = core.machine.position
            else { return .discard }
            if let progress = Self.measure(&core, now: now, isForced: true), wantsProgress {
                core.steps.append(.progress(progress))
            }
            return .deliver(offset: offset, eager: false)
        }
        carry()
        return disposition
    }

    /// Lets the machine decide on a final answer.
    private func judge(_ head: ResponseHead, _ hop: Hop, _ core: inout State, now: Instant) {
        let wall = client.transport.clock.wallSeconds()
        let read = DownloadHead(status: head.status, fields: head.fields, at: Int64(wall))
        let name =
            target.name == nil
            ? SuggestedFileName.choose(
                contentDisposition: read.contentDisposition, url: hop.url.text)
            : nil
        Self.add(
            core.machine.head(
                read, attempt: hop.request.attempt, suggestedName: name, now: now),
            to: &core)
    }

    package func exchange(_ exchange: Exchange, didReceive piece: Bytes) {
        let now = client.transport.clock.now()
        enum Rest { case kept, unwanted, enough }
        let rest = core.withLock { core -> Rest in
            guard core.hop?.exchange === exchange, let hop = core.hop else { return .unwanted }
            switch hop.answer {
            case .file:
                core.hop?.delivered &+= Int64(piece.count)
                let placement = core.machine.received(
                    piece.count, attempt: hop.request.attempt, now: now)
                guard placement.count > 0 else {
                    // What lies beyond the piece asked for need not be waited for.
                    return core.machine.hasWholeBody ? .enough : .unwanted
                }
                core.steps.append(.write(piece, placement, exchange))
                Self.add(placement.actions, to: &core)
                return .kept
            case .refusal:
                let room = Self.wordsLimit - hop.words.count
                core.hop?.words.append(contentsOf: piece.prefix(room))
                return piece.count < room ? .unwanted : .enough
            case .none, .redirect: return .unwanted
            }
        }
        switch rest {
        case .kept: break
        case .unwanted: exchange.consumed()
        case .enough:
            exchange.consumed()
            client.transport.cancel(exchange)
        }
        carry()
    }

    package func exchangeDidProgress(_ exchange: Exchange) {
        let isOfFile = core.withLock { core in
            guard core.hop?.exchange === exchange, case .file? = core.hop?.answer else {
                return false
            }
            return true
        }
        if isOfFile { tellProgress() }
        carry()
    }

    package func exchange(_ exchange: Exchange, didFinish result: ExchangeResult) {
        let now = client.transport.clock.now()
        core.withLock { core in
            core.wire.sent &+= result.metrics.sent
            core.wire.received &+= result.metrics.received
            guard core.hop?.exchange === exchange, let hop = core.hop else { return }
            core.wireBefore &+= exchange.receivedOnWire
            core.hop?.exchange = nil
            if case .redirect(let next) = hop.answer, result.error == nil, !hop.isStopping {
                core.hop = nil
                return core.steps.append(.follow(follow(next, from: hop)))
            }
            finish(hop, result, &core, now: now)
            Self.applyDeferred(to: &core)
        }
        carry()
    }

    private func follow(_ next: RedirectRules.Hop, from hop: Hop) -> Hop {
        let redirect = Response.Redirect(url: hop.url.text, status: hop.head?.status ?? 0)
        return Hop(
            request: hop.request, url: next.url,
            isCrossOrigin: next.isCrossOrigin && options[.keepAuthAcrossHosts] == 0,
            redirects: hop.redirects + [redirect])
    }

    /// Tells the machine how an exchange ended.
    private func finish(_ hop: Hop, _ result: ExchangeResult, _ core: inout State, now: Instant) {
        let attempt = hop.request.attempt
        core.hop = nil
        if let head = result.head {
            var metrics = result.metrics
            metrics.sent = core.wire.sent
            metrics.received = core.wire.received
            core.response = response(
                head, hop, body: Bytes(hop.words), metrics: metrics, retries: core.retries)
        }
        // Whatever came in the last moment: the caller was first.
        if hop.isStopping, core.deferred.contains(where: \.isCancel) { return }
        if case .refusal(let head) = hop.answer, result.error?.kind != .totalTimeout {
            // Its words may be cut; it is its status that counts.
            return judge(head, hop, &core, now: now)
        }
        if let error = result.error {
            // Broken off for a pause, which follows.
            if hop.isStopping, error.kind == .cancelled { return }
            return Self.add(
                core.machine.failed(DownloadError(WherryError(error)), attempt: attempt),
                to: &core)
        }
        if result.isLengthUnverified, !core.machine.hasDigest {
            // SEC-R4: anybody in between could have cut it.
            let error = DownloadError(
                .lengthUnverified,
                "\(hop.url.origin.text) closed the connection without saying that this was all")
            return Self.add(core.machine.failed(error, attempt: attempt), to: &core)
        }
        Self.add(core.machine.ended(attempt: attempt), to: &core)
    }

    private func response(
        _ head: ResponseHead, _ hop: Hop, body: Bytes = Bytes(),
        metrics: ExchangeMetrics = ExchangeMetrics(), retries: Int = 0
    ) -> Response {
        Response(
            head: head, body: body, url: hop.url.text, redirects: hop.redirects, metrics: metrics,
            retries: retries)
    }
}

extension DownloadMachine {
    /// Whether the body of this attempt is being taken in.
    func isReceiving(_ attempt: Int) -> Bool { state == .receiving && attempt == self.attempt }

    /// Where the next byte of the body belongs.
    var position: Int64? { body?.position }

    /// Whether the body under way has brought all that is wanted of it.
    var hasWholeBody: Bool {
        guard let body, let end = body.end else { return false }
        return body.position >= end
    }

    /// Whether a digest will tell if the file is whole.
    var hasDigest: Bool { policy.expected != nil || facts?.announced != nil }
}
