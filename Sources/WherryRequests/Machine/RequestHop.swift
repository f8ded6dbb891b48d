// Wherry: the current hop of a request.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherrySystem
import WherryTransport

/// The request of the current hop: its target, its body, and the edits of hooks. A value.
///
/// A hop begins with the first URL, the next base URL, or a redirect. A hop may need several
/// exchanges: for credentials, a new token, or retries.
package struct RequestHop: Sendable {
    /// A hop before a hook edited it. Every attempt starts from this request, so that an edit,
    /// such as a signature in the URL, is not applied twice.
    struct Unedited: Sendable {
        let request: Request
        let method: String
        let body: PreparedBody
        let isBodyLost: Bool
        /// Whether an edit replaced the body.
        var isBodyReplaced = false
    }

    /// A request from the hook before an attempt, with its target and its body.
    package struct Edit: Sendable {
        let request: Request
        /// The request before the edits of this and earlier attempts.
        let own: Request
        let method: String
        let url: HTTPURL
        /// The new body; `nil` to keep the previous one.
        package var body: PreparedBody?
        /// Whether ``body`` must be made.
        package let needsBody: Bool
        /// The options for the request's target and body.
        package let options: OptionTable
    }

    /// The request of a redirect, rewritten by a hook.
    package struct Rewrite: Sendable {
        package let request: Request
        /// The request before the rewrite.
        let offered: Request
        let hop: RedirectRules.Hop
        /// The new body; `nil` to keep the previous one, or for no body.
        package var body: PreparedBody?
        /// Whether ``body`` must be made.
        package let needsBody: Bool
        package let options: OptionTable
    }

    /// The request of the caller.
    let first: Request
    let settings: ClientSettings
    let options: OptionTable
    /// The request after the edits of hooks.
    private var edited: Request?
    private var unedited: Unedited?
    /// The target, and how the request got there.
    package var follower: AttemptFollower
    package var body: PreparedBody
    /// Whether the requested digests of the body are computed.
    var isDigested = false
    /// Whether a redirect removed the body.
    private var isBodyLost = false
    /// The origin that a body from a hook belongs to; `nil` without such a body.
    private var bodyOrigin: Origin?
    /// The headers that a hook added to a redirect's request, with the origin of its target.
    private var addedFields: RequestPlanner.AddedFields?
    /// Set if a redirect's request was rewritten for another origin than the first: that origin,
    /// and the previous request. A redirect to a further origin continues with the previous request.
    private var beforeRewrite: (origin: Origin, request: Request)?
    /// Whether a hook may have edited the request after the cache lookup: the response does not
    /// belong to the cache key that was looked up.
    package private(set) var isEditedLate = false
    /// Whether this hop had an exchange before.
    var hasLaunched = false
    /// The new token that replaces the client's original one.
    package var token: String?

    init(
        _ first: Request, method: String, url: HTTPURL, body: PreparedBody,
        settings: ClientSettings, options: OptionTable
    ) {
        self.first = first
        self.settings = settings
        self.options = options
        self.body = body
        follower = AttemptFollower(url, method: method)
    }

    /// The request with the edits of hooks.
    package var request: Request { edited ?? first }

    /// Whether a hook has edited an attempt of this hop.
    package var isEdited: Bool { unedited != nil }

    /// Whether the client's cookie jar applies.
    package var usesJar: Bool { options.cookieHandling != .off && request.ownHost(settings) == nil }

    // MARK: Exchanges

    /// Returns the headers of the next exchange.
    package func fields(
        authorization: String?, cookies: String?
    ) throws(WherryError) -> HeaderList {
        let hasBody = if case .none = body.body { false } else { true }
        var shown = request
        if let token, shown.bearerToken == nil { shown.bearerToken = token }
        return try RequestPlanner.fields(
            of: shown, contentType: body.contentType, hasBody: hasBody, settings: settings,
            extra: body.digest.map { [$0] } ?? [], coding: body.coding,
            authorization: authorization, cookies: cookies,
            mergesCookies: options.cookieHandling.merges,
            withholdsCredentials: follower.withholdsCredentials,
            withholdsHost: follower.url.origin != follower.origin, added: redirectFields,
            lostBody: isBodyLost, closes: options[.keepAlive] == 0)
    }

    /// The headers that a hook added for the origin of this hop.
    private var redirectFields: RequestPlanner.AddedFields? {
        addedFields?.origin == follower.url.origin ? addedFields : nil
    }

    /// Whether the hop sends the client's token, or would send it if the client had one.
    var isOfClientToken: Bool {
        let request = request
        return !follower.withholdsCredentials && follower.authentication?.credentials == nil
            && request.bearerToken == nil && request.credentials == nil
            && settings.values.credentials.isEmpty && !request.headers.contains("Authorization")
            && !settings.values.headers.contains("Authorization")
    }

    // MARK: The next base URL

    /// Continues with the request's next base URL. Returns `false` if there is none.
    mutating func fallBack() throws(WherryError) -> Bool {
        var next = unedited?.request ?? request
        guard next.bases.count > 1, !follower.isRedirected else { return false }
        forgetEdits()
        next.bases.removeFirst()
        let url = try RequestPlanner.url(
            of: next, method: follower.method, settings: settings, options: options)
        follower.retarget(url, method: follower.method, options: options)
        edited = next
        return true
    }

    /// Reverts the edits of earlier attempts at this hop.
    private mutating func forgetEdits() {
        guard let unedited else { return }
        edited = unedited.request
        follower.method = unedited.method
        restoreBody()
        self.unedited = nil
    }

    /// Restores a body that an edit replaced. The restored body was not sent in this hop.
    private mutating func restoreBody() {
        guard let before = unedited, before.isBodyReplaced else { return }
        body = before.body
        isBodyLost = before.isBodyLost
        isDigested = false
        unedited?.isBodyReplaced = false
    }

    // MARK: Edits before an attempt

    /// Returns the request of the next attempt, as the transfer keeps it and as the program sees
    /// it.
    package func preview() -> (own: Request, RequestPreview) {
        let own = unedited?.request ?? request
        let body = unedited?.isBodyReplaced == true ? unedited?.body : body
        let method = unedited?.method ?? follower.method
        let options = planning(own)
        var url = follower.url
        if unedited != nil {
            let planned = try? RequestPlanner.url(
                of: own, method: method, settings: settings, options: options)
            url = planned ?? url
        }
        let fields = RequestPlanner.previewFields(
            of: own, contentType: body?.contentType, settings: settings,
            withholdsCredentials: follower.withholdsCredentials, added: redirectFields,
            lostBody: isBodyLost)
        let preview = RequestPreview(
            own, method: method, url: url, headers: fields, settings: settings, options: options)
        return (own, preview)
    }

    /// Returns the options for planning a request. An edit may leave out the default parameters.
    private func planning(_ request: Request) -> OptionTable {
        var options = options
        options[.defaultParameters] =
            request.value(of: .defaultParameters) ?? Option.defaultParameters.defaultValue
        // The URL of a redirect already contains the parameters.
        if follower.isRedirected { options[.defaultParameters] = 0 }
        return options
    }

    /// Returns the edit that a request from the hook makes.
    ///
    /// - Parameters:
    ///   - own: The request before the edits of this and earlier attempts.
    ///   - isStreamed: Whether the caller writes the body, which is kept.
    package func edit(
        _ request: Request, from own: Request, isStreamed: Bool
    ) throws(WherryError) -> Edit {
        let method = request.effectiveMethod
        try RequestPlanner.check(method: method, body: request.body)
        let options = planning(request)
        let url = try RequestPlanner.url(
            of: request, method: method, settings: settings, options: options)
        // A body that a redirect keeps is already prepared.
        let keepsBody =
            isStreamed || request.hasImages
            || (follower.isRedirected && !request.body.replaces(own.body))
        return Edit(
            request: request, own: own, method: method, url: url, needsBody: !keepsBody,
            options: options)
    }

    /// Applies an edit.
    ///
    /// - Parameter isLate: Whether the cache lookup is done.
    mutating func apply(_ edit: Edit, isLate: Bool) {
        if isLate { isEditedLate = true }
        if unedited == nil {
            unedited = Unedited(
                request: edit.own, method: follower.method, body: body, isBodyLost: isBodyLost)
        }
        let isOther = !edit.request.hasSameCredentials(request)
        edited = edit.request
        follower.retarget(edit.url, method: edit.method, options: edit.options)
        if isOther { follower.changeCredentials(to: edit.request, settings) }
        guard let body = edit.body else { return restoreBody() }
        self.body = body
        isDigested = false
        isBodyLost = false
        unedited?.isBodyReplaced = true
    }

    // MARK: Redirects

    /// Returns how to handle a response by the redirect rules.
    package func step(after head: ResponseHead) -> RedirectRules.Step {
        guard RedirectRules.redirects(head.status) else { return .deliver }
        var body: AttemptFollower.Body?
        if case .none = self.body.body {
        } else {
            body = AttemptFollower.Body(isReplayable: self.body.isReplayable, origin: bodyOrigin)
        }
        return follower.step(after: head, body: body, options: options)
    }

    /// Returns the request for the target of a redirect, as the program sees it.
    func offered(for hop: RedirectRules.Hop) -> Request {
        Self.redirected(continuing(at: hop.url.origin), hop)
    }

    /// Returns the request to continue with at this origin, without changes made for another
    /// origin.
    private func continuing(at origin: Origin) -> Request {
        guard let beforeRewrite, beforeRewrite.origin != origin else { return request }
        var before = beforeRewrite.request
        before.body = request.body
        return before
    }

    /// Returns the rewrite that a request from the hook makes. The usual redirect rules apply.
    package func rewrite(
        _ request: Request, inPlaceOf offered: Request, _ hop: RedirectRules.Hop
    ) throws(WherryError) -> Rewrite {
        let method = request.effectiveMethod
        try RequestPlanner.check(method: method, body: request.body)
        var options = options
        // The URL of a redirect already contains the parameters.
        options[.defaultParameters] = 0
        let url = try RequestPlanner.url(
            of: request, method: method, settings: settings, options: options)
        // Parameters become a body with methods that do not put them into the query.
        let isOther =
            request.body.replaces(offered.body)
            || !(request.parameters.isEmpty || RequestPlanner.takesQuery(method))
        switch request.body {
        case .multipart where isOther, .stream where isOther:
            throw WherryError(
                .badValue,
                "The request after a redirect cannot have parts or a stream as its body. Use JSON, a form, bytes, or a file."
            )
        default: break
        }
        let isEmpty = if case .none = request.body { request.parameters.isEmpty } else { false }
        let rewritten = try RedirectRules.rewritten(
            to: url, method: method, keepsBody: hop.keepsBody && !isOther, from: follower.url,
            origin: follower.origin, bodyOrigin: bodyOrigin ?? follower.origin,
            mayCrossWithBody: options[.keepAuthAcrossHosts] == 1)
        return Rewrite(
            request: request, offered: offered, hop: rewritten, needsBody: isOther && !isEmpty,
            options: options)
    }

    /// Continues at the target of a redirect.
    ///
    /// - Parameter rewrite: The request from the hook; `nil` for the default.
    /// - Returns: Whether the body is one that was sent before.
    mutating func follow(
        _ hop: RedirectRules.Hop, as rewrite: Rewrite?, from head: ResponseHead, isAsked: Bool
    ) -> Bool {
        unedited = nil
        hasLaunched = false
        follower.follow(hop, from: head, options: options)
        let present = continuing(at: hop.url.origin)
        if let beforeRewrite, beforeRewrite.origin != hop.url.origin {
            (edited, self.beforeRewrite, addedFields) = (present, nil, nil)
        }
        if let rewrite {
            adopt(rewrite, before: present)
        } else if isAsked {
            edited = Self.redirected(present, hop)
        }
        if let body = rewrite?.body {
            self.body = body
            bodyOrigin = hop.url.origin
            isDigested = false
            isBodyLost = false
            return false
        }
        guard !hop.keepsBody else { return true }
        if case .none = body.body {} else { isBodyLost = true }
        body = PreparedBody()
        return false
    }

    /// Applies a rewrite after the redirect was followed.
    private mutating func adopt(_ rewrite: Rewrite, before: Request) {
        let (request, offered) = (rewrite.request, rewrite.offered)
        // The response no longer belongs to the cache key that was looked up.
        isEditedLate = true
        // Changes were made for this target, so no other origin may see them.
        let origin = follower.url.origin
        var added = RequestPlanner.AddedFields(for: origin)
        for field in request.headers.fields {
            guard let value = field.value, !offered.headers.values(field.name).contains(value)
            else { continue }
            added.add(field.name, value)
        }
        if let token = request.bearerToken, token != offered.bearerToken {
            added.add("Authorization", "Bearer \(token)")
        }
        addedFields = added
        if beforeRewrite == nil, origin != follower.origin { beforeRewrite = (origin, before) }
        if request.credentials != offered.credentials {
            follower.authentication = request.credentials.map { Authentication($0, at: origin) }
        } else if !request.hasSameCredentials(offered) {
            follower.changeCredentials(to: request, settings)
        }
        edited = request
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

extension Request {
    /// Returns whether both requests have the same credentials.
    fileprivate func hasSameCredentials(_ other: Request) -> Bool {
        credentials == other.credentials && bearerToken == other.bearerToken
            && headers.values("Authorization") == other.headers.values("Authorization")
    }
}
