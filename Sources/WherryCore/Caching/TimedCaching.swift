// Wherry: one request's use of the timed cache.
// SPDX-License-Identifier: Apache-2.0

import WherryCache
import WherryHTTP
import WherryRequests
import WherrySystem
import WherryTransport

/// Reads and updates the timed cache for one request. Its calls may block for the disk.
package struct TimedCaching: Sendable {
    package let key: TimedKey
    private let store: TimedCacheStore
    /// The URL with its query, for lists.
    private let url: @Sendable () -> HTTPURL?
    private let appVersion: String
    private let caching: RequestCaching
    /// The store's counter of clears when the request began.
    private let beginning: Int64

    /// - Parameters:
    ///   - base: The base URL at the time of the call, as the caller wrote it.
    ///   - url: The URL as sent, for lists; `nil` if invalid.
    ///   - cookies: The cookies for this URL that the program set in the cookie jar.
    ///   - fields: The client's headers, which those of the request override.
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
                sensitive: Self.content(of: request, caching.ignored) ?? "",
                partition: Self.partition(caching, cookies))
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

    /// Returns whether the response to a request is cacheable at all (K7): not a partial response, nor
    /// a response to a streamed request body or to a `Host` header of the caller.
    ///
    /// - Parameter fields: The client's headers, which those of the request override.
    package static func fits(_ request: Request, _ fields: [Headers.Field]) -> Bool {
        if !values("Range", of: request, fields).isEmpty { return false }
        if !values("Host", of: request, fields).isEmpty { return false }
        switch request.body {
        case .none, .form, .json, .bytes: return true
        case .file, .stream, .multipart: return false
        }
    }

    /// Returns the parts of a request that affect the response but not the identifier: query and
    /// body, except ignored pairs. `nil` if there are none.
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

    /// Returns the headers that count, as they will be sent: those named by the caller, and always
    /// those that identify the user, so that two users never share a response (K19).
    private static func varying(
        _ request: Request, _ caching: RequestCaching, _ fields: [Headers.Field]
    ) -> [Headers.Field] {
        var counted: [Headers.Field] = []
        func add(_ name: String, isNamed: Bool) {
            guard !counted.contains(where: { Headers.areEqual($0.name, name) }) else { return }
            let values = values(name, of: request, fields)
            // A missing header differs from an empty one.
            if values.isEmpty, isNamed { counted.append(.init(name: name, value: nil)) }
            counted += values.map { .init(name: name, value: $0) }
        }
        for name in caching.fields { add(name, isNamed: true) }
        for name in identifying { add(name, isNamed: false) }
        return counted
    }

    /// Headers that identify the user.
    private static let identifying = ["Authorization", "Cookie"]

    /// Returns all values of a header as sent.
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

    /// Returns the stored response, or why it is unusable. Deletes an unusable one.
    package func read(_ clock: any Clock) -> Result<TimedEntry, TimedRefusal> {
        store.read(
            key, now: clock.wallMilliseconds, appVersion: appVersion,
            cacheVersion: caching.version)
    }

    /// The lifetime of new entries, in whole seconds.
    package var seconds: Int64 { caching.duration / 1000 }

    /// Deletes the stored response. Returns `false` if there is none.
    @discardableResult
    package func remove() -> Bool { store.remove(key) }

    /// Deletes the entry unless a newer one replaced it. Returns `false` if it does not exist.
    @discardableResult
    package func remove(_ entry: TimedEntry) -> Bool { store.remove(key, ifStill: entry) }

    /// Stores a successful response (K1, K7), unless the cache was cleared since the request began.
    ///
    /// - Returns: Whether it was stored.
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
