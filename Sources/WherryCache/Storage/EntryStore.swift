// Wherry: a directory of entries shared between processes.
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import WherrySystem

/// Entries on disk: `ab/cdef.../name` in a private directory, with one directory per URL.
///
/// Every entry is written to a temporary file and renamed. A reader takes no lock, and sees the old
/// entry, the new one or none, even if a writer dies. A damaged entry counts as a miss. Reading
/// takes one open, one read and one close. Thread-safe. All calls may block for the disk.
package final class EntryStore: Sendable {
    /// The directory of a URL.
    package struct Folder: Hashable, Sendable {
        /// The first two digits, and the remaining ones.
        let shard: String
        let rest: String
        /// The index of the shared counter for its changes.
        let slot: Int

        /// The path in the store.
        package var path: String { shard + "/" + rest }
    }

    /// The size limits of a store, which may change at any time.
    final class Limits: Sendable {
        let bytes: Atomic<Int64>
        init(_ limit: Int64) { bytes = Atomic(max(0, limit)) }
    }

    /// The result of reading an entry.
    package enum Found: Sendable, Equatable {
        case entry(EntryFile)
        case missing
        /// A file with the name exists, but is not a complete entry.
        case damaged
    }

    /// A version of a directory: no entry has changed while it stays the same.
    package struct Stamp: Hashable, Sendable {
        let folder: Int64
        let all: Int64

        /// The stamp after one more change of the directory.
        var next: Stamp { Stamp(folder: folder &+ 1, all: all) }
    }

    let root: Directory
    let counters: SharedCounters
    let limits: Limits
    private var limit: Int64 { limits.bytes.load(ordering: .relaxed) }
    let sweeper: EntrySweeper
    private let hash: @Sendable (String) -> [UInt8]
    /// The key for digests of secret values.
    package let secret: VarySecret

    private let hasLost = Atomic(false)

    static let totalBytes = 0
    static let allStamp = 1
    private static let firstSlot = 8
    /// The number of counters for changes, and the same number for deliberate removals.
    private static let slots = 1024

    /// Opens or creates a store. Does not scan it before returning.
    ///
    /// - Parameters:
    ///   - path: The directory; its parent must exist.
    ///   - limit: The maximum size of all files in bytes; the least recently used are removed
    ///     first.
    ///   - workers: The pool for sweeps.
    ///   - hash: The digest for URLs, at least 16 bytes; tests replace it to force collisions.
    package init(
        _ path: String, limit: Int64, workers: WorkerPool, clock: any Clock,
        hash: @escaping @Sendable (String) -> [UInt8] = { Digest.hash(of: $0, .sha256) }
    ) throws(SystemError) {
        root = try Directory.openPrivate(path)
        counters = try SharedCounters(
            "counters", count: Self.firstSlot + 2 * Self.slots, epoch: Self.allStamp,
            // More than any limit, so that a sweep after the next write counts the entries.
            afterDamage: [Self.totalBytes: 1 << 60], in: root)
        secret = VarySecret(key: try Self.key(in: root))
        limits = Limits(limit)
        self.hash = hash
        sweeper = EntrySweeper(
            root: root, counters: counters, limits: limits, workers: workers, clock: clock)
        sweeper.request()
    }

    deinit { close() }

    /// Whether the directory was deleted: writes to it are lost.
    package var isRemoved: Bool { (try? root.file.status().links) == 0 }

    /// Whether a write found the directory deleted.
    package var isLost: Bool { hasLost.load(ordering: .relaxed) }

    /// Stops background work soon. Entries remain readable and writable, but there are no more
    /// sweeps.
    package func close() { sweeper.stop() }

    /// Sets the maximum size of all files in bytes. Excess entries are removed in the background.
    package func setLimit(_ bytes: Int64) {
        limits.bytes.store(max(0, bytes), ordering: .relaxed)
        if counters[Self.totalBytes] > max(0, bytes) { sweeper.request() }
    }

    /// Returns the directory's random key, created once.
    private static func key(in root: Directory) throws(SystemError) -> [UInt8] {
        var refusals = 0
        for _ in 0..<100 {
            if let bytes = root.contents(of: "secret", limit: 32), bytes.count == 32 {
                return bytes.array
            }
            guard refusals < 3 else { break }
            // Another process may create it at the same time: the first rename wins.
            let temporary = try temporaryName()
            let made = try SystemRandom.bytes(32)
            do {
                try root.write([Bytes(made)], to: temporary + "k", temporary: temporary)
                try root.rename(temporary + "k", to: "secret", replacing: false)
            } catch {
                guard try isOutrun(error, removing: temporary + "k", in: root) else { throw error }
                // Missing if another process's sweep removed it as a leftover.
                guard error.code != EntrySweeper.noSuchFile else { continue }
                refusals += 1
                // A full disk may have truncated the key, which makes it useless.
                if try root.status(of: "secret")?.size != 32 { try root.remove("secret") }
            }
        }
        throw SystemError(EntrySweeper.badFile, "read", path: root.path(of: "secret"))
    }

    /// Handles a key that could not be renamed, and removes its file.
    ///
    /// - Returns: Whether another process was faster, so that its key must be read; otherwise the
    ///   disk failed. Our file may already be gone in the first case, since a third process sweeps
    ///   too.
    static func isOutrun(
        _ error: SystemError, removing own: String, in root: Directory
    ) throws(SystemError) -> Bool {
        let wasThere = try root.remove(own)
        return wasThere || [EntrySweeper.noSuchFile, EntrySweeper.nameTaken].contains(error.code)
    }

    package static func temporaryName() throws(SystemError) -> String {
        ".t" + (try SystemRandom.hex(byteCount: 8))
    }

    // MARK: Directories

    /// Returns the directory for everything stored under a text.
    ///
    /// - Parameters:
    ///   - detail: Separates entries of the same text into one directory per detail;
    ///     ``folders(of:)`` finds all.
    ///   - part: A part that changes independently, with separate counters.
    package func folder(
        of text: String, detail: Substring? = nil, part: String? = nil
    ) -> Folder {
        let digest = hash(text)
        let digits = Hex.encode(Array(digest.prefix(16)))
        let more = detail.map { "-" + Hex.encode(Array(hash(String($0)).prefix(16))) } ?? ""
        let number =
            part.map { Int(Checksum.of(Bytes($0))) } ?? (Int(digest[0]) << 8 | Int(digest[1]))
        return Folder(
            shard: String(digits.prefix(2)), rest: digits.dropFirst(2) + more,
            slot: Self.firstSlot + number % Self.slots)
    }

    /// Returns the existing directories of a text, with any detail. They do not have the counters
    /// of parts, so a caller that changes an entry in them must invalidate everything.
    package func folders(of text: String) -> [Folder] {
        let own = folder(of: text)
        guard let shard = try? Directory.open(own.shard, following: false, in: root),
            let names = try? shard.names()
        else { return [] }
        return names.filter {
            $0 == own.rest || $0.utf8.starts(with: own.rest.utf8) && $0.contains("-")
        }.map { Folder(shard: own.shard, rest: $0, slot: own.slot) }
    }

    /// Returns the directory's stamp; take it before reading entries.
    package func stamp(_ folder: Folder) -> Stamp {
        Stamp(folder: counters[folder.slot], all: counters[Self.allStamp])
    }

    // MARK: Reading

    /// Reads the entry with a name and key.
    package func read(_ name: String, in folder: Folder, key: [UInt8]) -> Found {
        guard let bytes = root.contents(of: folder.path + "/" + name, limit: Int(clamping: limit))
        else { return .missing }
        guard let entry = EntryFile(bytes) else { return .damaged }
        return entry.key == key ? .entry(entry) : .missing
    }

    /// Marks the entry as recently used.
    package func touch(_ name: String, in folder: Folder) {
        root.touch(folder.path + "/" + name)
    }

    /// Reads the header of an entry; `nil` if it is not a valid one.
    package func head(_ name: String, in folder: Folder) -> EntryFile? {
        guard let open = try? existing(folder) else { return nil }
        return Self.head(of: name, in: open)?.0
    }

    /// Returns the names of the entries in a directory.
    package func names(in folder: Folder) -> [String] {
        guard let open = try? existing(folder), let names = try? open.names() else { return [] }
        return names.filter { !$0.hasPrefix(".") }
    }

    private func existing(_ folder: Folder) throws(SystemError) -> Directory {
        let shard = try Directory.open(folder.shard, following: false, in: root)
        return try Directory.open(folder.rest, following: false, in: shard)
    }

    // MARK: Writing

    /// Writes an entry, replacing the one with the same name.
    ///
    /// An entry larger than an eighth of the store is not written. The older entry is removed in
    /// this case, because it is outdated.
    ///
    /// - Returns: Whether the entry was stored. `false` on a full disk too; the cache continues
    ///   without it.
    @discardableResult
    package func write(_ entry: EntryFile, to name: String, in folder: Folder) -> Bool {
        guard let parts = entry.encoded() else {
            remove(name, in: folder)
            return false
        }
        let size = Int64(parts.reduce(0) { $0 + $1.count })
        guard size <= limit / 8 else {
            remove(name, in: folder)
            return false
        }
        // A sweep may be removing the empty directory.
        for _ in 0..<4 {
            do {
                let shard = try Directory.openPrivate(folder.shard, in: root)
                let open = try Directory.openPrivate(folder.rest, in: shard)
                let old = try open.status(of: name)?.size ?? 0
                try open.write(parts, to: name, temporary: try Self.temporaryName())
                counters.add(1, to: folder.slot)
                if counters.add(size - old, to: Self.totalBytes) > limit { sweeper.request() }
                return true
            } catch {
                if error.code != EntrySweeper.noSuchFile { break }
            }
        }
        if isRemoved { hasLost.store(true, ordering: .relaxed) }
        // The existing entry is older than the one that could not be written.
        remove(name, in: folder)
        return false
    }

    /// Removes an entry and invalidates it in the memory of all clients, even if the file was
    /// already missing.
    ///
    /// - Returns: Whether it existed.
    @discardableResult
    package func remove(_ name: String, in folder: Folder) -> Bool {
        defer { counters.add(1, to: folder.slot) }
        guard let open = try? existing(folder), let size = try? open.status(of: name)?.size,
            let isGone = try? open.remove(name), isGone
        else { return false }
        counters.add(-size, to: Self.totalBytes)
        return true
    }

    /// Removes an entry if it is still the same: another process may have written a newer one.
    ///
    /// - Parameter seen: The entry, with or without its body; `nil` for an unreadable one.
    /// - Returns: Whether it was removed.
    @discardableResult
    package func remove(_ name: String, in folder: Folder, ifStill seen: EntryFile?) -> Bool {
        guard let open = try? existing(folder), let aside = try? Self.temporaryName() else {
            return false
        }
        // Locked, like a file being written: a sweep would remove the renamed file as a leftover.
        let locked = try? File.open(name, [.read, .write], in: open)
        defer { withExtendedLifetime(locked) {} }
        // Another process is removing it, or has just written it.
        if let locked, (try? locked.lock()) == false { return false }
        defer { counters.add(1, to: folder.slot) }
        // Rename it first, so that the file that is checked is the file that is removed.
        guard (try? open.rename(name, to: aside, replacing: false)) != nil else { return false }
        let size = (try? open.status(of: aside)?.size) ?? 0
        let isSame: Bool
        if let seen {
            isSame =
                Self.head(at: aside, in: open).map { head, _ in
                    head.key == seen.key && head.description == seen.description
                        && head.storedAt == seen.storedAt
                        && head.uselessAfter == seen.uselessAfter
                } ?? false
        } else {
            isSame =
                open.contents(of: aside, limit: Int(clamping: limit)).flatMap {
                    EntryFile($0)
                } == nil
        }
        // Move a newer one back, unless an even newer one has taken the name.
        if !isSame, (try? open.rename(aside, to: name, replacing: false)) != nil { return false }
        guard let isGone = try? open.remove(aside), isGone else { return false }
        counters.add(-size, to: Self.totalBytes)
        return isSame
    }

    /// A counter that changes whenever all entries, or all of a kind, are removed.
    package var clearings: Int64 { counters[Self.allStamp] }

    /// Returns a stamp that changes whenever entries of the directory, or all entries, are removed
    /// because they are unwanted or outdated. A response requested before such a change is not
    /// stored after it.
    package func clearings(of folder: Folder) -> Stamp {
        Stamp(folder: counters[folder.slot + Self.slots], all: counters[Self.allStamp])
    }

    /// Changes that stamp. Call it before removing entries of the directory for such a reason.
    package func noteClearing(of folder: Folder) { counters.add(1, to: folder.slot + Self.slots) }

    /// Invalidates all entries in the memory of all clients.
    package func invalidateAll() { counters.add(1, to: Self.allStamp) }

    /// Invalidates the directory's entries in the memory of all clients.
    package func invalidate(_ folder: Folder) { counters.add(1, to: folder.slot) }

    /// Waits until the requested sweeps have ended.
    package func waitUntilSwept() { sweeper.wait() }

    // MARK: All entries

    /// Calls `body` with the header of each entry, without bodies, until it returns `false`.
    /// Entries that others write or remove in the meantime may be missing.
    package func forEach(
        _ body: (_ folder: Folder, _ name: String, _ head: EntryFile, _ size: Int64) -> Bool
    ) {
        EntrySweeper.forEachFile(in: root) { shard, rest, open, name in
            guard let (head, size) = Self.head(of: name, in: open) else { return true }
            return body(Self.folder(shard, rest), name, head, size)
        }
    }

    /// As above, for the entries of one directory only.
    package func forEach(
        in folder: Folder, _ body: (_ name: String, _ head: EntryFile, _ size: Int64) -> Void
    ) {
        guard let open = try? existing(folder), let names = try? open.names() else { return }
        for name in names {
            if let (head, size) = Self.head(of: name, in: open) { body(name, head, size) }
        }
    }

    /// Reads the header of an entry; `nil` if it is not a valid one.
    private static func head(of name: String, in open: Directory) -> (EntryFile, Int64)? {
        name.hasPrefix(".") ? nil : head(at: name, in: open)
    }

    private static func head(at name: String, in open: Directory) -> (EntryFile, Int64)? {
        guard let file = try? File.open(name, [.read], in: open),
            let size = try? file.status().size,
            let bytes = try? file.read(min(Int(clamping: size), 16_384), at: 0)
        else { return nil }
        var head = EntryFile(head: bytes, fileSize: size)
        if head == nil, size > 16_384, let more = try? file.read(EntryFile.mostHead, at: 0) {
            head = EntryFile(head: more, fileSize: size)
        }
        return head.map { ($0, size) }
    }

    private static func folder(_ shard: String, _ rest: String) -> Folder {
        let slot = firstSlot + (Int(shard + rest.prefix(2), radix: 16) ?? 0) % slots
        return Folder(shard: shard, rest: rest, slot: slot)
    }

    // MARK: By place

    /// Returns a text that identifies an entry in this store.
    package func place(of name: String, in folder: Folder) -> String { folder.path + "/" + name }

    /// Returns the entry at a place, whatever its key; `nil` if it does not exist.
    package func entry(at place: String) -> EntryFile? {
        guard let (folder, name) = parse(place),
            let bytes = root.contents(of: folder.path + "/" + name, limit: Int(clamping: limit))
        else { return nil }
        return EntryFile(bytes)
    }

    /// Parses a place into directory and name; `nil` if malformed.
    func parse(_ place: String) -> (Folder, String)? {
        let parts = place.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 3, !parts[2].isEmpty, parts[2].utf8.first != 0x2E else { return nil }
        let digits = parts[1].split(separator: "-", omittingEmptySubsequences: false)
        guard parts[0].utf8.count == 2, digits[0].utf8.count == 30, digits.count <= 2,
            digits.dropFirst().allSatisfy({ $0.utf8.count == 32 }),
            ([parts[0]] + digits).allSatisfy({ Hex.isLowercase(String($0)) })
        else { return nil }
        return (Self.folder(String(parts[0]), String(parts[1])), String(parts[2]))
    }

    /// Returns the number of files and their size in bytes.
    package func usage() -> (count: Int, bytes: Int64) {
        var usage: (count: Int, bytes: Int64) = (0, 0)
        forEachName { _, _, size in
            usage.count += 1
            usage.bytes += size
        }
        return usage
    }

    /// Calls `body` with the directory, name and size of each entry, without opening it.
    package func forEachName(_ body: (_ folder: String, _ name: String, _ size: Int64) -> Void) {
        EntrySweeper.forEachFile(in: root) { shard, rest, open, name in
            if !name.hasPrefix("."), let size = try? open.status(of: name)?.size {
                body(shard + "/" + rest + "/", name, size)
            }
            return true
        }
    }

    /// Removes all entries.
    ///
    /// - Returns: The number of entries.
    @discardableResult
    package func clear() -> Int {
        // Before, for entries being stored; and again afterwards, for entries being read.
        counters.add(1, to: Self.allStamp)
        let count = Self.removeAll(in: root) { counters.add(-$0, to: Self.totalBytes) }
        counters.add(1, to: Self.allStamp)
        return count
    }

    /// Deletes all entries of a store. Needs no free space on the disk.
    ///
    /// - Parameter removed: Called with the size of each entry.
    /// - Returns: The number of entries.
    package static func removeAll(in root: Directory, _ removed: (Int64) -> Void = { _ in }) -> Int
    {
        var count = 0
        EntrySweeper.forEachFile(in: root) { _, _, open, name in
            guard !name.hasPrefix("."), let size = try? open.status(of: name)?.size,
                let isGone = try? open.remove(name), isGone
            else { return true }
            removed(size)
            count += 1
            return true
        }
        ValidationMark.removeAll(in: root)
        return count
    }
}
