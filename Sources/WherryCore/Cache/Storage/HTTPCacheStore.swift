// Wherry: the answers of the HTTP cache, on disk and in memory.
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import WherrySystem

/// Keeps answers by URL and variant.
///
/// The folder of a URL has one file `0`: the answer, if it varies by nothing, else an index of the
/// lists of fields that answers vary by. An answer that varies lies in a file named by the digest
/// of its selecting fields, so that a request finds it without looking at the others.
///
/// Every call may block for the disk, but for what is in memory.
package final class HTTPCacheStore: Sendable {
    /// What is known of one URL. Never changes but for the time of its last use on disk.
    private final class Record: Sendable {
        let stamp: EntryStore.Stamp
        let folder: EntryStore.Folder
        /// Lists of names, newest first; none where ``variants`` has one answer, named "0".
        let lists: [[String]]
        let variants: [String: StoredResponse]
        let touchedAt: Atomic<Int64>

        init(
            _ folder: EntryStore.Folder, _ stamp: EntryStore.Stamp, lists: [[String]],
            variants: [String: StoredResponse], at now: Int64
        ) {
            self.folder = folder
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
    private let memory: MemoryLayer<String, Record>

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
        let text: String
        var bytes: [UInt8] { Array(text.utf8) }

        /// - Parameters:
        ///   - url: ``HTTPURL/cacheText``.
        ///   - partition: "" for the usual one.
        package init(url: String, partition: String = "") {
            // No URL has a line feed.
            text = "GET \(url)\n\(partition)"
        }

        /// The URL of a key that was stored.
        static func url(of bytes: [UInt8]) -> String? {
            guard bytes.starts(with: "GET ".utf8) else { return nil }
            return String(decoding: bytes.dropFirst(4).prefix { $0 != 0x0A }, as: UTF8.self)
        }
    }

    private static func name(of fields: SelectingFields) -> String {
        if fields.fields.isEmpty { return "0" }
        var writer = BinaryWriter()
        for field in fields.fields {
            writer.text(field.name)
            writer.optional(field.value) { $0.text($1) }
        }
        return Hex.encode(Array(Digest.hash(of: writer.bytes, .sha256).prefix(16)))
    }

    // MARK: Reading

    /// The stored answers that may fit the request, to be chosen among by ``CacheLookup``.
    ///
    /// - Parameter now: milliseconds since 1970.
    package func stored(
        for request: CacheRequest, key: Key, now: Int64
    ) -> [StoredResponse] {
        if let record = memory.value(key.text) {
            if record.stamp == entries.stamp(record.folder) {
                let (found, missing) = choose(record, request)
                if missing.isEmpty {
                    touch(record, found, now)
                    return found.map { $0.response }
                }
            } else {
                memory.remove(key.text)
            }
        }
        return load(request, key, now)
    }

    /// Every stored answer of the key, from disk.
    package func allStored(key: Key) -> [StoredResponse] {
        let folder = entries.folder(of: key.text)
        return entries.names(in: folder).compactMap { read($0, folder, key) }
    }

    private func choose(
        _ record: Record, _ request: CacheRequest
    ) -> (found: [(name: String, response: StoredResponse)], missing: [String]) {
        var found: [(name: String, response: StoredResponse)] = []
        var missing: [String] = []
        for name in names(record.lists, request) {
            if let response = record.variants[name] {
                found.append((name, response))
            } else {
                missing.append(name)
            }
        }
        return (found, missing)
    }

    private func names(_ lists: [[String]], _ request: CacheRequest) -> [String] {
        if lists.isEmpty { return ["0"] }
        return lists.map { list in
            Self.name(of: SelectingFields(list, of: request.headers, secret: secret))
        }
    }

    private func touch(
        _ record: Record, _ found: [(name: String, response: StoredResponse)], _ now: Int64
    ) {
        let last = record.touchedAt.load(ordering: .relaxed)
        guard now.subtractingSaturating(last).magnitude >= Self.touchInterval.magnitude else {
            return
        }
        record.touchedAt.store(now, ordering: .relaxed)
        for (name, _) in found { entries.touch(name, in: record.folder) }
    }

    private func load(_ request: CacheRequest, _ key: Key, _ now: Int64) -> [StoredResponse] {
        let folder = entries.folder(of: key.text)
        // Before the reading: what is changed meanwhile makes the record old at once.
        let stamp = entries.stamp(folder)
        guard case .entry(let first) = entries.read("0", in: folder, key: key.bytes) else {
            return []
        }
        var variants: [String: StoredResponse] = [:]
        var lists: [[String]] = []
        switch first.kind {
        case .response:
            guard let response = StoredResponse(description: first.description, body: first.body),
                response.selecting.fields.isEmpty
            else { return [] }
            variants["0"] = response
            entries.touch("0", in: folder)
        case .index:
            guard let read = Self.lists(first.description) else { return [] }
            lists = read
            let known = memory.value(key.text).flatMap { $0.stamp == stamp ? $0.variants : nil }
            variants = known ?? [:]
            for name in names(lists, request) where variants[name] == nil {
                variants[name] = self.read(name, folder, key)
                if variants[name] != nil { entries.touch(name, in: folder) }
            }
        }
        let record = Record(folder, stamp, lists: lists, variants: variants, at: now)
        let (found, _) = choose(record, request)
        if !variants.isEmpty { memory.insert(record, for: key.text, cost: record.cost) }
        return found.map { $0.response }
    }

    private func read(
        _ name: String, _ folder: EntryStore.Folder, _ key: Key
    ) -> StoredResponse? {
        guard case .entry(let entry) = entries.read(name, in: folder, key: key.bytes),
            entry.kind == .response,
            let response = StoredResponse(description: entry.description, body: entry.body),
            Self.name(of: response.selecting) == name
        else { return nil }
        return response
    }

    // MARK: Changing

    /// Carries out what the origin's answer meant for the cache. The entries are on disk, for this
    /// and every other process, when this returns.
    ///
    /// - Returns: whether everything that was to be stored is.
    @discardableResult
    package func apply(
        _ outcome: CacheOutcome, key: Key, partition: String = "", now: Int64
    ) -> Bool {
        for url in outcome.invalidated { removeAll(Key(url: url, partition: partition)) }
        var isDone = true
        for change in outcome.changes {
            switch change {
            case .store(let response): isDone = store(response, key, now) && isDone
            case .remove(let response):
                entries.remove(Self.name(of: response.selecting), in: entries.folder(of: key.text))
            }
        }
        memory.remove(key.text)
        return isDone
    }

    /// Takes away whatever is stored under a key.
    ///
    /// - Returns: how many answers.
    @discardableResult
    package func removeAll(_ key: Key) -> Int {
        let folder = entries.folder(of: key.text)
        let count = entries.names(in: folder).reduce(0) { count, name in
            // Another URL's, by a collision, stays.
            guard case .entry(let entry) = entries.read(name, in: folder, key: key.bytes) else {
                return count
            }
            return entries.remove(name, in: folder) && entry.kind == .response ? count + 1 : count
        }
        // What a sweep took from the disk may still be in somebody's memory.
        entries.invalidate(folder)
        memory.remove(key.text)
        return count
    }

    /// Takes everything away.
    ///
    /// - Returns: how many answers and indexes.
    @discardableResult
    package func clear() -> Int {
        let count = entries.clear()
        memory.removeAll()
        return count
    }

    private func store(_ response: StoredResponse, _ key: Key, _ now: Int64) -> Bool {
        let folder = entries.folder(of: key.text)
        let name = Self.name(of: response.selecting)
        let entry = EntryFile(
            key: key.bytes, description: response.description(), body: response.body, storedAt: now)
        guard !response.selecting.fields.isEmpty else {
            let wasIndex =
                if case .entry(let old) = entries.read("0", in: folder, key: key.bytes) {
                    old.kind == .index
                } else { false }
            guard entries.write(entry, to: name, in: folder) else { return false }
            // No request finds the variants any more: the newer answer fits all of them.
            if wasIndex {
                for other in entries.names(in: folder) where other != "0" {
                    entries.remove(other, in: folder)
                }
            }
            return true
        }
        // The answer before the index, so that the index never names what is not there.
        return entries.write(entry, to: name, in: folder)
            && enter(response.selecting.fields.map { $0.name }, folder, key, now)
    }

    /// Writes a list of names into the index, unless it is there.
    private func enter(
        _ list: [String], _ folder: EntryStore.Folder, _ key: Key, _ now: Int64
    ) -> Bool {
        var lists: [[String]] = []
        if case .entry(let old) = entries.read("0", in: folder, key: key.bytes),
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
        return entries.write(index, to: "0", in: folder)
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
