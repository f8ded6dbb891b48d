// Wherry: the answers of the HTTP cache, on disk and in memory.
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import WherrySystem

/// Keeps answers by URL, partition and variant.
///
/// A folder holds all that is stored for a URL, whatever its query, so that all of it can be found
/// and cleared together. Names of files in it begin with a digest of the query (`0` for none), and
/// go on with the partition. The file of just that name is the answer, if it varies by nothing, else
/// an index of the lists of fields that answers vary by. An answer that varies has the digest of its
/// selecting fields behind that, so that a request finds it without looking at the others.
///
/// Every call may block for the disk, but for what is in memory.
package final class HTTPCacheStore: Sendable {
    /// What is known of one URL. Never changes but for the time of its last use on disk.
    private final class Record: Sendable {
        let stamp: EntryStore.Stamp
        let place: Place
        /// Lists of names, newest first; none where ``variants`` has one answer, under "".
        let lists: [[String]]
        let variants: [String: StoredResponse]
        let touchedAt: Atomic<Int64>

        init(
            _ place: Place, _ stamp: EntryStore.Stamp, lists: [[String]],
            variants: [String: StoredResponse], at now: Int64
        ) {
            self.place = place
            self.stamp = stamp
            self.lists = lists
            self.variants = variants
            touchedAt = Atomic(now)
        }

        var cost: Int {
            variants.values.reduce(512) { $0 + $1.body.count + $1.block.count + 512 }
        }
    }

    /// How often the disk hears that an answer in memory is in use, in milliseconds.
    private static let touchInterval: Int64 = 60_000
    private static let mostLists = 8

    package let entries: EntryStore
    private let memory: MemoryLayer<Key, Record>

    /// - Parameter memoryLimit: bytes of answers that are held in memory.
    package init(_ entries: EntryStore, memoryLimit: Int) {
        self.entries = entries
        memory = MemoryLayer(limit: memoryLimit)
    }

    package var secret: VarySecret { entries.secret }
    package var memoryCost: Int { memory.cost }
    package func setMemoryLimit(_ bytes: Int) { memory.setLimit(bytes) }

    // MARK: Keys

    /// What an answer is stored under (RFC 9111, section 2): the URL, within a partition that
    /// keeps identities apart (SEC-C2).
    package struct Key: Hashable, Sendable {
        let url: String
        let partition: String

        /// - Parameters:
        ///   - url: ``HTTPURL/cacheText``.
        ///   - partition: hexadecimal digits; "" for the usual one.
        package init(url: String, partition: String = "") {
            self.url = url
            self.partition = partition
        }

        /// No URL has a line feed.
        var bytes: [UInt8] { Array("GET \(url)\n\(partition)".utf8) }

        /// The URL of a key that was stored.
        static func url(of bytes: [UInt8]) -> String? {
            guard bytes.starts(with: "GET ".utf8) else { return nil }
            return String(decoding: bytes.dropFirst(4).prefix { $0 != 0x0A }, as: UTF8.self)
        }
    }

    /// Where the files of a key lie.
    private struct Place: Sendable {
        let folder: EntryStore.Folder
        /// What the names of all files of the URL begin with.
        let prefix: String
        /// The name of the answer or the index.
        let name: String

        /// The name of a variant's file; "" is the answer that varies by nothing.
        func name(of variant: String) -> String { variant.isEmpty ? name : "\(name).\(variant)" }

        func holdsURL(_ file: String) -> Bool {
            file == prefix || file.hasPrefix(prefix + "-") || file.hasPrefix(prefix + ".")
        }

        func holdsKey(_ file: String) -> Bool { file == name || file.hasPrefix(name + ".") }
    }

    /// All of a URL but its query, and the query.
    private static func parts(of url: String) -> (path: Substring, query: Substring?) {
        guard let mark = url.utf8.firstIndex(of: 0x3F) else { return (url[...], nil) }
        return (url[..<mark], url[url.utf8.index(after: mark)...])
    }

    private func place(_ key: Key) -> Place {
        let (path, query) = Self.parts(of: key.url)
        let prefix =
            query.map { Hex.encode(Array(Digest.hash(of: String($0), .sha256).prefix(16))) } ?? "0"
        return Place(
            folder: entries.folder(of: "http " + path, part: key.url), prefix: prefix,
            name: key.partition.isEmpty ? prefix : prefix + "-" + key.partition)
    }

    /// Names a variant; "" for what varies by nothing.
    private static func variant(_ fields: SelectingFields) -> String {
        if fields.fields.isEmpty { return "" }
        var writer = BinaryWriter()
        for field in fields.fields {
            writer.text(field.name)
            writer.optional(field.value) { $0.text($1) }
        }
        return Hex.encode(Array(Digest.hash(of: writer.bytes, .sha256).prefix(16)))
    }

    // MARK: Reading

    /// A moment in the life of a key, to be taken before anybody is asked for what will be stored
    /// under it: see ``apply(_:key:since:now:)``.
    package func moment(_ key: Key) -> EntryStore.Stamp {
        entries.clearings(of: place(key).folder)
    }

    /// The stored answers that may fit the request, to be chosen among by ``CacheLookup``.
    ///
    /// - Parameters:
    ///   - now: milliseconds since 1970.
    ///   - beginning: set to the key's ``moment(_:)`` from before they were read.
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
            } else {
                memory.remove(key)
            }
        }
        let place = place(key)
        beginning = entries.clearings(of: place.folder)
        return load(request, key, place, now)
    }

    /// The same for one who stores nothing afterwards.
    package func stored(
        for request: CacheRequest, key: Key, now: Int64
    ) -> [StoredResponse] {
        var beginning: EntryStore.Stamp?
        return stored(for: request, key: key, now: now, beginning: &beginning)
    }

    /// Every stored answer of the key, from disk.
    package func allStored(key: Key) -> [StoredResponse] {
        let place = place(key)
        return entries.names(in: place.folder).filter { place.holdsKey($0) }.compactMap {
            read($0, place, key)
        }
    }

    private func choose(
        _ record: Record, _ request: CacheRequest
    ) -> (found: [(variant: String, response: StoredResponse)], missing: [String]) {
        var found: [(variant: String, response: StoredResponse)] = []
        var missing: [String] = []
        for variant in variants(record.lists, request) {
            if let response = record.variants[variant] {
                found.append((variant, response))
            } else {
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
        for (variant, _) in found {
            entries.touch(record.place.name(of: variant), in: record.place.folder)
        }
    }

    private func load(
        _ request: CacheRequest, _ key: Key, _ place: Place, _ now: Int64
    ) -> [StoredResponse] {
        // Before the reading: what is changed meanwhile makes the record old at once.
        let stamp = entries.stamp(place.folder)
        guard case .entry(let first) = entries.read(place.name, in: place.folder, key: key.bytes)
        else { return [] }
        var variants: [String: StoredResponse] = [:]
        var lists: [[String]] = []
        switch first.kind {
        case .response:
            guard let response = StoredResponse(description: first.description, body: first.body),
                response.selecting.fields.isEmpty
            else { return [] }
            variants[""] = response
            entries.touch(place.name, in: place.folder)
        case .index:
            guard let read = Self.lists(first.description) else { return [] }
            lists = read
            let known = memory.value(key).flatMap { $0.stamp == stamp ? $0.variants : nil }
            variants = known ?? [:]
            for variant in self.variants(lists, request) where variants[variant] == nil {
                let name = place.name(of: variant)
                variants[variant] = self.read(name, place, key)
                if variants[variant] != nil { entries.touch(name, in: place.folder) }
            }
        }
        let record = Record(place, stamp, lists: lists, variants: variants, at: now)
        let (found, _) = choose(record, request)
        if !variants.isEmpty { memory.insert(record, for: key, cost: record.cost) }
        return found.map { $0.response }
    }

    private func read(_ name: String, _ place: Place, _ key: Key) -> StoredResponse? {
        guard case .entry(let entry) = entries.read(name, in: place.folder, key: key.bytes),
            entry.kind == .response,
            let response = StoredResponse(description: entry.description, body: entry.body),
            place.name(of: Self.variant(response.selecting)) == name
        else { return nil }
        return response
    }

    // MARK: Changing

    /// Carries out what the origin's answer meant for the cache. The entries are on disk, for this
    /// and every other process, when this returns.
    ///
    /// - Parameter beginning: ``moment(_:)`` from before the origin was asked. If answers of the URL
    ///   were taken away since, by a clearing or by a method that changed it, nothing is stored: it
    ///   would be what was true before.
    /// - Returns: whether everything that was to be stored is.
    @discardableResult
    package func apply(
        _ outcome: CacheOutcome, key: Key, since beginning: EntryStore.Stamp? = nil, now: Int64
    ) -> Bool {
        let place = place(key)
        let isCurrent = beginning == nil || beginning == entries.clearings(of: place.folder)
        for url in outcome.invalidated { removeAll(url: url) }
        // What this very answer took away is no reason not to store it.
        let moment = entries.clearings(of: place.folder)
        var isDone = true
        for change in outcome.changes {
            switch change {
            case .store(let response):
                guard isCurrent, store(response, key, place, now) else {
                    isDone = false
                    continue
                }
                guard beginning != nil, entries.clearings(of: place.folder) != moment else {
                    continue
                }
                remove(response, place)
                isDone = false
            case .remove(let response): remove(response, place)
            }
        }
        memory.remove(key)
        return isDone
    }

    private func remove(_ response: StoredResponse, _ place: Place) {
        entries.remove(place.name(of: Self.variant(response.selecting)), in: place.folder)
    }

    /// Takes away whatever is stored under a URL with just that query, in every partition.
    ///
    /// - Returns: how many answers.
    @discardableResult
    package func removeAll(url: String) -> Int {
        let place = place(Key(url: url))
        // First, so that nobody stores afterwards what was asked for before.
        entries.noteClearing(of: place.folder)
        let count = remove(from: place, where: { place.holdsURL($0) }) { $0 == url }
        // What a sweep took from the disk may still be in somebody's memory.
        entries.invalidate(place.folder)
        return count
    }

    /// Takes away whatever is stored under a URL without a query, whatever the query of the answers.
    ///
    /// - Returns: how many answers.
    @discardableResult
    package func removeAll(path url: String) -> Int {
        let place = place(Key(url: url))
        entries.invalidateAll()
        let count = remove(from: place, where: { _ in true }) { Self.parts(of: $0).path == url }
        entries.invalidateAll()
        return count
    }

    private func remove(
        from place: Place, where isMeant: (_ name: String) -> Bool, _ isURL: (String) -> Bool
    ) -> Int {
        entries.names(in: place.folder).reduce(0) { count, name in
            // Another URL's, by a collision, stays.
            guard isMeant(name), let head = entries.head(name, in: place.folder),
                let url = Key.url(of: head.key), isURL(url)
            else { return count }
            return entries.remove(name, in: place.folder) && head.kind == .response
                ? count + 1 : count
        }
    }

    /// Takes everything away.
    ///
    /// - Returns: how many answers.
    @discardableResult
    package func clear() -> Int {
        let count = usage().count
        entries.clear()
        memory.removeAll()
        return count
    }

    private func store(
        _ response: StoredResponse, _ key: Key, _ place: Place, _ now: Int64
    ) -> Bool {
        let name = place.name(of: Self.variant(response.selecting))
        let entry = EntryFile(
            key: key.bytes, description: response.description(), body: response.body, storedAt: now)
        guard !response.selecting.fields.isEmpty else {
            let wasIndex =
                if case .entry(let old) = entries.read(name, in: place.folder, key: key.bytes) {
                    old.kind == .index
                } else { false }
            guard entries.write(entry, to: name, in: place.folder) else { return false }
            // No request finds the variants any more: the newer answer fits all of them.
            if wasIndex {
                for other in entries.names(in: place.folder)
                where other != name && place.holdsKey(other) {
                    entries.remove(other, in: place.folder)
                }
            }
            return true
        }
        // The answer before the index, so that the index never names what is not there.
        return entries.write(entry, to: name, in: place.folder)
            && enter(response.selecting.fields.map { $0.name }, place, key, now)
    }

    /// Writes a list of names into the index, unless it is there.
    private func enter(_ list: [String], _ place: Place, _ key: Key, _ now: Int64) -> Bool {
        var lists: [[String]] = []
        if case .entry(let old) = entries.read(place.name, in: place.folder, key: key.bytes),
            old.kind == .index, let read = Self.lists(old.description)
        {
            if read.contains(list) { return true }
            lists = read
        }
        lists.insert(list, at: 0)
        var writer = BinaryWriter()
        writer.integer(UInt16(min(lists.count, Self.mostLists)))
        for list in lists.prefix(Self.mostLists) {
            writer.integer(UInt16(clamping: list.count))
            for name in list { writer.text(name) }
        }
        let index = EntryFile(.index, key: key.bytes, description: writer.bytes, storedAt: now)
        return entries.write(index, to: place.name, in: place.folder)
    }

    private static func lists(_ description: [UInt8]) -> [[String]]? {
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

extension HTTPCacheStore {
    /// An answer without its body, and where it lies.
    package struct Listed: Sendable {
        package let place: String
        package let url: String
        package let response: StoredResponse
        /// When it came.
        package let storedAt: Int64
        package let bodyBytes: Int64
    }

    /// What is stored: all, what a URL with a query has, or a URL without one, whatever the query.
    /// Bodies are left out.
    ///
    /// - Parameter url: ``HTTPURL/cacheText``; `nil` for all.
    package func list(url: String? = nil) -> [Listed] {
        var found: [Listed] = []
        func look(_ folder: EntryStore.Folder, _ name: String, _ head: EntryFile, _ size: Int64) {
            guard head.kind == .response, let own = Key.url(of: head.key),
                let response = StoredResponse(description: head.description, body: nil)
            else { return }
            if let url, own != url, Self.parts(of: own).path != url { return }
            found.append(
                Listed(
                    place: entries.place(of: name, in: folder), url: own, response: response,
                    storedAt: head.storedAt, bodyBytes: size - Int64(head.headCount)))
        }
        if let url {
            let folder = place(Key(url: url)).folder
            entries.forEach(in: folder) { name, head, size in look(folder, name, head, size) }
        } else {
            entries.forEach { folder, name, head, size in
                look(folder, name, head, size)
                return true
            }
        }
        return found
    }

    /// A listed answer with its body; `nil` if it is gone.
    package func response(at place: String) -> (url: String, response: StoredResponse)? {
        guard let file = entries.entry(at: place), file.kind == .response,
            let url = Key.url(of: file.key),
            let response = StoredResponse(description: file.description, body: file.body)
        else { return nil }
        return (url, response)
    }

    /// How many answers there are, and the bytes of all files.
    package func usage() -> (count: Int, bytes: Int64) {
        var usage: (count: Int, bytes: Int64) = (0, 0)
        var indexes: Set<String> = []
        entries.forEachName { folder, name, size in
            usage.count += 1
            usage.bytes += size
            if let dot = name.firstIndex(of: ".") { indexes.insert(folder + name[..<dot]) }
        }
        usage.count -= indexes.count
        return usage
    }
}
