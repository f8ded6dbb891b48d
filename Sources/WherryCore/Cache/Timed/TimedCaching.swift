// Wherry: one request's dealings with the timed cache.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// What a request reads from the timed cache and writes to it. Its calls may block for the disk.
package struct TimedCaching: Sendable {
    package let key: TimedKey
    private let store: TimedCacheStore
    /// The URL with its query, for lists.
    private let url: @Sendable () -> HTTPURL?
    private let appVersion: String
    private let caching: RequestCaching
    /// The store's, when the request began.
    private let beginning: Int64

    /// - Parameters:
    ///   - base: the base URL at the time of the call, as the caller wrote it.
    ///   - url: the URL as it is sent, for lists; `nil` for one that is none.
    ///   - cookies: those that the program gave to the cookie jar for this URL.
    ///   - fields: the client's, under the request's own.
    package init(
        _ request: Request, _ caching: RequestCaching, method: String,
        url: @escaping @Sendable () -> HTTPURL? = { nil }, cookies: String? = nil, base: String?,
        fields: [Headers.Field], store: TimedCacheStore, appVersion: String
    ) throws(WherryError) {
        do {
            key = try TimedKey(
                base: request.ignoresBase ? nil : base, url: request.url, method: method,
                parameters: request.countedParameters.map { .object($0) },
                varying: Self.varying(request, caching, fields),
                sensitive: Self.content(of: request, caching.ignored) ?? "", partition: Self.partition(caching, cookies))
        } catch {
            throw WherryError(.badParameters, error.message)
        }
        self.store = store
        self.url = url
        beginning = store.entries.clearings
        self.appVersion = appVersion
        self.caching = caching
    }

    private static func partition(_ caching: RequestCaching, _ cookies: String?) -> String {
        guard let cookies else { return caching.partition }
        return "\(caching.partition)\u{0}cookies:\(cookies)"
    }

    /// Whether the cache may store the response to a request (K7). It stores no partial response, no
    /// response to a body that is unknown beforehand, and none to a `Host` header of the caller's.
    ///
    /// - Parameter fields: the client's headers, which the request's own replace.
    package static func fits(_ request: Request, _ fields: [Headers.Field]) -> Bool {
        if !values("Range", of: request, fields).isEmpty { return false }
        if !values("Host", of: request, fields).isEmpty { return false }
        switch request.body {
        case .none, .form, .json, .bytes: return true
        case .file, .stream, .multipart: return false
        }
    }

    /// What of a request the identifier leaves out, and the answer depends on all the same: query
    /// and body, but for pairs whose names do not count. `nil` where there is neither.
    private static func content(of request: Request, _ ignored: Set<String>) -> String? {
        func counted(_ pairs: [Request.Pair]) -> [Request.Pair] {
            ignored.isEmpty ? pairs : pairs.filter { !ignored.contains($0.name) }
        }
        let query = counted(request.query)
        if query.isEmpty, case .none = request.body { return nil }
        var writer = BinaryWriter()
        func pairs(_ kind: UInt8, _ pairs: [Request.Pair]) {
            guard !pairs.isEmpty else { return }
            writer.integer(kind)
            writer.integer(UInt32(clamping: pairs.count))
            for pair in pairs {
                writer.text(pair.name)
                writer.text(pair.value)
                if let written = pair.written { writer.text(written) }
            }
        }
        pairs(1, query)
        switch request.body {
        case .form(let fields): pairs(2, counted(fields))
        case .json(let bytes):
            writer.integer(UInt8(3))
            writer.raw(bytes)
        case .bytes(let bytes, let type):
            writer.integer(UInt8(4))
            writer.text(type ?? "")
            writer.raw(bytes)
        case .none, .file, .stream, .multipart: break
        }
        return Hex.encode(Digest.hash(of: writer.bytes, .sha256))
    }

    /// The fields that count, as they will be sent: those named by the caller, and always those
    /// that say who asks, so that two users never share (K19).
    private static func varying(
        _ request: Request, _ caching: RequestCaching, _ fields: [Headers.Field]
    ) -> [Headers.Field] {
        var counted: [Headers.Field] = []
        func add(_ name: String, isNamed: Bool) {
            guard !counted.contains(where: { Headers.areEqual($0.name, name) }) else { return }
            let values = values(name, of: request, fields)
            // A named field that is not sent is another case than an empty one.
            if values.isEmpty, isNamed { counted.append(.init(name: name, value: nil)) }
            counted += values.map { .init(name: name, value: $0) }
        }
        for name in caching.fields { add(name, isNamed: true) }
        for name in identifying { add(name, isNamed: false) }
        return counted
    }

    /// Fields that say who asks.
    private static let identifying = ["Authorization", "Cookie"]

    /// All values that a field is sent with.
    private static func values(
        _ name: String, of request: Request, _ fields: [Headers.Field]
    ) -> [String] {
        let own = request.headers.fields.filter { Headers.areEqual($0.name, name) }
        guard own.isEmpty else { return own.compactMap(\.value) }
        if let token = request.bearerToken, Headers.areEqual(name, "Authorization") {
            return ["Bearer \(token)"]
        }
        if let user = request.credentials, Headers.areEqual(name, "Authorization") {
            return ["\(user.user.utf8.count):\(user.user)\(user.password)"]
        }
        return fields.filter { Headers.areEqual($0.name, name) }.compactMap(\.value)
    }

    /// The stored answer, or why it may not be given; what may not is deleted.
    package func read(_ clock: any Clock) -> Result<TimedEntry, TimedRefusal> {
        store.read(
            key, now: clock.wallMilliseconds, appVersion: appVersion,
            cacheVersion: caching.version)
    }

    /// How long what it writes is good, in whole seconds.
    package var seconds: Int64 { caching.duration / 1000 }

    /// Deletes the stored answer. `false` where there is none.
    @discardableResult
    package func remove() -> Bool { store.remove(key) }

    /// Deletes what was read, unless something newer has its place. `false` where it is not there.
    @discardableResult
    package func remove(_ entry: TimedEntry) -> Bool { store.remove(key, ifStill: entry) }

    /// Stores a success (K1, K7), unless everything was cleared since the request began: then it
    /// is older than the wish to have nothing.
    ///
    /// - Returns: whether it is stored.
    @discardableResult
    package func write(head: ResponseHead, body: Bytes, _ clock: any Clock) -> Bool {
        guard store.entries.clearings == beginning else { return false }
        var entry = TimedEntry(
            key, head: head, body: body, storedAt: clock.wallMilliseconds,
            duration: caching.duration, appVersion: appVersion, cacheVersion: caching.version)
        if let url = url()?.text { entry.url = String(url.prefix { $0 != "#" }) }
        let isStored = store.write(entry, for: key)
        guard isStored, store.entries.clearings != beginning else { return isStored }
        store.remove(key)
        return false
    }
}

extension TimedRefusal {
    /// What a request hears that wanted the cache alone.
    package var error: WherryError {
        switch self {
        case .missing: WherryError(.missing, "Nothing is stored for this request")
        case .damaged: WherryError(.damaged, "What was stored for this request cannot be read")
        case .clock:
            WherryError(
                .clock, "What was stored for this request is newer than now: the clock went back")
        case .expired, .duration:
            WherryError(.stale, "What was stored for this request is older than it may be")
        case .appVersion:
            WherryError(
                .appVersion, "What was stored for this request is of another version of the app")
        case .cacheVersion:
            WherryError(
                .cacheVersion, "What was stored for this request has another cache version")
        }
    }
}

extension Clock {
    /// Milliseconds since 1970.
    package var wallMilliseconds: Int64 { Int64(wallSeconds() * 1000) }
}
