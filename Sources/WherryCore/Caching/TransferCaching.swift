// Wherry: the caches of a transfer.
// SPDX-License-Identifier: Apache-2.0

import WherryCache
import WherryHTTP
import WherryRequests
import WherrySystem
import WherryTransport

/// The caches that a transfer reads or writes; other transfers have none.
package final class TransferCaching: Sendable {
    let policy: CachePolicy?
    /// The timed cache; `nil` if the request does not use that cache, or if it cannot be opened.
    let timed: TimedCaching?
    let writes: Bool
    /// The HTTP cache; `nil` if the request does not use that cache, or if it cannot be opened.
    private let http: HTTPCacheStore?
    /// Why the cache cannot be opened.
    let failure: WherryError?
    /// The cached body that was reported before the network request.
    let shown = Lock<Bytes?>(nil)

    init(
        policy: CachePolicy?, timed: TimedCaching?, writes: Bool, http: HTTPCacheStore?,
        failure: WherryError? = nil
    ) {
        self.policy = policy
        self.timed = timed
        self.writes = writes
        self.http = http
        self.failure = failure
    }

    /// Whether to look up the HTTP cache before each hop.
    var hasHTTP: Bool { http != nil || policy == .anyAgeOnly }

    /// Returns the HTTP cache state of a hop; `nil` if the hop does not use the cache.
    ///
    /// - Parameters:
    ///   - request: The request after the edits of hooks.
    ///   - asked: The complete request of the hop.
    ///   - identity: A cache key for the credentials if their header changes with each request;
    ///     `nil` uses the header.
    func http(
        for request: Request, _ asked: borrowing ExchangeRequest, _ settings: ClientSettings,
        _ client: Client, identity: String? = nil
    ) -> HTTPCaching? {
        let isOn = settings.options[.httpCache] == 1
        let policy = RequestCaching.httpPolicy(request.cachePolicy, isOn: isOn)
        // An unsafe request may invalidate stored responses, even if it does not use the cache.
        guard let http, policy != nil || !CacheRequest.isSafe(asked.method) else { return nil }
        // A hook may have set a `Host` header after the lookup.
        guard request.ownHost(settings) == nil else { return nil }
        let url = asked.url
        let usesCookies = settings.options.overridden(by: request.overrides).cookieHandling
            .usesClientJar
        return HTTPCaching(
            asked, sent: settings.sentFields(of: asked), isGathered: request.isGathered(settings),
            caching: request.caching ?? RequestCaching(),
            policy: policy, store: http, clock: client.transport.clock, identity: identity,
            cookies: usesCookies ? client.cookies.identity(for: url) : nil)
    }

    /// Whether to look up the timed cache before the network request, or in place of it.
    var reads: Bool {
        policy == .only || (timed != nil && (policy == .use || policy == .thenNetwork))
    }
}

extension Client {
    /// Returns the caches of a request; `nil` if it uses none.
    ///
    /// Without certificate checks nothing is stored or read, since such a response may come from
    /// anyone (SEC-C3). The same holds for a request with its own `Host` header (SEC-U11).
    func transferCaching(
        _ request: Request, method: String, settings: ClientSettings
    ) throws(WherryError) -> TransferCaching? {
        let isOn = settings.options[.httpCache] == 1
        guard request.caching != nil || isOn || caches.hasHTTP else { return nil }
        let caching = request.caching ?? RequestCaching()
        let wantsHTTP = RequestCaching.httpPolicy(caching.policy, isOn: isOn) != nil
        let wantsTimed = caching.reads || caching.writes
        let changes = (isOn || caches.hasHTTP) && !CacheRequest.isSafe(method)
        guard wantsHTTP || wantsTimed || changes else { return nil }
        var failure: WherryError?
        var timed: TimedCaching?
        var http: HTTPCacheStore?
        if settings.options[.insecure] == 0, !settings.values.trust.trustsAnybody,
            request.ownHost(settings) == nil
        {
            do {
                if wantsTimed, request.isGathered(settings),
                    TimedCaching.fits(request, settings.fields)
                {
                    timed = try timedCaching(request, caching, method: method, settings: settings)
                }
                if wantsHTTP || changes { http = try caches.http() }
            } catch {
                guard error.code == .file else { throw error }
                // The request continues without the cache; `cache.usage` reports the same error.
                note(.warning, .warned, [.everybody("Nothing is cached:\(error)")]) {
                    $0.reason = error.reason
                    $0.error = error
                }
                failure = error
            }
        }
        if timed == nil, http == nil, caching.policy != .only, caching.policy != .anyAgeOnly {
            return nil
        }
        return TransferCaching(
            policy: caching.policy, timed: timed, writes: caching.writes, http: http,
            failure: failure)
    }

    func timedCaching(
        _ request: Request, _ caching: RequestCaching, method: String, settings: ClientSettings
    ) throws(WherryError) -> TimedCaching {
        let request = request.ownForm
        var fields = settings.fields
        if settings.hasCredentials {
            // The credentials become a header later; the cache key must contain them (K19).
            fields.removeAll { Headers.areEqual($0.name, "Authorization") }
            fields.append(.init(name: "Authorization", value: settings.credentialsText))
        }
        let options = settings.options.overridden(by: request.overrides)
        let url = { @Sendable in
            try? RequestPlanner.url(
                of: request, method: method, settings: settings, options: options)
        }
        return try TimedCaching(
            request, caching, method: method, url: url,
            cookies: options.cookieHandling.usesClientJar ? cookies.identity(for: url()) : nil,
            base: baseText(named: request.base, settings),
            fields: fields, store: caches.timed(),
            appVersion: settings.values.texts[.appVersion] ?? "1")
    }

    /// Returns the base URL as the caller wrote it, for use in cache identifiers.
    func baseText(named name: String?, _ settings: ClientSettings) -> String? {
        guard let name else { return settings.values.texts[.baseURL] }
        return settings.values.bases[name]
    }
}

extension Request {
    /// Returns whether the response may be cached: as a whole, or as a copy of a streamed one if
    /// the request asks for that. A streamed response is not cached if a hook decides on the
    /// headers or on storing.
    func isGathered(_ settings: ClientSettings) -> Bool {
        !isStreamed
            || cachesStream
                && (hooks ?? settings.values.hooks).isDisjoint(with: [.headers, .store])
    }
}

extension RequestMachine.Caches {
    /// - Parameter caching: The caches of the transfer; `nil` if it uses none.
    init(_ caching: TransferCaching?) {
        self.init()
        guard let caching else { return }
        looksUp = caching.reads
        usesHTTP = caching.hasHTTP
        keeps = true
    }
}
