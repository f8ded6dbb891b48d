// Wherry: the HTTP cache on disk and in memory.
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import WherryHTTP
import WherrySystem

/// Stores responses by URL, partition and variant.
///
/// A directory holds all responses of a URL. The directories of URLs that differ only in the query
/// are next to each other, so that they can be found and cleared together. File names consist of
/// `0` and the partition. The file with just that name is the response if it has no Vary, or else
/// an index of the header lists that responses vary by. The file name of a variant continues with
/// the digest of its selecting headers, so that a request finds it without reading the others.
///
/// Calls may block for the disk, except for responses in memory.
package final class HTTPCacheStore: Sendable {
    /// The known responses of a URL. Immutable except for the time of its last use on disk.
    final class Record: Sendable {
        let stamp: EntryStore.Stamp
        let place: Place
        /// Header lists, newest first; empty if ``variants`` has one response, under "".
        let lists: [[String]]
        let variants: [String: StoredResponse]
        /// The variants known to be missing.
        let missing: Set<String>
        let touchedAt: Atomic<Int64>

        init(
            _ place: Place, _ stamp: EntryStore.Stamp, lists: [[String]],
            variants: [String: StoredResponse], missing: Set<String> = [], at now: Int64
        ) {
            self.place = place
            self.stamp = stamp
            self.lists = lists
            self.variants = variants
            self.missing = missing
            touchedAt = Atomic(now)
        }

        var cost: Int {
            variants.values.reduce(512 + 64 * missing.count) {
                $0 + $1.body.count + $1.block.count + 512
            }
        }
    }

    /// The interval for recording on disk that a response in memory is used, in milliseconds.
    private static let touchInterval: Int64 = 60_000
    static let mostLists = 8
    /// The maximum number of missing variants to remember.
    private static let mostMissing = 64

    package let entries: EntryStore
    let memory: MemoryLayer<Key, Record>
    /// The rules for secret query values, which the client may change.
    private let secretNames = Lock(Secrets())

    /// - Parameter memoryLimit: The maximum size of responses in memory, in bytes.
    package init(_ entries: EntryStore, memoryLimit: Int) {
        self.entries = entries
        memory = MemoryLayer(limit: memoryLimit)
    }

    package var secret: VarySecret { entries.secret }
    package var memoryCost: Int { memory.cost }
    package func setMemoryLimit(_ bytes: Int) { memory.setLimit(bytes) }
    package func setSecrets(_ secrets: Secrets) { secretNames.withLock { $0 = secrets } }

    // MARK: Keys

    /// The key of a response (RFC 9111, section 2): the URL within a partition, which separates
    /// identities (SEC-C2).
    package struct Key: Hashable, Sendable {
        let url: String
        let partition: String
        /// Whether the URL may come from a list of entries, where secrets are digests.
        let isListed: Bool

        /// - Parameters:
        ///   - url: ``HTTPURL/cacheText``.
        ///   - partition: Hexadecimal digits; "" for the default one.
        package init(url: String, partition: String = "", isListed: Bool = false) {
            self.url = url
            self.partition = partition
            self.isListed = isListed
        }

        /// Returns the URL of a stored key.
        static func url(of bytes: [UInt8]) -> String? { parts(of: bytes)?.url }

        /// Returns the URL and partition of a stored key.
        static func parts(of bytes: [UInt8]) -> (url: String, partition: String)? {
            guard bytes.starts(with: "GET ".utf8) else { return nil }
            let url = bytes.dropFirst(4).prefix { $0 != 0x0A }
            return (
                String(decoding: url, as: UTF8.self),
                String(decoding: bytes[url.endIndex...].dropFirst(), as: UTF8.self)
            )
        }
    }

    /// The location of the files of a key.
    struct Place: Sendable {
        let folder: EntryStore.Folder
        /// The file name of the response or the index.
        let name: String
        /// The key as stored in the files: without secrets (SEC-C10). No URL contains a line feed.
        let key: [UInt8]

        /// Returns the file name of a variant; "" is the response without Vary.
        func name(of variant: String) -> String { variant.isEmpty ? name : "\(name).\(variant)" }

        func holdsKey(_ file: String) -> Bool { file == name || file.hasPrefix(name + ".") }
    }

    /// Splits a URL into everything before the query, and the query.
    static func parts(of url: String) -> (path: Substring, query: Substring?) {
        guard let mark = url.utf8.firstIndex(of: 0x3F) else { return (url[...], nil) }
        return (url[..<mark], url[url.utf8.index(after: mark)...])
    }

    func place(_ key: Key) -> Place {
        let url = storedURL(key.url, isListed: key.isListed)
        let (path, query) = Self.parts(of: url)
        return Place(
            folder: entries.folder(of: Self.text(path), detail: query, part: url),
            name: key.partition.isEmpty ? "0" : "0-" + key.partition,
            key: Array("GET \(url)\n\(key.partition)".utf8))
    }

    /// Returns a URL as stored in files and shown in lists.
    func storedURL(_ url: String, isListed: Bool = false) -> String {
        StoredURL(secrets: secretNames.withLock { $0 }, secret: secret)
            .text(url, isListed: isListed)
    }

    /// Returns the text whose digest locates the directories of a URL without its query.
    static func text(_ path: Substring) -> String { "http " + path }

    /// Returns the name of a variant; "" without Vary.
    static func variant(_ fields: SelectingFields) -> String {
        if fields.fields.isEmpty { return "" }
        var writer = BinaryWriter()
        for field in fields.fields {
            writer.text(field.name)
            writer.optional(field.value) { $0.text($1) }
        }
        return Hex.encode(Array(Digest.hash(of: writer.bytes, .sha256).prefix(16)))
    }

    // MARK: Reading

    /// Returns the current moment of a key. Take it before sending a request whose response will be
    /// stored; see ``apply(_:key:since:now:)``.
    package func moment(_ key: Key) -> EntryStore.Stamp {
        entries.clearings(of: place(key).folder)
    }

    /// Returns the stored responses that may match the request; ``CacheLookup`` selects one.
    ///
    /// - Parameters:
    ///   - now: Milliseconds since 1970.
    ///   - beginning: Set to the key's ``moment(_:)`` before the responses were read.
    package func stored(
        for request: CacheRequest, key: Key, now: Int64, beginning: inout EntryStore.Stamp?
    ) -> [StoredResponse] {
        if let record = memory.value(key) {
            beginning = entries.clearings(of: record.place.folder)
            if record.stamp == entries.stamp(record.place.folder) {
                let (found, missing) = choose(record, request)
                if missing.isEmpty {
                    touch(record, found, now)
                    return found.map { $0.response }
                }
                return complete(record, request, key, now)
            }
            memory.remove(key)
        }
        let place = place(key)
        beginning = entries.clearings(of: place.folder)
        return load(request, key, place, now)
    }

    /// As above, for a caller that stores nothing afterwards.
    package func stored(
        for request: CacheRequest, key: Key, now: Int64
    ) -> [StoredResponse] {
        var beginning: EntryStore.Stamp?
        return stored(for: request, key: key, now: now, beginning: &beginning)
    }

    /// Returns all stored responses of the key, read from disk.
    package func allStored(key: Key) -> [StoredResponse] {
        let place = place(key)
        guard case .entry(let first) = entries.read(place.name, in: place.folder, key: place.key)
        else { return [] }
        switch first.kind {
        case .response: return response(first, place.name, place).map { [$0] } ?? []
        case .index: return variantNames(place).compactMap { read($0, place, key) }
        }
    }

    /// Returns the file names of a key's variants.
    func variantNames(_ place: Place) -> [String] {
        entries.names(in: place.folder).filter { $0 != place.name && place.holdsKey($0) }
    }

    private func choose(
        _ record: Record, _ request: CacheRequest
    ) -> (found: [(variant: String, response: StoredResponse)], missing: [String]) {
        var found: [(variant: String, response: StoredResponse)] = []
        var missing: [String] = []
        for variant in variants(record.lists, request) {
            if let response = record.variants[variant] {
                found.append((variant, response))
            } else if !record.missing.contains(variant) {
                missing.append(variant)
            }
        }
        return (found, missing)
    }

    private func variants(_ lists: [[String]], _ request: CacheRequest) -> [String] {
        if lists.isEmpty { return [""] }
        return lists.map { list in
            Self.variant(SelectingFields(list, of: request.headers, secret: secret))
        }
    }

    private func touch(
        _ record: Record, _ found: [(variant: String, response: StoredResponse)], _ now: Int64
    ) {
        let last = record.touchedAt.load(ordering: .relaxed)
        guard now.subtractingSaturating(last).magnitude >= Self.touchInterval.magnitude else {
            return
        }
        record.touchedAt.store(now, ordering: .relaxed)
        let names = Set([""] + found.map { $0.variant })
        // The index is as recently used as its responses.
        for variant in names where !found.isEmpty {
            entries.touch(record.place.name(of: variant), in: record.place.folder)
        }
    }

    private func load(
        _ request: CacheRequest, _ key: Key, _ place: Place, _ now: Int64
    ) -> [StoredResponse] {
        // Taken before reading: a change in the meantime makes the record outdated at once.
        let stamp = entries.stamp(place.folder)
        guard case .entry(let first) = entries.read(place.name, in: place.folder, key: place.key)
        else { return [] }
        entries.touch(place.name, in: place.folder)
        switch first.kind {
        case .response:
            guard let response = response(first, place.name, place) else { return [] }
            let record = Record(place, stamp, lists: [], variants: ["": response], at: now)
            memory.insert(record, for: key, cost: record.cost)
            return [response]
        case .index:
            guard let lists = Self.lists(first.description) else { return [] }
            return complete(
                Record(place, stamp, lists: lists, variants: [:], at: now), request, key, now)
        }
    }

    /// Reads variants that the request may select and the record does not contain.
    private func complete(
        _ known: Record, _ request: CacheRequest, _ key: Key, _ now: Int64
    ) -> [StoredResponse] {
        let place = known.place
        var variants = known.variants
        var missing = known.missing
        for variant in choose(known, request).missing {
            let name = place.name(of: variant)
            if let response = read(name, place, key) {
                variants[variant] = response
                entries.touch(name, in: place.folder)
            } else {
                if missing.count >= Self.mostMissing { missing = [] }
                missing.insert(variant)
            }
        }
        let record = Record(
            place, known.stamp, lists: known.lists, variants: variants, missing: missing, at: now)
        memory.insert(record, for: key, cost: record.cost)
        return choose(record, request).found.map { $0.response }
    }

    private func read(_ name: String, _ place: Place, _ key: Key) -> StoredResponse? {
        guard case .entry(let entry) = entries.read(name, in: place.folder, key: place.key),
            entry.kind == .response
        else { return nil }
        return response(entry, name, place)
    }

    private func response(_ entry: EntryFile, _ name: String, _ place: Place) -> StoredResponse? {
        guard let response = StoredResponse(description: entry.description, body: entry.body),
            place.name(of: Self.variant(response.selecting)) == name
        else { return nil }
        return response
    }

    static func lists(_ description: [UInt8]) -> [[String]]? {
        var reader = BinaryReader(description)
        guard let count = reader.integer(UInt16.self), count > 0, count <= mostLists else {
            return nil
        }
        var lists: [[String]] = []
        for _ in 0..<count {
            guard let names = reader.integer(UInt16.self) else { return nil }
            var list: [String] = []
            for _ in 0..<names {
                guard let name = reader.text() else { return nil }
                list.append(name)
            }
            lists.append(list)
        }
        return reader.isAtEnd ? lists : nil
    }
}
