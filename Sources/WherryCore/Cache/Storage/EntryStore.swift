// Wherry: a folder of entries that several processes use at once.
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import WherrySystem

/// Entries on disk: `ab/cdef.../name` below one private folder, one folder for each URL.
///
/// Every entry is written beside its place and renamed, so that a reader, who takes no lock, sees
/// the old one, the new one or none, whoever dies when. Damage is a miss. Reading is one open, one
/// read and one close. All calls may block for the disk; any thread may make them.
package final class EntryStore: Sendable {
    /// The folder of one URL.
    package struct Folder: Hashable, Sendable {
        /// Two digits and the rest of them.
        let shard: String
        let rest: String
        /// Which of the shared counters changes with it.
        let slot: Int

        /// Where it lies in the store.
        package var path: String { shard + "/" + rest }
    }

    /// How much a store may hold; changed while it works.
    final class Limits: Sendable {
        let bytes: Atomic<Int64>
        init(_ limit: Int64) { bytes = Atomic(max(0, limit)) }
    }

    /// What a look for an entry found.
    package enum Found: Sendable, Equatable {
        case entry(EntryFile)
        case missing
        /// Something has the name, and it is no whole entry.
        case damaged
    }

    /// A moment in the life of a folder: while it stays the same, nobody has changed an entry.
    package struct Stamp: Hashable, Sendable {
        let folder: Int64
        let all: Int64

        /// After one more change of the folder.
        var next: Stamp { Stamp(folder: folder &+ 1, all: all) }
    }

    let root: Directory
    let counters: SharedCounters
    let limits: Limits
    private var limit: Int64 { limits.bytes.load(ordering: .relaxed) }
    let sweeper: EntrySweeper
    private let hash: @Sendable (String) -> [UInt8]
    /// For digests of what must not be kept as it is.
    package let secret: VarySecret

    private let hasLost = Atomic(false)

    static let totalBytes = 0
    static let allStamp = 1
    private static let firstSlot = 8
    /// Counters of folders, and as many again for what was taken away from them on purpose.
    private static let slots = 1024

    /// Opens or makes a store. Nothing in it is looked at before this returns.
    ///
    /// - Parameters:
    ///   - path: its folder; the one above has to be there.
    ///   - limit: bytes that all files together may have; the longest unused go first.
    ///   - workers: who sweeps.
    ///   - hash: of URLs, at least 16 bytes; tests force collisions with it.
    package init(
        _ path: String, limit: Int64, workers: WorkerPool, clock: any Clock,
        hash: @escaping @Sendable (String) -> [UInt8] = { Digest.hash(of: $0, .sha256) }
    ) throws(SystemError) {
        root = try Directory.openPrivate(path)
        counters = try SharedCounters(
            "counters", count: Self.firstSlot + 2 * Self.slots, epoch: Self.allStamp,
            // More than any limit: the next write has a sweep count the entries.
            afterDamage: [Self.totalBytes: 1 << 60], in: root)
        secret = VarySecret(key: try Self.key(in: root))
        limits = Limits(limit)
        self.hash = hash
        sweeper = EntrySweeper(
            root: root, counters: counters, limits: limits, workers: workers, clock: clock)
        sweeper.request()
    }

    deinit { close() }

    /// Whether the folder was deleted: writes to it are lost.
    package var isRemoved: Bool { (try? root.file.status().links) == 0 }

    /// Whether a write has found the folder deleted.
    package var isLost: Bool { hasLost.load(ordering: .relaxed) }

    /// Ends what goes on in the background, soon. Entries can be read and written as before, but
    /// nothing is swept any more.
    package func close() { sweeper.stop() }

    /// Sets how many bytes all files may have; what is too much goes soon.
    package func setLimit(_ bytes: Int64) {
        limits.bytes.store(max(0, bytes), ordering: .relaxed)
        if counters[Self.totalBytes] > max(0, bytes) { sweeper.request() }
    }

    /// Random bytes that are made once for each folder.
    private static func key(in root: Directory) throws(SystemError) -> [UInt8] {
        var refusals = 0
        for _ in 0..<100 {
            if let bytes = root.contents(of: "secret", limit: 32), bytes.count == 32 {
                return bytes.array
            }
            guard refusals < 3 else { break }
            // Another process may be making it too: the first one to name it wins.
            let temporary = try temporaryName()
            let made = try SystemRandom.bytes(32)
            do {
                try root.write([Bytes(made)], to: temporary + "k", temporary: temporary)
                try root.rename(temporary + "k", to: "secret", replacing: false)
            } catch {
                guard try isOutrun(error, removing: temporary + "k", in: root) else { throw error }
                // Gone where another process's sweep took it for a leftover.
                guard error.code != EntrySweeper.noSuchFile else { continue }
                refusals += 1
                // Cut short by a full disk, say: then nothing can be compared with it.
                if try root.status(of: "secret")?.size != 32 { try root.remove("secret") }
            }
        }
        throw SystemError(EntrySweeper.badFile, "read", path: root.path(of: "secret"))
    }

    /// Takes a key away that did not get its name.
    ///
    /// - Returns: whether another process was faster, so that its key is to be read; else the disk
    ///   has failed. Of our own nothing need be left for that: a third process sweeps too.
    static func isOutrun(
        _ error: SystemError, removing own: String, in root: Directory
    ) throws(SystemError) -> Bool {
        let wasThere = try root.remove(own)
        return wasThere || [EntrySweeper.noSuchFile, EntrySweeper.nameTaken].contains(error.code)
    }

    static func temporaryName() throws(SystemError) -> String {
        ".t" + (try SystemRandom.hex(byteCount: 8))
    }

    // MARK: Places

    /// The folder of everything that is stored under that text.
    ///
    /// - Parameters:
    ///   - detail: keeps what is stored under the same text apart, in a folder for each detail;
    ///     ``folders(of:)`` finds all of them.
    ///   - part: what of it changes by itself; its counters are then those of the part.
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

    /// The folders of a text that there are, whatever their detail. Their counters are not those
    /// of their parts: who changes something in them has to tell all.
    package func folders(of text: String) -> [Folder] {
        let own = folder(of: text)
        guard let shard = try? Directory.open(own.shard, following: false, in: root),
            let names = try? shard.names()
        else { return [] }
        return names.filter {
            $0 == own.rest || $0.utf8.starts(with: own.rest.utf8) && $0.contains("-")
        }.map { Folder(shard: own.shard, rest: $0, slot: own.slot) }
    }

    /// The folder's moment, to be taken before its entries are read.
    package func stamp(_ folder: Folder) -> Stamp {
        Stamp(folder: counters[folder.slot], all: counters[Self.allStamp])
    }

    // MARK: Reading

    /// The entry of that name and key.
    package func read(_ name: String, in folder: Folder, key: [UInt8]) -> Found {
        guard let bytes = root.contents(of: folder.path + "/" + name, limit: Int(clamping: limit))
        else { return .missing }
        guard let entry = EntryFile(bytes) else { return .damaged }
        return entry.key == key ? .entry(entry) : .missing
    }

    /// Puts the entry at the end of those to go when there is no room.
    package func touch(_ name: String, in folder: Folder) {
        root.touch(folder.path + "/" + name)
    }

    /// What is told of an entry before its body; `nil` for what is none.
    package func head(_ name: String, in folder: Folder) -> EntryFile? {
        guard let open = try? existing(folder) else { return nil }
        return Self.head(of: name, in: open)?.0
    }

    /// The names of the entries in a folder.
    package func names(in folder: Folder) -> [String] {
        guard let open = try? existing(folder), let names = try? open.names() else { return [] }
        return names.filter { !$0.hasPrefix(".") }
    }

    private func existing(_ folder: Folder) throws(SystemError) -> Directory {
        let shard = try Directory.open(folder.shard, following: false, in: root)
        return try Directory.open(folder.rest, following: false, in: shard)
    }

    // MARK: Changing

    /// Writes an entry in place of the one that has the name.
    ///
    /// An entry that would take more than an eighth of the store is not written, and takes the
    /// older one away, which is no longer true.
    ///
    /// - Returns: whether it is there now. `false` for a full disk too: a cache goes on without.
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
        // A sweep may take an empty folder away just now.
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
        // What was there is older than what could not be written.
        remove(name, in: folder)
        return false
    }

    /// Takes an entry away. Whoever still has it in memory is told, even if the disk has lost it.
    ///
    /// - Returns: whether there was one.
    @discardableResult
    package func remove(_ name: String, in folder: Folder) -> Bool {
        defer { counters.add(1, to: folder.slot) }
        guard let open = try? existing(folder), let size = try? open.status(of: name)?.size,
            let isGone = try? open.remove(name), isGone
        else { return false }
        counters.add(-size, to: Self.totalBytes)
        return true
    }

    /// Takes an entry away if it is still the one that was seen: another process may have written a
    /// newer one meanwhile.
    ///
    /// - Parameter seen: with or without its body; `nil` for what could not be read.
    /// - Returns: whether it is gone.
    @discardableResult
    package func remove(_ name: String, in folder: Folder, ifStill seen: EntryFile?) -> Bool {
        guard let open = try? existing(folder), let aside = try? Self.temporaryName() else {
            return false
        }
        // Locked, as a file being written is: a sweep would take what is aside for a leftover.
        let locked = try? File.open(name, [.read, .write], in: open)
        defer { withExtendedLifetime(locked) {} }
        // Another one is just about to take it away, or has just written it.
        if let locked, (try? locked.lock()) == false { return false }
        defer { counters.add(1, to: folder.slot) }
        // Out of everybody's way first, so that what is looked at is what goes.
        guard (try? open.rename(name, to: aside, replacing: false)) != nil else { return false }
        let size = (try? open.status(of: aside)?.size) ?? 0
        let isSame: Bool
        if let seen {
            isSame = Self.head(at: aside, in: open).map { head, _ in
                head.key == seen.key && head.description == seen.description
                    && head.storedAt == seen.storedAt
                    && head.uselessAfter == seen.uselessAfter
            } ?? false
        } else {
            isSame = open.contents(of: aside, limit: Int(clamping: limit)).flatMap {
                EntryFile($0)
            } == nil
        }
        // A newer one goes back, unless one that is newer still has the name.
        if !isSame, (try? open.rename(aside, to: name, replacing: false)) != nil { return false }
        guard let isGone = try? open.remove(aside), isGone else { return false }
        counters.add(-size, to: Self.totalBytes)
        return isSame
    }

    /// Changes whenever everything is taken away, or everything of a kind, wherever it lies.
    package var clearings: Int64 { counters[Self.allStamp] }

    /// Changes whenever entries of the folder, or all, are taken away since they are no longer wanted
    /// or no longer true: an answer that was asked for before that is not stored after it.
    package func clearings(of folder: Folder) -> Stamp {
        Stamp(folder: counters[folder.slot + Self.slots], all: counters[Self.allStamp])
    }

    /// To be called before entries of the folder are taken away for such a reason.
    package func noteClearing(of folder: Folder) { counters.add(1, to: folder.slot + Self.slots) }

    /// Tells whoever has entries in memory that none of them is good any more.
    package func invalidateAll() { counters.add(1, to: Self.allStamp) }

    /// Tells whoever has entries of the folder in memory that they are no longer good.
    package func invalidate(_ folder: Folder) { counters.add(1, to: folder.slot) }

    /// Waits until the sweeps that were asked for are over.
    package func waitUntilSwept() { sweeper.wait() }

    // MARK: All of it

    /// Calls `body` with the head of each entry until it answers `false`; bodies are left out.
    /// Entries that others write or remove meanwhile may be told or not.
    package func forEach(
        _ body: (_ folder: Folder, _ name: String, _ head: EntryFile, _ size: Int64) -> Bool
    ) {
        EntrySweeper.forEachFile(in: root) { shard, rest, open, name in
            guard let (head, size) = Self.head(of: name, in: open) else { return true }
            return body(Self.folder(shard, rest), name, head, size)
        }
    }

    /// The same for the entries of one folder, without a look at the others.
    package func forEach(
        in folder: Folder, _ body: (_ name: String, _ head: EntryFile, _ size: Int64) -> Void
    ) {
        guard let open = try? existing(folder), let names = try? open.names() else { return }
        for name in names {
            if let (head, size) = Self.head(of: name, in: open) { body(name, head, size) }
        }
    }

    /// What is told of an entry before its body; `nil` for what is none.
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

    /// A text that names an entry's place in this store.
    package func place(of name: String, in folder: Folder) -> String { folder.path + "/" + name }

    /// The entry at a place, whatever its key; `nil` where there is none, and for other texts.
    package func entry(at place: String) -> EntryFile? {
        guard let (folder, name) = parse(place),
            let bytes = root.contents(of: folder.path + "/" + name, limit: Int(clamping: limit))
        else { return nil }
        return EntryFile(bytes)
    }

    /// The folder and name of a place; `nil` for other texts.
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

    /// How many files there are, and their bytes.
    package func usage() -> (count: Int, bytes: Int64) {
        var usage: (count: Int, bytes: Int64) = (0, 0)
        forEachName { _, _, size in
            usage.count += 1
            usage.bytes += size
        }
        return usage
    }

    /// Calls `body` with the folder, name and size of each entry; none is opened.
    package func forEachName(_ body: (_ folder: String, _ name: String, _ size: Int64) -> Void) {
        EntrySweeper.forEachFile(in: root) { shard, rest, open, name in
            if !name.hasPrefix("."), let size = try? open.status(of: name)?.size {
                body(shard + "/" + rest + "/", name, size)
            }
            return true
        }
    }

    /// Takes everything away.
    ///
    /// - Returns: how many entries there were.
    @discardableResult
    package func clear() -> Int {
        // Before, for what is being stored; and after, for what is being read meanwhile.
        counters.add(1, to: Self.allStamp)
        let count = Self.removeAll(in: root) { counters.add(-$0, to: Self.totalBytes) }
        counters.add(1, to: Self.allStamp)
        return count
    }

    /// Deletes every entry of a folder. Needs no room on the disk.
    ///
    /// - Parameter removed: called with the size of each.
    /// - Returns: how many entries there were.
    static func removeAll(in root: Directory, _ removed: (Int64) -> Void = { _ in }) -> Int {
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
