// Wherry: the transfer of a request, from its first hop to the response.
// SPDX-License-Identifier: Apache-2.0

import WherryCache
import WherryHTTP
import WherryRequests
import WherrySystem
import WherryTransport

/// A request or an upload. Prepares the body, calls the callbacks, follows redirects, and decides
/// whether the response is a success.
package final class RequestTransfer: Transfer, ExchangeReceiver, @unchecked Sendable {
    // `hops` is guarded by its lock. The calls of an exchange never overlap.

    struct State {
        /// The request after the edits of callbacks.
        var edited: Request?
        /// The current hop before a callback edited it; every attempt starts from it.
        var unedited: Unedited?
        /// Whether the cache lookup is done, or not needed.
        var hasLooked = false
        /// Whether a callback may have edited the request after the lookup: the response does not
        /// belong to the cache key that was looked up.
        var isEditedLate = false
        /// The target of the current hop.
        var follower: AttemptFollower
        var body = PreparedBody()
        /// Whether the requested digests of the body are computed.
        var isDigested = false
        /// The exchange of the current hop; released at the end, since it retains the transfer.
        var exchange: Exchange?
        /// The HTTP cache state of the current hop.
        var http: HTTPCaching?
        /// The HTTP cache state of an earlier base URL. Its stored response may be used if all base
        /// URLs fail.
        var fallbackCache: HTTPCaching?
        /// The handling of the 401 response that is being received.
        var refusal: Authentication.Step?
        /// The progress when the last exchange was released.
        var lastProgress = Progress()
        var isPaused = false
        /// The priority, if changed after the start.
        var priority: Int8?
        var wasCancelled = false
        /// The headers that a callback added to a redirect's request, with the origin of its
        /// target.
        var addedFields: RequestPlanner.AddedFields?
        /// Set if a redirect's request was rewritten for another origin than the first: that
        /// origin, and the previous request. A redirect to a further origin continues with the
        /// previous request.
        var beforeRewrite: (origin: Origin, request: Request)?
        /// The origin that a body from a callback belongs to; `nil` without such a body.
        var bodyOrigin: Origin?
        /// Whether a redirect removed the body.
        var lostBody = false
        var decision: WeakDecision?
        /// The state of the callback for the response headers.
        var headerDecision = HeaderDecision.none
        /// The wait for a network that reaches the host.
        var networkWait: NetworkWait?
        var speed = SpeedMeter()
        /// The last progress that was reported.
        var reported: Progress?
        var delivered: Int64 = 0
        /// A copy for the caches of a body that is delivered in pieces.
        var copy: BodyCopy?
        /// Whether the response headers have been reported.
        var headerEvent = HeaderEvent.pending
        var sentBefore: Int64 = 0
        var images: [ImageOutcome] = []
        var wire: (sent: Int64, received: Int64) = (0, 0)
        var attempts = Attempts()
        /// The number of exchanges handed to the transport.
        var launches = 0
        /// Whether the current hop had an exchange before.
        var hasLaunchedHop = false
        /// The number of exchanges after the first one of their hop, for any reason.
        var resends = 0
        /// Log records, with sizes in bytes, about stored responses; logged after the end.
        var stored: [([LogRecord.Line], Int64)] = []
        /// The final progress.
        var last = Progress()
    }

    /// The state of the event for the response headers. Only those of the final response are
    /// reported, exactly once.
    enum HeaderEvent {
        /// Not reported. Can change to any other case.
        case pending
        /// Deferred until the end, if the response is final. Can change to `reported`, or to
        /// `pending` for another hop.
        case deferred
        /// Reported. Final.
        case reported
    }

    struct WeakDecision {
        weak var decision: Decision?
    }

    let hops: Lock<State>
    /// The streamed body that the caller writes; `nil` for other bodies.
    package let stream: StreamedBody?
    /// The state of the caches; `nil` for a request without a cache. Changed only by the result of
    /// the first callback, before any use.
    var caching: TransferCaching?

    package init(
        _ kind: Kind, _ request: Request, method: String, url: HTTPURL, body: PreparedBody?,
        stream: StreamedBody?, caching: TransferCaching?, client: Client,
        settings: ClientSettings, options: OptionTable, observer: any TransferObserver,
        userData: UInt
    ) {
        self.stream = stream
        self.caching = caching
        hops = Lock(
            State(follower: AttemptFollower(url, method: method), body: body ?? PreparedBody()))
        super.init(
            kind, request, client: client, settings: settings, options: options,
            observer: observer, userData: userData)
    }

    package override var method: String { hops.withLock { $0.follower.method } }
    package override var url: String { hops.withLock { HTTPURL.redacted($0.follower.url.text) } }

    package override func noteAfterEnd() { tellStored() }
    package override var origin: Origin? { hops.withLock { $0.follower.origin } }
    package override var images: [ImageOutcome] { hops.withLock { $0.images } }

    package override var progress: Progress {
        hops.withLock { state in
            guard let exchange = state.exchange else { return state.lastProgress }
            return Self.progress(of: exchange, &state, isUpload: isUpload)
        }
    }

    package override var tellsMoves: Bool { true }

    /// Whether the progress counts sent bytes instead of received ones.
    var isUpload: Bool {
        if kind == .upload { return true }
        switch request.body {
        case .none: return false
        default: return true
        }
    }

    // MARK: Starting

    package override func begin(wake: Wake) {
        let asks = decisions.contains(.adapt)
        if !asks, let caching, caching.reads {
            // The lookup must use the request as it will be sent: after the callback, if there is
            // one.
            look(into: caching, wake: wake)
        } else if request.hasImages {
            encodeImages()
        } else if asks {
            ask()
        } else {
            send(wake: wake)
        }
    }

    private func encodeImages() {
        UploadEngine.encode(request, for: self) { [self] outcomes, body in
            hops.withLock { state in
                state.images = outcomes
                if case .success(let body) = body { state.body = body }
            }
            guard !isCancelled else {
                return end(TransferOutcome(error: Self.cancelledError))
            }
            switch body {
            case .success: ask()
            case .failure(let error): end(TransferOutcome(error: error))
            }
        }
    }

    /// Continues after a callback. After the first one, looks up the caches.
    func proceed() {
        let isFirst = hops.withLock { state in
            defer { state.hasLooked = true }
            return !state.hasLooked
        }
        guard isFirst, let caching, caching.reads else { return send(wake: .now) }
        look(into: caching, wake: .now)
    }

    package var decisions: DecisionSet { request.decisions ?? settings.values.decisions }

    func put(
        _ kind: Decision.Kind, _ handler: @escaping @Sendable (Decision.Answer) -> Void
    ) {
        become(.waiting, quiet: true)
        let decision = Decision(kind) { [self] answer in
            hops.withLock { $0.decision = nil }
            handler(answer)
        }
        let wasCancelled = hops.withLock { state in
            state.decision = WeakDecision(decision: decision)
            return state.wasCancelled
        }
        // The cancel came before the decision was registered.
        if wasCancelled { return decision.expire() }
        let time = client.transport.clock.now().advanced(
            by: .milliseconds(options[.decisionTimeout]))
        client.transport.schedule(at: time) { [weak decision] in decision?.expire() }
        emit(.decision(decision))
    }

    func resume(_ body: () -> Void) {
        guard !isCancelled else { return end(TransferOutcome(error: Self.cancelledError)) }
        body()
    }

    func refuse(_ message: String) {
        end(TransferOutcome(error: WherryError(.refused, message)))
    }

    // MARK: One hop

    /// Starts the exchange of the current hop, unless the HTTP cache has a response.
    ///
    /// - Parameter wake: The thread to use if no thread drives the transport.
    func send(wake: Wake) {
        if lacksCoding { return codeBody(wake: wake) }
        if lacksDigests { return computeDigests() }
        if let algorithm = lackingIntegrity { return computeIntegrity(algorithm, wake: wake) }
        let isCached = caching?.hasHTTP ?? false
        do {
            let exchange = try hops.withLock { state throws(WherryError) -> Exchange in
                let hasBody = if case .none = state.body.body { false } else { true }
                let headers = try RequestPlanner.fields(
                    of: state.shown(request), contentType: state.body.contentType, hasBody: hasBody,
                    settings: settings, extra: state.body.digest.map { [$0] } ?? [],
                    coding: state.body.coding, authorization: authorization(&state),
                    cookies: cookies(state), mergesCookies: options.cookieHandling.merges, crossOrigin: state.follower.isCrossOrigin,
                    otherOrigin: state.follower.url.origin != state.follower.origin, added: state.redirectFields,
                    lostBody: state.lostBody, closes: options[.keepAlive] == 0)
                var exchange = RequestPlanner.exchange(
                    method: state.follower.method, url: state.follower.url, headers: headers,
                    body: state.body.body, settings: settings, options: options, deadline: deadline)
                exchange.wantsProgress = wantsProgress
                exchange.isBulk = request.isStreamed
                if let priority = state.priority { exchange.priority = priority }
                let made = Exchange(exchange, receiver: self)
                state.exchange = isCached ? nil : made
                if state.headerEvent == .deferred { state.headerEvent = .pending }
                return made
            }
            if isCached, let caching { return consult(caching, for: exchange, wake: wake) }
            launch(exchange, wake: wake)
        } catch {
            end(TransferOutcome(error: error))
        }
    }

    /// Starts the current exchange, after the wait for the network if requested.
    func launch(_ exchange: Exchange, wake: Wake) {
        if options[.waitForNetwork] > 0, waitForNetwork(exchange) { return }
        launchNow(exchange, wake: wake)
    }

    /// Starts the exchange without waiting for the network.
    func launchNow(_ exchange: Exchange, wake: Wake) {
        let isFirst = hops.withLock { state in
            state.launches += 1
            if state.hasLaunchedHop { state.resends += 1 }
            state.hasLaunchedHop = true
            return state.launches == 1
        }
        if isFirst, client.log.isOn(.info) { noteLaunch(exchange) }
        // The total is known from now on.
        if isUpload { observer.transfer(self, isMoving: false) }
        client.transport.start(exchange, wake: wake)
        // Applies a pause, priority or cancel that arrived before the start. The lock is held, so
        // that a later call cannot overtake.
        hops.withLock { state in
            if state.isPaused { client.transport.setPaused(exchange, true) }
            if let priority = state.priority, priority != exchange.request.priority {
                client.transport.setPriority(exchange, priority)
            }
            if state.wasCancelled { client.transport.cancel(exchange) }
        }
    }

    var wantsProgress: Bool {
        let wanted = options[.wantProgress]
        return wanted == 1 || (wanted == -1 && kind == .upload)
    }

    package func exchangeMustWait(_ exchange: Exchange) {
        observer.transfer(self, waitsForConnection: true)
    }

    package func exchangeDidStart(_ exchange: Exchange) {
        if caching?.hasHTTP == true { hops.withLock { $0.http }?.noteSending() }
        become(.running, quiet: true)
        observer.transfer(self, isMoving: true)
        observer.transfer(self, waitsForConnection: false)
        // The callers that share this request show its state.
        if options[.coalesce] == 1 { (observer as? SharedRequest)?.didSend() }
        if client.log.isOn(.debug) { noteSent(exchange, attempt: hops.withLock { $0.launches }) }
    }

    package func exchange(
        _ exchange: Exchange, didReceive head: ResponseHead
    ) -> BodyDisposition {
        if client.log.isOn(.debug) { noteHead(head) }
        let mayBeReplaced = caching?.hasHTTP == true && note(head) && !isReplacement(head)
        if let url = hops.withLock({ usesJar($0) ? $0.follower.url : nil }) {
            cookieJar.take(head, from: url)
        }
        renewNonce(by: head)
        if head.status == 401, let disposition = handleUnauthorized(head) { return disposition }
        switch step(after: head) {
        case .answer where mayBeRetried(head): return deferHeaders()
        case .follow:
            // The redirect may become the final response.
            if decisions.contains(.redirect) { return .collect(limit: options[.maxBodyBytes]) }
            return caching?.hasHTTP == true ? .skim : .discard
        case .fail: return caching?.hasHTTP == true ? .skim : .discard
        case .answer: break
        }
        if decisions.contains(.head) { return mayBeReplaced ? deferHeaders() : ask(about: head, of: exchange) }
        return take(head, mayBeReplaced: mayBeReplaced)
    }

    /// Treats headers as those of the final response.
    func take(_ head: ResponseHead, mayBeReplaced: Bool = false) -> BodyDisposition {
        if request.collectsRefusals,
            !ResponseRules.accepts(head.status, request: request, options: options)
        {
            return .collect(limit: options[.maxBodyBytes])
        }
        if mayBeReplaced { return deferHeaders() }
        reportHeaders(response(head, Bytes(), ExchangeResult()))
        if request.isStreamed { beginCopy(head) }
        if request.isStreamed { return .deliver(offset: 0, eager: true) }
        return .collect(limit: options[.maxBodyBytes])
    }

    package func exchange(_ exchange: Exchange, didReceive piece: Bytes) {
        let (offset, file) = hops.withLock { state in
            let offset = state.delivered
            state.delivered += Int64(piece.count)
            state.copy?.append(piece)
            guard case .saves(let file) = state.headerDecision else { return (offset, BodyFile?.none) }
            return (offset, file)
        }
        if let file {
            return file.write(piece, at: offset, of: exchange) { [self] in
                client.transport.cancel(exchange)
            }
        }
        emit(.body(BodyPiece(piece, offset: offset, of: exchange)))
    }

    package func exchangeDidProgress(_ exchange: Exchange) {
        let progress = hops.withLock { state -> Progress? in
            state.speed.add(
                isUpload ? state.body.plainSent(exchange).sent : exchange.receivedOnWire,
                at: client.transport.clock.now())
            let progress = Self.progress(of: exchange, &state, isUpload: isUpload)
            // Bytes of a response are not progress of an upload.
            guard progress.hasMoved(since: state.reported) else { return nil }
            state.reported = progress
            return progress
        }
        if let progress { emit(.progress(progress)) }
    }

    static func progress(
        of exchange: Exchange, _ state: inout State, isUpload: Bool
    ) -> Progress {
        var progress = Progress()
        if isUpload {
            let plain = state.body.plainSent(exchange)
            progress.completed = plain.sent
            progress.total = plain.total
            progress.wire = exchange.sent
        } else {
            // For a compressed body, only the length on the wire is known (R23).
            progress.completed = exchange.receivedOnWire
            progress.wire = exchange.receivedOnWire
            progress.decodedCount = exchange.received
            let expected = exchange.expectedOnWire
            progress.total = expected < 0 ? nil : max(expected, progress.completed)
        }
        progress.bytesPerSecond = state.speed.bytesPerSecond
        if let total = progress.total {
            progress.remaining = state.speed.remaining(total - progress.completed)
        }
        return progress
    }

    // MARK: Verbs

    package override func performCancel(discarding: Bool) {
        let (exchange, decision, wait) = hops.withLock { state in
            state.wasCancelled = true
            return (state.exchange, state.decision?.decision, state.networkWait)
        }
        decision?.expire()
        if cancelWait() { end(TransferOutcome(error: Self.cancelledError)) }
        wait?.cancel()
        // Also cancel during a callback: its result may have started the next hop just now.
        if let exchange { client.transport.cancel(exchange) }
        // Pictures being encoded check for the cancel themselves.
    }

    package override func applyPriority(_ priority: Int8) {
        hops.withLock { state in
            state.priority = priority
            if let exchange = state.exchange { client.transport.setPriority(exchange, priority) }
        }
    }

    package override func applyPause() {
        hops.withLock { state in
            // Read `isPaused` with the lock held, so that the later of two concurrent calls wins.
            let paused = isPaused
            guard state.isPaused != paused else { return }
            state.isPaused = paused
            state.speed.restart()
            if let exchange = state.exchange { client.transport.setPaused(exchange, paused) }
        }
    }
}

extension RequestTransfer {
    /// Whether the current hop sends the jar's cookies and stores those of the response.
    func usesJar(_ state: State) -> Bool {
        options.cookieHandling != .off && (state.edited ?? request).ownHost(settings) == nil
    }
}
