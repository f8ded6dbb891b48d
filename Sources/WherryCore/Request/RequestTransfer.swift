// Wherry: the transfer of a request, from its first hop to the response.
// SPDX-License-Identifier: Apache-2.0

import WherryCache
import WherryHTTP
import WherryLogging
import WherryRequests
import WherrySystem
import WherryTransport

/// A request or an upload. Passes events to its state machine, and carries out the actions.
///
/// Events come from the network thread, the workers, and the program. Each goes to the machine under
/// the lock. The thread that brought the event carries out the action, outside the lock.
package final class RequestTransfer: Transfer, ExchangeReceiver, @unchecked Sendable {
    // `work` is a lock. `caching` changes only before its first use. The calls of an exchange never
    // overlap.

    struct Work {
        var machine: RequestMachine
        /// The exchange of the current hop; released at the end, since it retains the transfer.
        var exchange: Exchange?
        /// The exchange that the HTTP cache may replace, or extend with conditions.
        var planned: Exchange?
        /// The HTTP cache state of the current hop.
        var http: HTTPCaching?
        /// The HTTP cache state of an earlier base URL. Its stored response may be used if all base
        /// URLs fail.
        var fallback: HTTPCaching?
        var hookCall: WeakHookCall?
        /// The wait for a network that reaches the host.
        var networkWait: NetworkWait?
        var meter: RequestMeter
        /// Whether the response that is being collected is successful, and no later one replaces it
        /// unless it fails.
        var sharesBody = false
        /// A copy for the caches of a body that is delivered in pieces.
        var copy: BodyCopy?
        /// The file that the program saves the body to.
        var file: BodyFile?
        var images: [ImageOutcome] = []
        /// Log records, with sizes in bytes, about stored responses; logged after the end.
        var stored: [([LogRecord.Line], Int64)] = []
    }

    struct WeakHookCall {
        weak var call: HookCall?
    }

    let work: Lock<Work>
    /// The streamed body that the caller writes; `nil` for other bodies.
    package let stream: StreamedBody?
    /// The state of the caches; `nil` for a request without a cache. Changed only by the result of
    /// the first callback, before any use.
    var caching: TransferCaching?
    /// Whether the progress counts sent bytes instead of received ones.
    private let isUpload: Bool

    package init(
        _ kind: Kind, _ request: Request, method: String, url: HTTPURL, body: PreparedBody?,
        stream: StreamedBody?, caching: TransferCaching?, client: Client,
        settings: ClientSettings, options: OptionTable, observer: any TransferObserver,
        userData: UInt
    ) {
        self.stream = stream
        self.caching = caching
        let hasBody = if case .none = request.body { false } else { true }
        isUpload = kind == .upload || hasBody
        work = Lock(
            Work(
                machine: RequestMachine(
                    request, method: method, url: url, body: body ?? PreparedBody(),
                    settings: settings, options: options, caches: RequestMachine.Caches(caching)),
                meter: RequestMeter(isUpload: isUpload)))
        super.init(
            kind, request, client: client, settings: settings, options: options,
            observer: observer, userData: userData)
    }

    package override var method: String { work.withLock { $0.machine.hop.follower.method } }
    package override var url: String {
        work.withLock { HTTPURL.redacted($0.machine.hop.follower.url.text) }
    }
    package override var origin: Origin? { work.withLock { $0.machine.hop.follower.origin } }
    package override var images: [ImageOutcome] { work.withLock { $0.images } }
    package override var tellsMoves: Bool { true }
    package override func noteAfterEnd() { tellStored() }

    package override var progress: Progress {
        work.withLock { work in
            guard let exchange = work.exchange else { return work.meter.last }
            return work.meter.progress(of: exchange, work.machine.hop.body)
        }
    }

    /// The length of the body; `nil` if unknown.
    var bodyLength: Int64? {
        switch work.withLock({ $0.machine.hop.body.body }) {
        case .none: 0
        case .bytes(let bytes): Int64(bytes.count)
        case .source(let source): source.length
        }
    }

    package var hooks: HookSet { request.hooks ?? settings.values.hooks }

    var wantsProgress: Bool {
        let wanted = options[.wantProgress]
        return wanted == 1 || (wanted == -1 && kind == .upload)
    }

    // MARK: Events

    /// Passes an event to the machine, and carries out the actions that follow.
    ///
    /// - Parameter wake: The thread to use if no thread drives the transport.
    func feed(_ event: RequestEvent, wake: Wake = .now) { run(handle(event), wake: wake) }

    /// Passes an event to the machine. Returns the action to carry out.
    func handle(_ event: RequestEvent) -> RequestAction {
        let isCancelled = isCancelled
        return work.withLock { work in
            if isCancelled { work.machine.isCancelled = true }
            return work.machine.handle(event)
        }
    }

    package override func begin(wake: Wake) { feed(.start, wake: wake) }

    package override func performCancel(discarding: Bool) {
        feed(.cancel)
        if hooks.contains(.token) { client.tokens.leave(id) }
    }

    package override func applyPriority(_ priority: Int8) {
        work.withLock { work in
            guard case .setPriority = work.machine.handle(.priority(priority)),
                let exchange = work.exchange
            else { return }
            client.transport.setPriority(exchange, priority)
        }
    }

    package override func applyPause() {
        work.withLock { work in
            // Read `isPaused` with the lock held, so that the later of two concurrent calls wins.
            let paused = isPaused
            guard work.machine.isPaused != paused else { return }
            work.meter.restart()
            guard case .setPaused = work.machine.handle(.pause(paused)),
                let exchange = work.exchange
            else { return }
            client.transport.setPaused(exchange, paused)
        }
    }

    // MARK: Actions

    /// Carries out an action, and those that follow at once.
    ///
    /// Not inlined, because each copy has 5 kB.
    ///
    /// - Parameter wake: The thread to use if no thread drives the transport.
    @inline(never)
    func run(_ action: RequestAction, wake: Wake) {
        var action = action
        while let next = perform(action, wake: wake) { action = next }
    }

    /// Carries out an action. Returns the next one; `nil` if it follows from a later event.
    private func perform(_ action: RequestAction, wake: Wake) -> RequestAction? {
        switch action {
        case .none, .receive, .setPaused, .setPriority: break
        case .build: return build()
        case .launch(let isFirst): launch(isFirst: isFirst, wake: wake)
        case .finish(let outcome, let reportsHeaders):
            finish(outcome, reportsHeaders: reportsHeaders)
        case .lookUp: lookUp(wake: wake)
        case .encode: encodeImages()
        case .callHook(let hook): callHook(hook)
        case .prepare(.coding): return codeBody()
        case .prepare(.digests): computeDigests()
        case .prepare(.integrity(let algorithm)): return computeIntegrity(algorithm)
        case .consult: consult(wake: wake)
        case .plan(let plan): return prepare(plan)
        case .awaitNetwork: return awaitNetwork()
        case .resumeBody(let use, let head): resumeBody(use, head)
        case .cancelExchange: cancelExchange()
        case .stop: stop()
        case .abandon, .publish, .save: closeFile(action)
        case .settle(let result): return settle(result)
        case .apply(let outcome, let bytes, let isDelivered):
            return apply(outcome, bytes, isDelivered: isDelivered)
        case .resend(let reason, let rewinds): return resend(reason, rewinds: rewinds)
        case .check(let response, let isSaved): return check(response, isSaved: isSaved)
        case .chooseDelay(let error, let retries):
            return handle(.delay(usualDelay(error, retries)))
        case .wait(let delay, let number, let error): wait(delay, number, error)
        case .refreshToken(let number): refreshToken(number)
        case .keep(let response): return keep(response)
        case .write(let response, let names): write(response, without: names)
        case .forget(let response):
            caching?.timed?.remove()
            return handle(.kept(response))
        }
        return nil
    }

    // MARK: The exchange

    /// Builds the exchange of the next attempt.
    func build() -> RequestAction {
        do {
            return try work.withLock { work throws(WherryError) -> RequestAction in
                if let algorithm = lackingIntegrity(&work.machine.hop) {
                    return work.machine.handle(.lacksIntegrity(algorithm))
                }
                // Separate statements: as arguments of `fields`, they would copy the hop.
                let authorization = authorization(&work.machine.hop)
                let cookies =
                    work.machine.hop.usesJar
                    ? cookieJar.field(for: work.machine.hop.follower.url) : nil
                let headers = try work.machine.hop.fields(
                    authorization: authorization, cookies: cookies)
                var exchange = RequestPlanner.exchange(
                    method: work.machine.hop.follower.method, url: work.machine.hop.follower.url,
                    headers: headers, body: work.machine.hop.body.body, settings: settings,
                    options: options, deadline: deadline)
                exchange.wantsProgress = wantsProgress
                exchange.sharesBody = observer.followsBody
                exchange.isBulk = request.isStreamed
                if let priority = work.machine.priority { exchange.priority = priority }
                let made = Exchange(consume exchange, receiver: self)
                if work.machine.caches.usesHTTP {
                    work.planned = made
                } else {
                    work.exchange = made
                }
                return work.machine.handle(.built)
            }
        } catch {
            return handle(.failed(error))
        }
    }

    /// Starts the exchange.
    func launch(isFirst: Bool, wake: Wake) {
        guard let exchange = work.withLock({ $0.exchange }) else { return }
        if isFirst, client.log.isOn(.info) { noteLaunch(exchange) }
        // The total is known from now on.
        if isUpload { observer.transfer(self, isMoving: false) }
        client.transport.start(exchange, wake: wake)
        // Applies a pause, priority or cancel that arrived before the start. The lock is held, so
        // that a later call cannot overtake.
        work.withLock { work in
            if work.machine.isPaused { client.transport.setPaused(exchange, true) }
            if let priority = work.machine.priority, priority != exchange.request.priority {
                client.transport.setPriority(exchange, priority)
            }
            if work.machine.isCancelled { client.transport.cancel(exchange) }
        }
    }

    package func exchangeMustWait(_ exchange: Exchange) {
        observer.transfer(self, waitsForConnection: true)
    }

    package func exchangeDidStart(_ exchange: Exchange) {
        if caching?.hasHTTP == true { work.withLock { $0.http }?.noteSending() }
        become(.running, quiet: true)
        observer.transfer(self, isMoving: true)
        observer.transfer(self, waitsForConnection: false)
        // The callers that share this request show its state.
        if options[.coalesce] == 1 { (observer as? SharedRequest)?.didSend() }
        if client.log.isOn(.debug) {
            noteSent(exchange, attempt: work.withLock { $0.machine.launches })
        }
    }

    package func exchange(
        _ exchange: Exchange, didReceive head: ResponseHead
    ) -> BodyDisposition {
        if client.log.isOn(.debug) { noteHead(head) }
        let mayBeReplaced = caching?.hasHTTP == true && note(head) && !isReplacement(head)
        let (action, url) = work.withLock { work in
            let challenge = challenge(by: head, &work.machine.hop)
            let url = work.machine.hop.usesJar ? work.machine.hop.follower.url : nil
            let event = RequestEvent.head(head, challenge: challenge, mayBeReplaced: mayBeReplaced)
            return (work.machine.handle(event), url)
        }
        if let url { cookieJar.take(head, from: url) }
        guard case .receive(let use) = action else { return .discard }
        return disposition(use, head, of: exchange)
    }

    package func exchange(_ exchange: Exchange, didReceive piece: Bytes) {
        let (offset, file) = work.withLock { work in
            let offset = work.machine.delivered
            _ = work.machine.handle(.piece(piece.count))
            work.copy?.append(piece)
            return (offset, work.file)
        }
        if let file {
            return file.write(piece, at: offset, of: exchange) { [self] in
                client.transport.cancel(exchange)
            }
        }
        emit(.body(BodyPiece(piece, offset: offset, of: exchange)))
    }

    package func exchangeDidProgress(_ exchange: Exchange) {
        let now = client.transport.clock.now()
        let progress = work.withLock { work in
            work.meter.measure(exchange, work.machine.hop.body, at: now)
        }
        if let progress { emit(.progress(progress)) }
    }

    package func exchangeDidCollect(_ exchange: Exchange) {
        let attempt = work.withLock { $0.sharesBody ? $0.machine.launches : nil }
        if let attempt { observer.transfer(self, didCollect: exchange, attempt: attempt) }
    }

    /// Reports the body as far as it has been collected once more, on the transport's thread.
    func reportBody() {
        work.withLock { $0.sharesBody ? $0.exchange : nil }?.reportCollected()
    }

    package func exchange(_ exchange: Exchange, calls call: StubCall) {
        emit(.hook(.respond(to: call)))
    }

    package func exchange(_ exchange: Exchange, didFinish result: ExchangeResult) {
        client.counters.count(exchange, result)
        let isCancelled = isCancelled
        let (action, call) = work.withLock { work in
            if isCancelled { work.machine.isCancelled = true }
            // The next base URL is tried before a stale response of this one is used.
            if result.error != nil, result.head == nil, work.fallback == nil,
                work.http?.canServe == true
            {
                work.fallback = work.http
            }
            // The exchange ended before the hook returned.
            let call = work.machine.awaitsHeaders ? work.hookCall?.call : nil
            return (work.machine.handle(.ended(result)), call)
        }
        call?.expire()
        run(action, wake: .now)
    }

    // MARK: Responses

    /// Returns how the transport handles the body of a response.
    func disposition(
        _ use: RequestBodyUse, _ head: ResponseHead, of exchange: Exchange
    ) -> BodyDisposition {
        if exchange.request.sharesBody {
            let isSuccess = (200..<300).contains(head.status) && head.status != 206
            work.withLock { $0.sharesBody = isSuccess }
        }
        switch use {
        case .collect(let reportsHeaders):
            if reportsHeaders { tell(head) }
            return .collect(limit: options[.maxBodyBytes])
        case .deliver(let reportsHeaders):
            if reportsHeaders { tell(head) }
            beginCopy(head)
            return .deliver(offset: 0, eager: true)
        case .save(let reportsHeaders):
            work.withLock { $0.file }?.open { [self] in client.transport.cancel(exchange) }
            if reportsHeaders { tell(head) }
            return .deliver(offset: 0, eager: false)
        case .discard: return .discard
        case .skim: return .skim
        case .wait:
            callHeadersHook(for: head)
            return .wait
        }
    }

    /// Reports the response headers.
    private func tell(_ head: ResponseHead) {
        emit(.headers(work.withLock { $0.machine.response(head, Bytes(), ExchangeResult()) }))
    }

    /// Continues an exchange whose body has waited for the program.
    private func resumeBody(_ use: RequestBodyUse, _ head: ResponseHead) {
        guard let exchange = work.withLock({ $0.exchange }) else { return }
        become(.running, quiet: true)
        exchange.decide(disposition(use, head, of: exchange))
    }

    /// The largest JSON body that is parsed on the transport's thread, in bytes.
    private static let quickJSON = 16_384

    /// Checks a complete response.
    private func check(_ response: Response, isSaved: Bool) -> RequestAction? {
        var request = request
        // A body saved to a file is not parsed.
        if isSaved { request.jsonShape = nil }
        let readsJSON = options[.jsonOnly] == 1 || self.request.jsonShape != nil
        let checked = request
        let verdict = { @Sendable [self] in
            RequestEvent.checked(
                ResponseRules.error(
                    response, method: method, request: checked, options: options,
                    receivedAt: Int64(client.transport.clock.wallSeconds())))
        }
        guard readsJSON, response.body.count > Self.quickJSON else { return handle(verdict()) }
        // Parsing a large JSON body would delay the other transfers on this thread.
        client.workers.submit { [self] in feed(verdict()) }
        return nil
    }

    // MARK: The end

    /// Reports the outcome, including the images.
    ///
    /// - Parameter reportsHeaders: Whether to report the response headers first.
    func finish(_ outcome: TransferOutcome, reportsHeaders: Bool) {
        var outcome = outcome
        if wantsProgress, outcome.error == nil, let exchange = work.withLock({ $0.exchange }) {
            exchangeDidProgress(exchange)
        }
        let (images, hasSucceeded) = work.withLock { work in
            if let exchange = work.exchange {
                work.meter.finish(exchange, work.machine.hop.body)
                // The exchange retains this transfer.
                work.exchange = nil
            }
            return (work.images, work.machine.hasSucceeded)
        }
        if hasSucceeded, options[.maxRetries] > 0 { client.retryBudget.withLock { $0.earn() } }
        if reportsHeaders { tellHeaders(&outcome) }
        if let path = outcome.path { outcome.response = outcome.response?.saved(at: path) }
        if let error = outcome.error, kind == .upload {
            // If the request fails as a whole, every image has failed (U11).
            outcome.error = error.with { fields in
                guard fields.failedImages.isEmpty else { return }
                fields.failedImages = images.map { image in
                    var image = image
                    if image.error == nil { image.error = error }
                    return image
                }
            }
        }
        if !images.isEmpty {
            outcome.response?.images = images
            outcome.error = outcome.error?.with { $0.response?.images = images }
        }
        finish(outcome)
    }

    /// Reports deferred headers at the end. For a streamed request, also reports the body and
    /// removes it from the outcome.
    private func tellHeaders(_ outcome: inout TransferOutcome) {
        guard let response = outcome.response else { return }
        let isRefused = !ResponseRules.accepts(
            response.status, request: request, options: options)
        if request.collectsRefusals, isRefused { return }
        let bodiless = response.bodiless
        if options[.wantHeaders] == 1 { emit(.headers(bodiless)) }
        guard request.isStreamed else { return }
        if !response.body.isEmpty { emit(.body(BodyPiece(response.body, offset: 0, of: nil))) }
        outcome.response = bodiless
        outcome.error = outcome.error?.with { $0.response = bodiless }
    }
}
