// Wherry: the hooks of the program about a request.
// SPDX-License-Identifier: Apache-2.0

import WherryDownloads
import WherryHTTP
import WherryRequests
import WherrySystem
import WherryTransport

extension RequestTransfer {
    /// Calls a hook of the program, and passes the result to the machine. On timeout or cancel, the
    /// default applies.
    func callHook(_ hook: RequestHook) {
        switch hook {
        case .edit: callEditHook()
        case .redirect(let response, let next, let hop):
            call(.redirect(response, next)) { [self] resolution in
                switch resolution {
                case .follow(let follows): feed(.followed(follows))
                case .adapted(let edited) where !edited.isUnchanged(from: next):
                    rewrite(edited, inPlaceOf: next, hop)
                default: feedCommon(resolution)
                }
            }
        case .credentials(let response, let challenge, let before):
            let scheme: Credentials.Scheme = challenge.scheme == "digest" ? .digest : .basic
            let kind = HookCall.Kind.credentials(
                response, realm: challenge.realm, scheme, before: before)
            call(kind) { [self] resolution in
                guard case .credentials(let credentials) = resolution else {
                    return feedCommon(resolution)
                }
                use(credentials, for: response.head)
            }
        case .headers(let response): callHeadersHook(for: response, hasBody: false)
        case .retry(let error, let retries):
            call(.retry(error, retries: retries)) { [self] resolution in
                switch resolution {
                case .again(false, _): feed(.delay(nil))
                case .again(true, let wait):
                    feed(.delay(wait ?? requestedDelay(error, retries)))
                default: feedCommon(resolution)
                }
            }
        case .store(let response):
            call(.store(response)) { [self] resolution in
                client.workers.submit { [self] in
                    guard case .store(let isWanted, let names) = resolution else {
                        return feedCommon(resolution)
                    }
                    feed(.stores(isWanted, without: names))
                }
            }
        case .token(let response):
            call(.token(response)) { [self] resolution in feed(token(resolution)) }
        }
    }

    /// Passes a resolution to the machine that every hook may have: a refusal, or the default.
    private func feedCommon(_ resolution: HookCall.Resolution) {
        if case .refuse(let message) = resolution { return feed(.refused(message)) }
        feed(.standard)
    }

    private func call(
        _ kind: HookCall.Kind, _ handler: @escaping @Sendable (HookCall.Resolution) -> Void
    ) {
        become(.waiting, quiet: true)
        let call = HookCall(kind) { [self] resolution in
            work.withLock { $0.hookCall = nil }
            handler(resolution)
        }
        let isCancelled = work.withLock { work in
            work.hookCall = WeakHookCall(call: call)
            return work.machine.isCancelled
        }
        // The cancel came before the call was registered.
        if isCancelled { return call.expire() }
        let time = client.transport.clock.now().advanced(
            by: .milliseconds(options[.hookTimeout]))
        client.transport.schedule(at: time) { [weak call] in call?.expire() }
        emit(.hook(call))
    }

    // MARK: Edits

    /// Passes the request of the next attempt to the program.
    private func callEditHook() {
        let (made, isEdited) = work.withLock { ($0.machine.hop.preview(), $0.machine.hop.isEdited) }
        let (own, preview) = made
        call(.adapt(preview.request)) { [self] resolution in
            switch resolution {
            case .adapted(let request):
                note(.debug, .adapted, [.everybody("Adapted request:\(shortDescription)")])
                edit(request.ownForm, from: own)
            case .refuse: feedCommon(resolution)
            // An earlier attempt may have been edited.
            default: if isEdited { edit(own, from: own) } else { feed(.standard) }
            }
        }
    }

    /// Applies an edited request.
    ///
    /// - Parameter own: The request before the edits of this and earlier attempts.
    private func edit(_ edited: Request, from own: Request) {
        guard !isCancelled else { return feed(.standard) }
        do throws(WherryError) {
            let isStreamed = stream != nil
            var (edit, isLate) = try work.withLock { work throws(WherryError) in
                let machine = work.machine
                return (
                    try machine.hop.edit(edited, from: own, isStreamed: isStreamed),
                    machine.hasLookedUp
                )
            }
            if edit.needsBody { edit.body = try body(of: edited, edit.options) }
            if !isLate, caching != nil || edited.caching != nil {
                let used = try client.transferCaching(
                    edited, method: edited.effectiveMethod, settings: settings)
                caching = used
                work.withLock { $0.machine.caches = RequestMachine.Caches(used) }
            }
            feed(.edited(edit))
        } catch {
            feed(.failed(error))
        }
    }

    /// Follows a redirect with the rewritten request.
    private func rewrite(
        _ edited: Request, inPlaceOf offered: Request, _ hop: RedirectRules.Hop
    ) {
        guard !isCancelled else { return feed(.standard) }
        do throws(WherryError) {
            var rewrite = try work.withLock { work throws(WherryError) in
                try work.machine.hop.rewrite(edited, inPlaceOf: offered, hop)
            }
            if rewrite.needsBody { rewrite.body = try body(of: edited, rewrite.options) }
            note(.debug, .adapted, [.everybody("Rewritten redirect:\(shortDescription)")])
            feed(.rewritten(rewrite))
        } catch {
            feed(.failed(error))
        }
    }

    private func body(
        of edited: Request, _ options: OptionTable
    ) throws(WherryError) -> PreparedBody {
        try UploadEngine.body(
            of: edited, method: edited.effectiveMethod, settings: settings, options: options,
            workers: client.workers)
    }

    // MARK: Credentials

    private func use(_ credentials: Credentials, for head: ResponseHead) {
        do {
            try credentials.check()
        } catch {
            return feed(.failed(error))
        }
        let fits = work.withLock { work in
            work.machine.hop.follower.authentication?.use(
                credentials, for: head, memory: client.auth) ?? false
        }
        // Credentials that do not fit this challenge change nothing.
        feed(.authenticated(fits))
    }

    /// Takes the program's new token, and resumes the other requests that wait for it.
    private func token(_ resolution: HookCall.Resolution) -> RequestEvent {
        switch resolution {
        case .token(let token?):
            var failure: WherryError?
            client.tokens.settle {
                do throws(WherryError) {
                    try client.set(.bearerToken, token)
                    return token
                } catch {
                    failure = error
                    return nil
                }
            }
            return failure.map { .failed($0) } ?? .tokenSupplied(token)
        case .refuse(let message):
            client.tokens.settle { nil }
            return .refused(message)
        default:
            if isCancelled { client.tokens.handOver() } else { client.tokens.settle { nil } }
            return .standard
        }
    }

    // MARK: Response headers

    /// Asks the program what to do with a response whose headers have arrived. The body waits for the
    /// result.
    func callHeadersHook(for head: ResponseHead) {
        let hasBody = method != "HEAD" && head.status != 204 && head.status != 304
        let response = work.withLock { $0.machine.response(head, Bytes(), ExchangeResult()) }
        callHeadersHook(for: response, hasBody: hasBody)
    }

    private func callHeadersHook(for response: Response, hasBody: Bool) {
        let (url, shown) = work.withLock { ($0.machine.hop.follower.url, $0.machine.hop.request) }
        let place = BodyPlace(
            response, hasBody: hasBody, url: url, request: shown, options: options,
            now: Int64(client.transport.clock.wallSeconds()))
        call(.headers(response, place)) { [self] resolution in
            var event = HeadersResolution.proceed
            switch resolution {
            case .refuse(let message):
                event = .end(RequestMachine.rejected(response, WherryError(.refused, message)))
            case .fail(let error): event = .end(RequestMachine.rejected(response, error))
            case .save(let target)
            where ResponseRules.accepts(response.status, request: request, options: options):
                let file = BodyFile(place, target, on: client.workers)
                work.withLock { $0.file = file }
                event = .save
            default: break
            }
            feed(.headersResolved(event, response.head))
        }
    }

    /// Completes or removes the file of the body.
    func closeFile(_ action: RequestAction) {
        let file = work.withLock { work in
            defer { work.file = nil }
            return work.file
        }
        guard let file else {
            return feed(.failed(WherryError(.internal, "There is no body file")))
        }
        switch action {
        case .abandon: file.abandon { [self] failure in feed(.abandoned(failure)) }
        case .publish(let length): file.publish(length: length) { [self] in feed(.published($0)) }
        case .save(let response):
            file.open {}
            file.write(whole: response.body)
            file.publish(length: Int64(response.body.count)) { [self] in feed(.published($0)) }
        default: break
        }
    }
}
