// Wherry: the stored responses of a client.
// SPDX-License-Identifier: Apache-2.0

import WherryCache
import WherryDownloads
import WherryHTTP
import WherryRequests
import WherrySystem
import WherryTransport

/// The stores of a client. The raw values are those of `WHERRY_STORE_TIMED` and similar constants.
public struct CacheStores: OptionSet, Sendable, Hashable {
    /// The stores as bits: 1 for the timed cache, 2 for the HTTP cache, 4 for partial downloads.
    public let rawValue: UInt32
    /// Creates a set from bits. Unknown bits have no effect.
    @inlinable public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The timed cache.
    public static let timed = CacheStores(rawValue: 1)
    /// The HTTP cache.
    public static let http = CacheStores(rawValue: 2)
    /// The partial files of unfinished downloads in the client's download directories.
    public static let partials = CacheStores(rawValue: 4)
    /// Both caches.
    public static let responses: CacheStores = [.timed, .http]
    /// All stores.
    public static let all: CacheStores = [.responses, .partials]
}

/// Lists, reads, and clears the stored responses of a client: `client.cache`.
///
/// No call uses the network. Pass a URL as written in the request, or an ``Entry/url``. Every call
/// may wait for the disk. If the storage directory cannot be used, the call throws `bad_storage` or
/// the file system's error.
public struct ResponseCache: Sendable {
    package let client: Client

    /// A stored response.
    public struct Entry: Sendable, Hashable {
        /// The key of this entry, for `ResponseCache.response(of:)` and `ResponseCache.remove(_:)`.
        public var id: String
        /// The cache that contains the entry: `.timed` or `.http`.
        public var store: CacheStores
        /// SJNetwork's identifier of the request (K3); "" in the HTTP cache.
        public var identifier: String
        /// The method of the request.
        public var method: String
        /// The absolute URL of the request. Digests such as `token=***3f0c...` replace secret
        /// values in its query. This form also finds the entry in
        /// ``ResponseCache/entries(_:base:method:stores:)-8wr2n`` and
        /// ``ResponseCache/clear(_:base:method:stores:)-1agkv``.
        public var url: String
        /// The HTTP status.
        public var status: Int
        /// The size of the body in bytes.
        public var bodyBytes: Int64
        /// The time of storing, in seconds since 1970.
        public var storedAt: Double
        /// The time until the entry expires. Zero if the HTTP cache would revalidate it.
        public var remaining: Duration
    }

    /// The size of the stored data (K10).
    public struct Usage: Sendable, Hashable {
        /// The number of stored responses.
        public var entries = 0
        /// The size of their files in bytes.
        public var entryBytes: Int64 = 0
        /// The number of unfinished downloads in the client's download directories.
        public var partials = 0
        /// The size of their partial files in bytes.
        public var partialBytes: Int64 = 0
        /// The size of the responses that are also in memory, in bytes.
        public var memoryBytes: Int64 = 0

        /// Creates an empty usage.
        public init() {}

        /// The size on disk in readable form: "1023.9990 KB", "1.2385 MB".
        public var text: String {
            ByteCount.text(entryBytes.addingSaturating(partialBytes))
        }
    }

    // MARK: Reading

    /// Returns the stored response for a request, like ``/WherryCache/CachePolicy/only`` (K8, K11). If the timed
    /// cache has none, and the request or the client uses the HTTP cache, returns the response of
    /// the HTTP cache.
    ///
    /// - Throws: `cacheMiss` with the reason. An expired entry of the timed cache is deleted.
    public func response(to request: Request) throws(WherryError) -> Response {
        do throws(WherryError) {
            let response = try read(request)
            noteRead(response, nil, request.effectiveMethod)
            return response
        } catch {
            noteRead(nil, error, request.effectiveMethod, url: request.url)
            throw error
        }
    }

    /// Logs the result of a read outside of a transfer.
    private func noteRead(
        _ response: Response?, _ error: WherryError?, _ method: String, url: String = ""
    ) {
        let text =
            if let response {
                "Load cache succeed:\(response.body.count) bytes"
            } else {
                "Load cache failed: \(error?.message ?? "")"
            }
        client.note(.debug, response == nil ? .missed : .hit, [.everybody(text)]) { record in
            record.method = method
            record.url = HTTPURL.redacted(response?.url ?? url)
            record.status = response?.status ?? 0
            record.reason = error?.reason
        }
    }

    private func read(_ request: Request) throws(WherryError) -> Response {
        let settings = client.settings
        let http = RequestCaching.httpPolicy(
            request.cachePolicy, isOn: settings.options[.httpCache] == 1)
        if let http, (request.cachePolicy?.rawValue ?? 0) >= CachePolicy.protocol.rawValue {
            return try response(to: request, http, settings)
        }
        switch try timed(request, settings) {
        case .success(let entry):
            let url = try RequestPlanner.url(
                of: request, method: request.effectiveMethod, settings: settings,
                options: settings.options.overridden(by: request.overrides))
            return Self.response(entry, url: url.text)
        case .failure(let refusal):
            guard let http else { throw refusal.error }
            return try response(to: request, http, settings)
        }
    }

    /// Returns the stored responses: all, those of a URL, or those of a URL and a method (K8).
    /// Expired entries of the timed cache are deleted and not listed. Stale entries of the HTTP
    /// cache are listed, since they can be validated.
    ///
    /// - Parameters:
    ///   - url: The URL. `nil` for all.
    ///   - base: The name of the base URL of the requests. `nil` for the unnamed one.
    ///   - method: The method. `nil` for any. The HTTP cache contains only GET responses.
    ///   - stores: The caches to list. Default: both.
    public func entries(
        _ url: String? = nil, base: String? = nil, method: String? = nil,
        stores: CacheStores = .responses
    ) throws(WherryError) -> [Entry] {
        var entries: [Entry] = []
        let now = client.transport.clock.wallMilliseconds
        if stores.contains(.timed), let store = try client.caches.existingTimed() {
            let version = appVersion
            let places: [(base: String?, url: String)?] =
                if let url { try self.places(url, base: base) } else { [nil] }
            var found = places.flatMap {
                store.list($0, method: method, now: now, appVersion: version)
            }
            if let url, found.isEmpty {
                found = store.list(listed: url, method: method, now: now, appVersion: version)
            }
            entries += found.map { Entry($0, now) }
        }
        if stores.contains(.http), method == nil || method == "GET" {
            entries += try httpEntries(url, base: base, now)
        }
        return entries
    }

    /// Returns the response of a listed entry.
    ///
    /// - Throws: `missing` if the entry is gone, or has expired in the timed cache.
    public func response(of entry: Entry) throws(WherryError) -> Response {
        try response(id: entry.id)
    }

    package func response(id: String) throws(WherryError) -> Response {
        do throws(WherryError) {
            let response = try read(id: id)
            noteRead(response, nil, "")
            return response
        } catch {
            noteRead(nil, error, "")
            throw error
        }
    }

    private func read(id: String) throws(WherryError) -> Response {
        if let place = Self.httpPlace(id) { return try response(at: place) }
        let now = client.transport.clock.wallMilliseconds
        guard
            let entry = try client.caches.existingTimed()?.entry(
                at: id, now: now, appVersion: appVersion)
        else { throw TimedRefusal.missing.error }
        return Self.response(entry, url: entry.url)
    }

    // MARK: Writing

    /// Stores a response that the program provides, with status 200.
    ///
    /// - Parameter duration: How long the response is valid. Zero or less fails with `bad_value`.
    public func store(
        _ body: Bytes, contentType: String? = nil, for request: Request, duration: Duration
    ) throws(WherryError) {
        guard duration.cutMilliseconds > 0 else {
            throw WherryError(
                .badValue,
                "Could not store the response: the duration is less than one millisecond. Use a longer one."
            )
        }
        if let contentType,
            let violation = FieldRules.violation(
                value: contentType, of: "the content type")
        {
            throw WherryError(.badHeader, violation.message)
        }
        var request = request
        request.cacheDuration = duration
        let caching = try caching(request, client.settings)
        let block = contentType.map { "Content-Type: \($0)\n" } ?? ""
        let head = ResponseHead(status: 200, block: Bytes(block))
        guard caching.write(head: head, body: body, client.transport.clock) else {
            throw WherryError(
                .io,
                "Could not store the response: the cache has no room for it, or writing to the disk failed. Check the size limit and the free space."
            )
        }
    }

    /// Deletes stored responses: all, those of a URL, or those of a URL and a method (K9).
    ///
    /// - Parameters:
    ///   - url: The URL. `nil` for all. In the HTTP cache, a URL without a query matches all
    ///     queries.
    ///   - base: The name of the base URL of the requests. `nil` for the unnamed one.
    ///   - method: The method. `nil` for any. Partial files have no method, and are kept if a
    ///     method is given. Entries of the HTTP cache are for GET.
    ///   - stores: The stores to clear. Default: both caches, but not partial downloads.
    /// - Returns: The number of deleted entries.
    @discardableResult
    public func clear(
        _ url: String? = nil, base: String? = nil, method: String? = nil,
        stores: CacheStores = .responses
    ) throws(WherryError) -> Int {
        if url == nil, method == nil { return try clearAll(stores) }
        var count = 0
        if stores.contains(.timed), let store = try client.caches.existingTimed() {
            if let url {
                count = try places(url, base: base).reduce(0) {
                    $0 + store.removeAll(base: $1.base, url: $1.url, method: method)
                }
                if count == 0 {
                    let now = client.transport.clock.wallMilliseconds
                    for listed in store.list(
                        listed: url, method: method, now: now, appVersion: appVersion)
                    where store.remove(at: listed.place) { count += 1 }
                }
            } else if let method {
                count = store.removeAll(method: method)
            }
        }
        if stores.contains(.http), method == nil || method == "GET" {
            count += try clearHTTP(url, base: base)
        }
        if stores.contains(.partials), method == nil, let url {
            let settings = client.settings
            count += client.discardPartials(
                url, base: try settings.base(named: base), settings, apartFrom: [],
                in: partialDirectories)
        }
        return count
    }

    /// Deletes everything, as far as the disk allows. A cache that cannot be opened, for example
    /// because the disk is full, is still emptied. A missing cache counts as empty.
    private func clearAll(_ stores: CacheStores) throws(WherryError) -> Int {
        var count = 0
        var failure: WherryError?
        func clear(
            _ store: CacheStores, _ body: () throws(WherryError) -> Int?
        ) {
            guard stores.contains(store) else { return }
            do throws(WherryError) {
                count += try body() ?? 0
            } catch {
                if let cleared = client.caches.clearUnopened(store) {
                    count += cleared
                } else {
                    failure = error
                }
            }
        }
        clear(.timed) { () throws(WherryError) in try client.caches.existingTimed()?.clear() }
        clear(.http) { () throws(WherryError) in try client.caches.existingHTTP()?.clear() }
        if let failure { throw failure }
        if stores.contains(.partials) {
            for partial in partials where !partial.isRunning {
                count += (try? PartialDownload.discard(partial.partialPath)) ?? 0
            }
        }
        return count
    }

    /// Deletes the stored response for a request (K9): the entry of the timed cache, and all
    /// entries of the HTTP cache for the URL with exactly this query.
    ///
    /// - Returns: Whether there was one.
    @discardableResult
    public func remove(_ request: Request) throws(WherryError) -> Bool {
        let settings = client.settings
        try checkFits(request, settings)
        var wasTimed = false
        if try client.caches.existingTimed() != nil {
            wasTimed = try caching(request, settings).remove()
        }
        return try removeHTTP(request, settings) || wasTimed
    }

    /// Deletes a listed entry (K9).
    ///
    /// - Returns: Whether the entry existed.
    @discardableResult
    public func remove(_ entry: Entry) throws(WherryError) -> Bool {
        try remove(id: entry.id)
    }

    package func remove(id: String) throws(WherryError) -> Bool {
        if let place = Self.httpPlace(id) {
            return try client.caches.existingHTTP()?.remove(at: place) ?? false
        }
        return try client.caches.existingTimed()?.remove(at: id) ?? false
    }

    /// Returns the size of the stored data.
    public func usage() throws(WherryError) -> Usage {
        var usage = Usage()
        if let timed = try client.caches.existingTimed()?.entries.usage() {
            (usage.entries, usage.entryBytes) = timed
        }
        if let http = try client.caches.existingHTTP()?.usage() {
            usage.entries += http.count
            usage.entryBytes = usage.entryBytes.addingSaturating(http.bytes)
        }
        for partial in partials {
            usage.partials += 1
            usage.partialBytes = usage.partialBytes.addingSaturating(partial.bytes)
        }
        usage.memoryBytes = Int64(client.caches.memoryBytes)
        return usage
    }

    // MARK: Helpers

    private var appVersion: String { client.settings.values.texts[.appVersion] ?? "1" }

    /// The download directories of this client and of earlier processes with the same storage
    /// folder.
    private var partialDirectories: [String] {
        let known = client.partialFolders.directories
        return known + client.downloads.directories.filter { !known.contains($0) }
    }

    private var partials: [PartialDownload] {
        partialDirectories.flatMap { (try? PartialDownload.list(in: $0)) ?? [] }
    }

    /// Returns the keys under which responses of a URL may be stored: with its base URL, and
    /// without one for requests that ignore it.
    private func places(
        _ url: String, base: String?
    ) throws(WherryError) -> [(base: String?, url: String)] {
        let settings = client.settings
        guard let whole = try settings.base(named: base)?.text,
            let text = client.baseText(named: base, settings)
        else { return [(nil, url)] }
        // The listed URL of a request that gave only the part after the base URL.
        let rest = url.hasPrefix(whole) ? [(text, String(url.dropFirst(whole.count)))] : []
        return [(text, url), (nil, url)] + rest
    }

    /// Returns the timed cache's entry for a request. Creates no store.
    private func timed(
        _ request: Request, _ settings: ClientSettings
    ) throws(WherryError) -> Result<TimedEntry, TimedRefusal> {
        try checkFits(request, settings)
        guard try client.caches.existingTimed() != nil else { return .failure(.missing) }
        return try caching(request, settings).read(client.transport.clock)
    }

    private func checkFits(_ request: Request, _ settings: ClientSettings) throws(WherryError) {
        _ = try settings.base(named: request.base)
        guard !request.isStreamed, TimedCaching.fits(request, settings.fields) else {
            throw WherryError(
                .badArgument,
                "The response to this request is never stored: the request has a Range or Host header, or a body that is streamed or has parts. Remove it to use the cache."
            )
        }
    }

    private func caching(
        _ request: Request, _ settings: ClientSettings
    ) throws(WherryError) -> TimedCaching {
        try checkFits(request, settings)
        return try client.timedCaching(
            request, request.caching ?? RequestCaching(), method: request.effectiveMethod,
            settings: settings)
    }

    private static func response(_ entry: TimedEntry, url: String) -> Response {
        Response(head: entry.head, body: entry.body, url: url, marks: .stored)
    }
}

extension ResponseCache.Entry {
    fileprivate init(_ listed: TimedCacheStore.Listed, _ now: Int64) {
        let entry = listed.entry
        self.init(
            id: listed.place, store: .timed, identifier: entry.identifier, method: entry.method,
            url: entry.url,
            status: entry.status, bodyBytes: listed.bodyBytes,
            storedAt: Double(entry.storedAt) / 1000,
            remaining: .milliseconds(entry.remaining(at: now)))
    }
}

extension Client {
    /// The stored responses of this client.
    public var cache: ResponseCache { ResponseCache(client: self) }
}
