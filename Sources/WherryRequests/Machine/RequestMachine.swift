// Wherry: the state machine of a request, independent of threads, clocks, and sockets.
// SPDX-License-Identifier: Apache-2.0

import WherryCache
import WherryDownloads
import WherryHTTP
import WherrySystem
import WherryTransport

/// Decides the next step of a request or an upload.
///
/// Each event returns one action, and each action is followed by the event that its comment names.
/// Calls must not overlap. Every run ends with one `finish`, after which all events return `none`.
/// This file contains the path of a plain request, and the extensions the detours.
package struct RequestMachine: Sendable {
    package let hooks: HookSet
    package internal(set) var phase = Phase.idle
    package var hop: RequestHop
    package var caches: Caches
    package var isCancelled = false
    package private(set) var isPaused = false
    /// The priority, if changed after the start.
    package private(set) var priority: Int8?
    /// Whether the cache lookup is done, or not needed.
    package internal(set) var hasLookedUp = false
    var needsImages: Bool
    var headers = HeaderReport.pending
    var headersHook = HeadersHook.none
    /// What the 401 response that is being received demands.
    var challenge: Authentication.Step?
    /// The bytes of the body that were delivered in pieces.
    package internal(set) var delivered: Int64 = 0
    /// The bytes sent and received by earlier exchanges.
    var wire: (sent: Int64, received: Int64) = (0, 0)
    /// The number of exchanges handed to the transport.
    package internal(set) var launches = 0
    /// The number of exchanges after the first one of their hop, for any reason.
    var resends = 0
    package internal(set) var retries = 0
    /// The number of attempts with a new token.
    var tokens = 0
    /// Whether the current response was made by the client, so that a retry would give the same.
    var isLast = false
    /// The wait for a retry delay or a new token.
    var wait = PendingWait()
    /// Whether the response was accepted.
    package internal(set) var hasSucceeded = false

    package init(
        _ request: Request, method: String, url: HTTPURL, body: PreparedBody,
        settings: ClientSettings, options: OptionTable, caches: Caches
    ) {
        self.caches = caches
        hooks = request.hooks ?? settings.values.hooks
        needsImages = request.hasImages
        hop = RequestHop(
            request, method: method, url: url, body: body, settings: settings, options: options)
    }

    // MARK: Events

    /// Handles an event. Returns the action to carry out.
    package mutating func handle(_ event: RequestEvent) -> RequestAction {
        if case .ended = phase { return .none }
        switch event {
        case .start:
            guard case .idle = phase else { return .none }
            return start()
        case .built:
            guard case .building = phase else { return .none }
            return didBuild()
        case .head(let head, let challenge, let mayBeReplaced):
            guard case .exchanging = phase else { return .receive(.discard) }
            return .receive(receive(head, challenge, mayBeReplaced: mayBeReplaced))
        case .piece(let count):
            delivered += Int64(count)
            return .none
        case .ended(let result):
            guard case .exchanging = phase else { return .none }
            return didEnd(result)
        case .cancel: return cancel()
        case .pause(let paused):
            guard isPaused != paused else { return .none }
            isPaused = paused
            return isExchanging ? .setPaused(paused) : .none
        case .priority(let value):
            priority = value
            return isExchanging ? .setPriority(value) : .none
        case .failed(let error): return end(TransferOutcome(error: error))
        case .standard, .refused, .edited, .followed, .rewritten, .authenticated, .headersResolved,
            .stores, .tokenSupplied:
            return handleHook(event)
        default: return handleDetour(event)
        }
    }

    /// The result of the hook comes first, since it may change what is looked up.
    private mutating func start() -> RequestAction {
        if caches.looksUp, !hooks.contains(.adapt) { return lookUp() }
        return needsImages ? encode() : attempt()
    }

    mutating func encode() -> RequestAction {
        needsImages = false
        phase = .encoding
        return .encode
    }

    /// Begins an attempt. Asks the program first if it wants to edit requests.
    mutating func attempt() -> RequestAction {
        guard hooks.contains(.adapt) else { return send() }
        return callHook(.edit, .edit)
    }

    /// Prepares the body, then builds the exchange.
    mutating func send() -> RequestAction {
        guard !isCancelled else { return endCancelled() }
        if options[.bodyCoding] != 0, !hop.body.isCodingSettled { return prepare(.coding) }
        if options[.bodyDigest] != 0 || options[.partDigests] != 0, !hop.isDigested {
            return prepare(.digests)
        }
        phase = .building
        return .build
    }

    private mutating func didBuild() -> RequestAction {
        if headers == .deferred { headers = .pending }
        guard caches.usesHTTP else { return launch() }
        phase = .consulting
        return .consult
    }

    /// Starts the exchange, after the wait for the network if requested.
    mutating func launch() -> RequestAction {
        guard !isCancelled else { return endCancelled() }
        guard options[.waitForNetwork] > 0 else { return launchNow() }
        phase = .offline
        return .awaitNetwork
    }

    mutating func launchNow() -> RequestAction {
        guard !isCancelled else { return endCancelled() }
        phase = .exchanging
        challenge = nil
        launches += 1
        if hop.hasLaunched { resends += 1 }
        hop.hasLaunched = true
        return .launch(isFirst: launches == 1)
    }

    /// Returns how to use the body of a response.
    private mutating func receive(
        _ head: ResponseHead, _ challenge: Authentication.Step?, mayBeReplaced: Bool
    ) -> RequestBodyUse {
        self.challenge = challenge
        if head.status == 401 {
            switch challenge {
            case .again: return discarded
            case .ask: return deferred()
            case .deliver, nil: break
            }
        }
        switch hop.step(after: head) {
        case .deliver: break
        // The redirect may become the final response.
        case .follow where hooks.contains(.redirect): return .collect(reportsHeaders: false)
        case .follow, .fail: return discarded
        }
        if head.status >= 400, mayRetry(after: head) { return deferred() }
        if hooks.contains(.headers) {
            if mayBeReplaced { return deferred() }
            if case .none = headersHook {
                headersHook = .awaited
                // The program now knows the headers, which rules out a retry.
                headers = .reported
                return .wait
            }
        }
        return take(head.status, mayBeReplaced: mayBeReplaced)
    }

    /// Treats a response as the final one.
    mutating func take(_ status: Int, mayBeReplaced: Bool = false) -> RequestBodyUse {
        if request.collectsRefusals, !accepts(status) { return .collect(reportsHeaders: false) }
        if mayBeReplaced { return deferred() }
        let reportsHeaders = options[.wantHeaders] == 1
        if reportsHeaders { headers = .reported }
        return request.isStreamed
            ? .deliver(reportsHeaders: reportsHeaders) : .collect(reportsHeaders: reportsHeaders)
    }

    /// Defers the report of the headers until the end, and collects the body.
    mutating func deferred() -> RequestBodyUse {
        if headers == .pending { headers = .deferred }
        return .collect(reportsHeaders: false)
    }

    private var discarded: RequestBodyUse { caches.usesHTTP ? .skim : .discard }

    private mutating func didEnd(_ result: ExchangeResult) -> RequestAction {
        switch headersHook {
        case .none, .proceeds, .saved: break
        // The exchange ended before the hook returned.
        case .awaited: headersHook = .proceeds
        case .ends(let outcome): return end(isCancelled ? Self.cancelled : outcome)
        case .saves: return closeFile(result)
        }
        return proceed(result)
    }

    /// Continues after an exchange, with the HTTP cache first if the request uses it.
    mutating func proceed(_ result: ExchangeResult) -> RequestAction {
        guard caches.usesHTTP else { return arrive(result) }
        if let error = result.error, result.head == nil, let next = fallBack(after: error) {
            return next
        }
        phase = .settling
        return .settle(result)
    }

    /// Handles the result of a hop, from the network or from the HTTP cache.
    ///
    /// - Parameter challenge: What a cached 401 response demands.
    mutating func arrive(
        _ result: ExchangeResult, _ marks: Response.CacheMarks = [],
        challenge cached: Authentication.Step? = nil
    ) -> RequestAction {
        if let error = result.error, !isUnreadableRedirect(result) { return fail(error, result) }
        guard let head = result.head else {
            return end(
                TransferOutcome(error: WherryError(.badProtocol, "The response has no headers")))
        }
        // A cancel does not undo a saved body.
        guard !isCancelled || savedPath != nil else { return endCancelled() }
        let step = hop.step(after: head)
        guard case .deliver = step else {
            return redirect(step, Arrival(head: head, result: result, marks: marks))
        }
        if head.status == 401, let step = challenge ?? cached {
            challenge = nil
            let arrival = Arrival(head: head, result: result, marks: marks)
            if let next = authenticate(step, arrival) { return next }
        }
        return evaluate(response(head, result.body, result, marks))
    }

    /// Ends the transfer with a response, as success or failure, unless a retry is possible.
    mutating func evaluate(_ response: Response) -> RequestAction {
        if response.status == 401, let next = refreshToken(after: response) { return next }
        return validate(response)
    }

    mutating func validate(_ response: Response) -> RequestAction {
        let readsJSON = options[.jsonOnly] == 1 || request.jsonShape != nil
        if !readsJSON, !response.isLengthUnverified, accepts(response.status) {
            return succeed(response)
        }
        phase = .checking(response)
        return .check(response, isSaved: savedPath != nil)
    }

    mutating func succeed(_ response: Response) -> RequestAction {
        hasSucceeded = true
        guard caches.keeps, savedPath == nil else {
            return end(TransferOutcome(response: response))
        }
        phase = .keeping(nil)
        return .keep(response)
    }

    // MARK: The end

    /// Ends the transfer. First calls the hook for the response headers, if it is still due.
    mutating func end(_ outcome: TransferOutcome) -> RequestAction {
        if let next = callHeadersHook(outcome) { return next }
        var outcome = outcome
        if outcome.error == nil { outcome.path = savedPath }
        phase = .ended
        return .finish(outcome, reportsHeaders: headers == .deferred)
    }

    mutating func endCancelled() -> RequestAction { end(Self.cancelled) }

    static var cancelled: TransferOutcome {
        TransferOutcome(error: WherryError(.cancelled, "The transfer was cancelled"))
    }

    // MARK: Properties

    /// The request of the caller.
    var request: Request { hop.first }
    var options: OptionTable { hop.options }

    private var isExchanging: Bool { if case .exchanging = phase { true } else { false } }

    func accepts(_ status: Int) -> Bool {
        ResponseRules.accepts(status, request: request, options: options)
    }

    /// The path of the file that contains the body; `nil` if the body is not saved.
    var savedPath: String? {
        if case .saved(let path) = headersHook { path } else { nil }
    }

    package func response(
        _ head: ResponseHead, _ body: Bytes, _ result: ExchangeResult,
        _ marks: Response.CacheMarks = []
    ) -> Response {
        var metrics = result.metrics
        metrics.sent += wire.sent
        metrics.received += wire.received
        return Response(
            head: head, body: body, url: hop.follower.url.text, redirects: hop.follower.redirects,
            metrics: metrics, retries: resends, isLengthUnverified: result.isLengthUnverified,
            marks: marks)
    }
}
