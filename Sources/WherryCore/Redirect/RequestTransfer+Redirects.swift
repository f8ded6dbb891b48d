// Wherry: redirects: following, callbacks, rewriting.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherryRequests
import WherrySystem
import WherryTransport

extension RequestTransfer.State {
    /// The headers that a callback added for the origin of the current hop.
    var redirectFields: RequestPlanner.AddedFields? {
        addedFields?.origin == follower.url.origin ? addedFields : nil
    }

    /// Returns the request to continue with at this origin, without changes made for another
    /// origin.
    func continuing(at origin: Origin, _ first: Request) -> Request {
        let present = edited ?? first
        guard let beforeRewrite, beforeRewrite.origin != origin else { return present }
        var before = beforeRewrite.request
        before.body = present.body
        return before
    }
}

extension RequestTransfer {
    /// The request of a redirect, rewritten by a callback.
    struct Rewriting {
        let request: Request
        /// The request before the rewrite.
        let offered: Request
        /// The new body; `nil` to keep the previous one, or for no body.
        let body: PreparedBody?
    }

    /// Asks the program whether to follow a redirect, and with which request (R19).
    func ask(
        about hop: RedirectRules.Hop, _ head: ResponseHead, _ result: ExchangeResult,
        _ marks: Response.CacheMarks
    ) {
        let next = hops.withLock { Self.redirected($0.continuing(at: hop.url.origin, request), hop) }
        put(.redirect(response(head, result.body, result, marks), next)) { [self] answer in
            switch answer {
            case .follow(false):
                deferHeaders()
                if let error = result.error {
                    fail(error, result)
                } else {
                    judge(head, result, marks)
                }
            case .adapted(let edited) where !edited.isUnchanged(from: next):
                resume { self.follow(edited, inPlaceOf: next, hop, from: head, result.metrics) }
            case .refuse(let message): refuse(message)
            case .standard, .adapted, .follow, .credentials, .store, .again, .save, .token, .next,
                .stop, .fail:
                resume { self.follow(hop, from: head, result.metrics) }
            }
        }
    }

    /// Follows a redirect with the rewritten request. The usual redirect rules apply.
    private func follow(
        _ edited: Request, inPlaceOf next: Request, _ hop: RedirectRules.Hop,
        from head: ResponseHead, _ metrics: ExchangeMetrics
    ) {
        do throws(WherryError) {
            let method = edited.effectiveMethod
            try RequestPlanner.check(method: method, body: edited.body)
            var options = options
            // The URL of a redirect already contains the parameters.
            options[.defaultParameters] = 0
            let url = try RequestPlanner.url(
                of: edited, method: method, settings: settings, options: options)
            // Parameters become a body with methods that do not put them into the query.
            let isOther = edited.body.replaces(next.body)
                || !(edited.parameters.isEmpty || RequestPlanner.takesQuery(method))
            let body = isOther ? try otherBody(of: edited, method, options) : nil
            let (from, origin, owner) = hops.withLock {
                ($0.follower.url, $0.follower.origin, $0.bodyOrigin ?? $0.follower.origin)
            }
            let rewritten = try RedirectRules.rewritten(
                to: url, method: method, keepsBody: hop.keepsBody && !isOther, from: from,
                origin: origin, bodyOrigin: owner, mayCrossWithBody: options[.keepAuthAcrossHosts] == 1)
            note(.debug, .adapted, [.everybody("Rewritten redirect:\(shortDescription)")])
            follow(
                rewritten, as: Rewriting(request: edited, offered: next, body: body), from: head,
                metrics)
        } catch {
            end(TransferOutcome(error: error))
        }
    }

    /// Returns the new body of a rewritten request.
    private func otherBody(
        of edited: Request, _ method: String, _ options: OptionTable
    ) throws(WherryError) -> PreparedBody? {
        switch edited.body {
        case .none where edited.parameters.isEmpty: return nil
        case .multipart, .stream:
            throw WherryError(
                .badValue,
                "The request after a redirect cannot have parts or a stream as its body. Use JSON, a form, bytes, or a file."
            )
        case .none, .json, .form, .bytes, .file:
            return try UploadEngine.body(
                of: edited, method: method, settings: settings, options: options,
                workers: client.workers)
        }
    }

    /// Continues with the next hop.
    ///
    /// - Parameter rewritten: The request from the callback; `nil` for the default.
    func follow(
        _ hop: RedirectRules.Hop, as rewritten: Rewriting? = nil,
        from head: ResponseHead, _ metrics: ExchangeMetrics
    ) {
        let (old, origin) = hops.withLock { ($0.follower.url.text, $0.follower.url.origin) }
        let canReplay = hops.withLock { state -> Bool in
            state.wire.sent += metrics.sent
            state.wire.received += metrics.received
            state.fallbackCache = nil
            state.unedited = nil
            state.hasLaunchedHop = false
            state.follower.follow(hop, from: head, options: options)
            let present = state.continuing(at: hop.url.origin, request)
            if let earlier = state.beforeRewrite, earlier.origin != hop.url.origin {
                (state.edited, state.beforeRewrite, state.addedFields) = (present, nil, nil)
            }
            if let rewritten {
                adopt(rewritten, present, &state)
            } else if decisions.contains(.adapt) {
                state.edited = Self.redirected(present, hop)
            }
            if let body = rewritten?.body {
                state.body = body
                state.bodyOrigin = hop.url.origin
                state.isDigested = false
                state.lostBody = false
                return true
            }
            guard hop.keepsBody else {
                if case .none = state.body.body {} else { state.lostBody = true }
                state.body = PreparedBody()
                return true
            }
            if case .source(let source) = state.body.body { return source.rewind() }
            return true
        }
        noteRedirect(from: old, status: head.status, to: hop.url.text, isCounted: origin)
        guard canReplay else {
            return end(
                TransferOutcome(
                    error: WherryError(
                        .redirectRefused,
                        "Could not follow the redirect: the request body cannot be sent again. Use bytes or a file."
                    )))
        }
        if decisions.contains(.adapt) { ask() } else { send(wake: .now) }
    }

    /// Applies a rewritten request; the state already contains the hop.
    ///
    /// - Parameter before: The request before the rewrite.
    private func adopt(_ rewritten: Rewriting, _ before: Request, _ state: inout State) {
        let (edited, offered) = (rewritten.request, rewritten.offered)
        // The response no longer belongs to the cache key that was looked up.
        state.isEditedLate = true
        // Changes were made for this target, so no other origin may see them.
        var added = RequestPlanner.AddedFields(for: state.follower.url.origin)
        for field in edited.headers.fields {
            guard let value = field.value, !offered.headers.values(field.name).contains(value) else {
                continue
            }
            added.add(field.name, value)
        }
        if let token = edited.bearerToken, token != offered.bearerToken {
            added.add("Authorization", "Bearer \(token)")
        }
        state.addedFields = added
        if state.beforeRewrite == nil, added.origin != state.follower.origin { state.beforeRewrite = (added.origin, before) }
        if edited.credentials != offered.credentials {
            let origin = state.follower.url.origin
            state.follower.authentication = edited.credentials.map { Authentication($0, at: origin) }
        } else if !edited.hasSameCredentials(offered) {
            state.follower.changeCredentials(to: edited, settings)
        }
        state.edited = edited
    }

    /// Returns the request for the target of a redirect, to be shown and edited. The parameters
    /// went into the first URL or body.
    private static func redirected(_ request: Request, _ hop: RedirectRules.Hop) -> Request {
        var request = request
        request.url = hop.url.text
        request.base = nil
        request.method = hop.method
        request.query = []
        request.parameters = [:]
        if !hop.keepsBody { request.body = .none }
        return request
    }
}
