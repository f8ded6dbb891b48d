// Wherry: the HTTP cache part of the response cache.
// SPDX-License-Identifier: Apache-2.0

import WherryCache
import WherryHTTP
import WherryRequests
import WherrySystem
import WherryTransport

extension ResponseCache {
    /// The prefix of the ids of HTTP cache entries.
    private static let prefix = "http:"

    fileprivate static func httpID(_ place: String) -> String { prefix + place }

    /// Returns the place in the HTTP cache of an id. `nil` for ids of the timed cache.
    static func httpPlace(_ id: String) -> String? {
        id.hasPrefix(prefix) ? String(id.dropFirst(prefix.count)) : nil
    }

    /// Returns the stored response for a request if it can be used without the network.
    func response(
        to request: Request, _ policy: HTTPCachePolicy, _ settings: ClientSettings
    ) throws(WherryError) -> Response {
        guard let store = try client.caches.existingHTTP() else { throw TimedRefusal.missing.error }
        let isAnyAge = policy == .anyAge || policy == .anyAgeOnly
        let http = try caching(
            request, isAnyAge ? .anyAgeOnly : .byProtocol, store, settings)
        switch http.decide() {
        case .serve(let response), .serveAndRevalidate(let response, _):
            return Response(
                head: response.head, body: response.body, url: http.request.target.text,
                marks: response.marks)
        case .network, .gatewayTimeout, .miss:
            throw http.shown() == nil ? TimedRefusal.missing.error : TimedRefusal.expired.error
        }
    }

    private func caching(
        _ request: Request, _ policy: HTTPCachePolicy, _ store: HTTPCacheStore,
        _ settings: ClientSettings
    ) throws(WherryError) -> HTTPCaching {
        guard request.ownHost(settings) == nil else { throw TimedRefusal.missing.error }
        let options = settings.options.overridden(by: request.overrides)
        let method = request.effectiveMethod
        let url = try RequestPlanner.url(
            of: request, method: method, settings: settings, options: options)
        let headers = try RequestPlanner.fields(
            of: request, contentType: nil, hasBody: false, settings: settings,
            withholdsCredentials: false,
            lostBody: false, closes: options[.keepAlive] == 0)
        // Only the existence of a body matters here.
        let hasBody = if case .none = request.body { false } else { true }
        let asked = RequestPlanner.exchange(
            method: method, url: url, headers: headers, body: hasBody ? .bytes(Bytes()) : .none,
            settings: settings, options: options, deadline: .never)
        return HTTPCaching(
            asked, sent: settings.sentFields(of: asked), isGathered: !request.isStreamed,
            caching: request.caching ?? RequestCaching(),
            policy: policy, store: store, clock: client.transport.clock,
            cookies: options.cookieHandling.usesClientJar ? client.cookies.identity(for: url) : nil,
            isListed: true)
    }

    func response(at place: String) throws(WherryError) -> Response {
        guard let (url, stored) = try client.caches.existingHTTP()?.response(at: place) else {
            throw TimedRefusal.missing.error
        }
        let now = client.transport.clock.wallMilliseconds
        let response = CachedResponse(stored, form: .whole, now: now)
        return Response(head: response.head, body: response.body, url: url, marks: response.marks)
    }

    func httpEntries(
        _ url: String?, base: String?, _ now: Int64
    ) throws(WherryError) -> [Entry] {
        guard let store = try client.caches.existingHTTP() else { return [] }
        guard let url else { return store.list().map { Entry($0, now) } }
        guard let text = try target(url, base: base) else { return [] }
        return store.list(url: text).map { Entry($0, now) }
    }

    func clearHTTP(_ url: String?, base: String?) throws(WherryError) -> Int {
        guard let store = try client.caches.existingHTTP() else { return 0 }
        guard let url else { return store.clear() }
        guard let text = try target(url, base: base) else { return 0 }
        return text.utf8.contains(0x3F)
            ? store.removeAll(listed: text) : store.removeAll(path: text)
    }

    func removeHTTP(
        _ request: Request, _ settings: ClientSettings
    ) throws(WherryError) -> Bool {
        guard let store = try client.caches.existingHTTP() else { return false }
        let http = try caching(request, .byProtocol, store, settings)
        return store.removeAll(listed: http.request.url) > 0
    }

    /// Returns the text under which responses of a URL are stored. `nil` if the URL is invalid.
    private func target(_ url: String, base: String?) throws(WherryError) -> String? {
        let settings = client.settings
        let base = try settings.base(named: base)
        let target = try? RequestPlanner.target(url, base: base, options: settings.options)
        return target?.cacheText
    }
}

extension ResponseCache.Entry {
    fileprivate init(_ listed: HTTPCacheStore.Listed, _ now: Int64) {
        let stored = listed.response
        let remaining =
            stored.control.noCache
            ? 0 : max(0, Int64(0).subtractingSaturating(stored.freshness.staleness(at: now)))
        self.init(
            id: ResponseCache.httpID(listed.place), store: .http, identifier: "", method: "GET",
            url: listed.url, status: stored.status, bodyBytes: listed.bodyBytes,
            storedAt: Double(listed.storedAt) / 1000, remaining: .milliseconds(remaining))
    }
}
