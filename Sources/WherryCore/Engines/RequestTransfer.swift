// Wherry: a request carried through its hops to an answer.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// An ordinary request or an upload: prepares the body, asks what is to be asked, follows
/// redirects, and judges the answer.
package final class RequestTransfer: Transfer, ExchangeReceiver, @unchecked Sendable {
    // `hops` under its lock; the calls of the exchange come one at a time.

    struct State {
        /// The request as a decision changed it.
        var edited: Request?
        /// The present hop before a decision edited it: each attempt starts from that.
        var unedited: Unedited?
        /// The caches have been asked, if they are to be.
        var hasLooked = false
        /// A decision may have changed it after that: the answer is not that of what was looked for.
        var isEditedLate = false
        var method: String
        var url: HTTPURL
        var body = PreparedBody()
        /// The digests of the body that are wanted are there.
        var isDigested = false
        /// The present hop, until the end: it holds the transfer as its receiver.
        var exchange: Exchange?
        /// What the present hop has to do with the HTTP cache.
        var http: HTTPCaching?
        /// That of a base before this one, which had something that may serve if all of them fail.
        var spare: HTTPCaching?
        /// Who asks, and what the server said to that; `nil` where nobody is named.
        var auth: Authentication?
        /// What is to be done about the 401 that has just come.
        var refusal: Authentication.Step?
        /// What there was to tell when the last exchange was let go.
        var lastProgress = Progress()
        var isPaused = false
        /// Where it was changed on the way.
        var priority: Int8?
        var wasCancelled = false
        /// Whose credentials these are: of the URL before any redirect.
        var origin: Origin
        var isCrossOrigin = false
        /// What a decision has given a redirect's request, and where it leads.
        var given: RequestPlanner.GivenFields?
        /// A redirect's request was rewritten for another origin than the first; what goes on from
        /// there is the request from before.
        var lent: (origin: Origin, before: Request)?
        /// For whom the body is, where a decision has given one.
        var bodyOrigin: Origin?
        /// A redirect has turned the request into one without a body.
        var lostBody = false
        var redirects: [Response.Redirect] = []
        var decision: WeakDecision?
        /// Of the question about the head.
        var headAnswer = HeadAnswer.none
        /// What waits for the network in its place.
        var networkWait: NetworkWait?
        var speed = SpeedMeter()
        /// The last progress that was reported.
        var reported: Progress?
        var delivered: Int64 = 0
        /// What the caches get of a body that is handed over in pieces.
        var copy: BodyCopy?
        /// What has been told of the answer's head.
        var told = Telling.nothing
        var sentBefore: Int64 = 0
        var images: [ImageOutcome] = []
        var wire: (sent: Int64, received: Int64) = (0, 0)
        var attempts = Attempts()
        /// Exchanges that were handed to the transport.
        var launches = 0
        /// Whether the present hop had an exchange before.
        var hasLaunchedHop = false
        /// Exchanges after the first one of their hop, for whatever reason.
        var resends = 0
        /// What is told after the end: that something was stored, and how many bytes.
        var stored: [([LogRecord.Line], Int64)] = []
        /// How far it came, once it has ended.
        var last = Progress()
    }

    /// Of all the heads that come only the answer's is told, and once.
    enum Telling {
        /// Goes to either of the others.
        case nothing
        /// It is told at the end, if it is the answer's then. Goes to the others: to nothing where
        /// another hop follows.
        case held
        /// It stays so.
        case head
    }

    struct WeakDecision {
        weak var decision: Decision?
    }

    let hops: Lock<State>
    /// The body that the caller writes, if it is a streamed one.
    package let stream: StreamedBody?
    /// `nil` for a request without a cache. Changed only by an answer to the first question, which
    /// comes before everything that reads it.
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
            State(method: method, url: url, body: body ?? PreparedBody(), origin: url.origin))
        super.init(
            kind, request, client: client, settings: settings, options: options,
            observer: observer, userData: userData)
    }

    package override var method: String { hops.withLock { $0.method } }
    package override var url: String { hops.withLock { RedirectRules.redacted($0.url.text) } }

    package override func noteAfterEnd() { tellStored() }
    package override var origin: Origin? { hops.withLock { $0.origin } }
    package override var images: [ImageOutcome] { hops.withLock { $0.images } }

    package override var progress: Progress {
        hops.withLock { state in
            guard let exchange = state.exchange else { return state.lastProgress }
            return Self.progress(of: exchange, &state, isUpload: isUpload)
        }
    }

    package override var tellsMoves: Bool { true }

    /// Whether the bytes that count are those sent.
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
            // What is looked for is what will be sent: after the question, where there is one.
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

    /// Continues after a decision; after the first one with a look into the caches.
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
        // The cancel came too early to find the question.
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

    /// Starts the exchange of the present hop, unless the HTTP cache has an answer.
    ///
    /// - Parameter wake: who carries it out, if nobody turns the transport.
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
                    cookies: cookies(state), crossOrigin: state.isCrossOrigin,
                    otherOrigin: state.url.origin != state.origin, given: state.givenFields,
                    lostBody: state.lostBody, closes: options[.keepAlive] == 0)
                var exchange = RequestPlanner.exchange(
                    method: state.method, url: state.url, headers: headers,
                    body: state.body.body, settings: settings, options: options, deadline: deadline)
                exchange.wantsProgress = wantsProgress
                exchange.isBulk = request.isStreamed
                if let priority = state.priority { exchange.priority = priority }
                let made = Exchange(exchange, receiver: self)
                state.exchange = isCached ? nil : made
                if state.told == .held { state.told = .nothing }
                return made
            }
            if isCached, let caching { return consult(caching, for: exchange, wake: wake) }
            launch(exchange, wake: wake)
        } catch {
            end(TransferOutcome(error: error))
        }
    }

    /// Sets the present exchange going.
    func launch(_ exchange: Exchange, wake: Wake) {
        if options[.waitForNetwork] > 0, waitForNetwork(exchange) { return }
        launchNow(exchange, wake: wake)
    }

    /// Sets it going, whatever the network is like.
    func launchNow(_ exchange: Exchange, wake: Wake) {
        let isFirst = hops.withLock { state in
            state.launches += 1
            if state.hasLaunchedHop { state.resends += 1 }
            state.hasLaunchedHop = true
            return state.launches == 1
        }
        if isFirst, client.log.isOn(.info) { noteLaunch(exchange) }
        // From now on it is known how much there is to send.
        if isUpload { observer.transfer(self, isMoving: false) }
        client.transport.start(exchange, wake: wake)
        // A verb that came before the start found nothing to act on. Said with the lock held,
        // so that it cannot overtake a later one.
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
        // Who shares it shows what it shows.
        if options[.coalesce] == 1 { (observer as? Flight)?.goesOn() }
        if client.log.isOn(.debug) { noteSent(exchange, attempt: hops.withLock { $0.launches }) }
    }

    package func exchange(
        _ exchange: Exchange, didReceive head: ResponseHead
    ) -> BodyDisposition {
        if client.log.isOn(.debug) { noteHead(head) }
        let mayBeReplaced = caching?.hasHTTP == true && note(head) && !isReplacement(head)
        if let url = hops.withLock({ usesJar($0) ? $0.url : nil }) {
            client.cookies.take(head, from: url)
        }
        renewNonce(by: head)
        if head.status == 401, let disposition = meet(refusal: head) { return disposition }
        switch step(after: head) {
        case .answer where holds(head): return hold()
        case .follow:
            // It may yet become the answer.
            if decisions.contains(.redirect) { return .collect(limit: options[.maxBodyBytes]) }
            return caching?.hasHTTP == true ? .skim : .discard
        case .fail: return caching?.hasHTTP == true ? .skim : .discard
        case .answer: break
        }
        if decisions.contains(.head) { return mayBeReplaced ? hold() : ask(about: head, of: exchange) }
        return take(head, mayBeReplaced: mayBeReplaced)
    }

    /// Takes a head as that of the answer.
    func take(_ head: ResponseHead, mayBeReplaced: Bool = false) -> BodyDisposition {
        if request.collectsRefusals,
            !ResponseRules.accepts(head.status, request: request, options: options)
        {
            return .collect(limit: options[.maxBodyBytes])
        }
        if mayBeReplaced { return hold() }
        tellHead(response(head, Bytes(), ExchangeResult()))
        if request.isStreamed { beginCopy(head) }
        if request.isStreamed { return .deliver(offset: 0, eager: true) }
        return .collect(limit: options[.maxBodyBytes])
    }

    package func exchange(_ exchange: Exchange, didReceive piece: Bytes) {
        let (offset, file) = hops.withLock { state in
            let offset = state.delivered
            state.delivered += Int64(piece.count)
            state.copy?.append(piece)
            guard case .saves(let file) = state.headAnswer else { return (offset, BodyFile?.none) }
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
            // The bytes of a response are no progress of an upload.
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
            // Of a compressed body the length on the wire is the one that is known (R23).
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
        if cancelRest() { end(TransferOutcome(error: Self.cancelledError)) }
        wait?.cancel()
        // Also beside a question: its answer may have set the next hop going just now.
        if let exchange { client.transport.cancel(exchange) }
        // Pictures being encoded end by themselves and see the mark.
    }

    package override func applyPriority(_ priority: Int8) {
        hops.withLock { state in
            state.priority = priority
            if let exchange = state.exchange { client.transport.setPriority(exchange, priority) }
        }
    }

    package override func applyPause() {
        hops.withLock { state in
            // Asked for here, so that of two verbs at once the later one counts for the exchange too.
            let paused = isPaused
            guard state.isPaused != paused else { return }
            state.isPaused = paused
            state.speed.restart()
            if let exchange = state.exchange { client.transport.setPaused(exchange, paused) }
        }
    }
}
