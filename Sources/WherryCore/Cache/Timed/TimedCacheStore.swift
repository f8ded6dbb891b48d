// Wherry: the answers of the timed cache, on disk and in memory.
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import WherrySystem

/// Keeps answers by ``TimedKey``: the folder is that of base and URL, the file's name that of
/// method and parameters, so that a URL's answers, or those of one method, are found together.
///
/// Every call may block for the disk, but for what is in memory.
package final class TimedCacheStore: Sendable {
    private final class Held: Sendable {
        let entry: TimedEntry
        let folder: EntryStore.Folder
        let stamp: EntryStore.Stamp
        /// When the disk last heard that it is used; milliseconds since 1970.
        let touchedAt: Atomic<Int64>

        init(entry: TimedEntry, folder: EntryStore.Folder, stamp: EntryStore.Stamp, at now: Int64) {
            self.entry = entry
            self.folder = folder
            self.stamp = stamp
            touchedAt = Atomic(now)
        }
    }

    /// Uses in memory are told to the disk once in so many milliseconds, so that what is used most
    /// is not the first to go (K18).
    private static let touchInterval: Int64 = 60_000

    package let entries: EntryStore
    private let memory: MemoryLayer<TimedKey, Held>
    /// Which values in queries are secret.
    private let secretNames = Lock(Secrets())

    /// - Parameter memoryLimit: bytes of answers that are held in memory.
    package init(_ entries: EntryStore, memoryLimit: Int) {
        self.entries = entries
        memory = MemoryLayer(limit: memoryLimit)
    }

    package var memoryCost: Int { memory.cost }
    package func setMemoryLimit(_ bytes: Int) { memory.setLimit(bytes) }
    package func setSecrets(_ secrets: Secrets) { secretNames.withLock { $0 = secrets } }

    // MARK: Names

    private func folder(_ prefix: String) -> EntryStore.Folder {
        entries.folder(of: "timed " + prefix)
    }

    /// Where an answer lies, and the key that its file begins with.
    private struct Place {
        let folder: EntryStore.Folder
        let name: String
        let key: [UInt8]
    }

    /// The name is `method_parameters` of the identifier, and a digest of what else counts. The
    /// full key is a keyed digest, too: what it is made of may be secret (SEC-C10).
    private func place(_ key: TimedKey) -> Place {
        let digest = entries.secret.digest(key.material, of: "timed")
        let name = key.isPlain ? key.own : key.own + "_" + Hex.encode(digest.prefix(16))
        return Place(folder: folder(key.prefix), name: name, key: digest)
    }

    // MARK: Reading

    /// An entry without its body, and where it lies.
    package struct Listed: Sendable {
        package let place: String
        package let entry: TimedEntry
        package let bodyBytes: Int64
    }

    /// The answer to a request. What may not be given is deleted, and why is said.
    ///
    /// - Parameter now: milliseconds since 1970.
    package func read(
        _ key: TimedKey, now: Int64, appVersion: String?, cacheVersion: Int64 = 0
    ) -> Result<TimedEntry, TimedRefusal> {
        if let held = memory.value(key), held.stamp == entries.stamp(held.folder),
            held.entry.refusal(at: now, appVersion: appVersion, cacheVersion: cacheVersion) == nil
        {
            let last = held.touchedAt.load(ordering: .relaxed)
            if now.subtractingSaturating(last).magnitude >= Self.touchInterval.magnitude {
                held.touchedAt.store(now, ordering: .relaxed)
                entries.touch(place(key).name, in: held.folder)
            }
            return .success(held.entry)
        }
        memory.remove(key)
        let place = place(key)
        let (folder, name) = (place.folder, place.name)
        let stamp = entries.stamp(folder)
        switch entries.read(name, in: folder, key: place.key) {
        case .missing: return .failure(.missing)
        case .damaged:
            entries.remove(name, in: folder, ifStill: nil)
            return .failure(.damaged)
        case .entry(let file):
            let entry = TimedEntry(file)
            let refusal =
                entry.map {
                    $0.refusal(at: now, appVersion: appVersion, cacheVersion: cacheVersion)
                } ?? .damaged
            guard let entry, refusal == nil else {
                entries.remove(name, in: folder, ifStill: file)
                return .failure(refusal ?? .damaged)
            }
            entries.touch(name, in: folder)
            memory.insert(
                Held(entry: entry, folder: folder, stamp: stamp, at: now), for: key,
                cost: entry.body.count + entry.block.count + 1024)
            return .success(entry)
        }
    }

    /// What is stored and good, of all URLs or of one, or of one and a method (K8). What may not
    /// be given is deleted and left out. Bodies are left out too.
    ///
    /// - Parameters:
    ///   - url: with the base of its requests; `nil` for all.
    ///   - method: `nil` for any.
    package func list(
        _ url: (base: String?, url: String)? = nil, method: String? = nil, now: Int64,
        appVersion: String?
    ) -> [Listed] {
        var found: [Listed] = []
        func look(_ folder: EntryStore.Folder, _ name: String, _ head: EntryFile, _ size: Int64) {
            guard let entry = TimedEntry(head), method == nil || entry.method == method else {
                return
            }
            if entry.refusal(at: now, appVersion: appVersion, cacheVersion: entry.cacheVersion)
                == nil
            {
                found.append(
                    Listed(
                        place: entries.place(of: name, in: folder), entry: entry,
                        bodyBytes: size - Int64(head.headCount)))
            } else {
                entries.remove(name, in: folder, ifStill: head)
            }
        }
        if let url {
            let prefix = RequestIdentity.prefix(base: url.base, url: url.url)
            let folder = folder(prefix)
            entries.forEach(in: folder) { name, head, size in
                // Another URL's, by a collision of the folders, is none of this one's.
                guard TimedEntry(head)?.identifier.hasPrefix(prefix) == true else { return }
                look(folder, name, head, size)
            }
        } else {
            entries.forEach { folder, name, head, size in
                look(folder, name, head, size)
                return true
            }
        }
        return found
    }

    /// The entries with a URL as a list has it, whatever their base (K8). A URL as the caller wrote it
    /// is found faster by ``list(_:method:now:appVersion:)``.
    package func list(
        listed url: String, method: String? = nil, now: Int64, appVersion: String?
    ) -> [Listed] {
        let url = storedURL(url)
        return list(nil, method: method, now: now, appVersion: appVersion).filter {
            $0.entry.url == url
        }
    }

    /// A listed entry, with its body; `nil` if it is gone or no longer good.
    package func entry(at place: String, now: Int64, appVersion: String?) -> TimedEntry? {
        guard let file = entries.entry(at: place), let entry = TimedEntry(file),
            entry.refusal(at: now, appVersion: appVersion, cacheVersion: entry.cacheVersion) == nil
        else { return nil }
        return entry
    }

    // MARK: Changing

    /// Stores an answer; a duration of 0 or less stores nothing (K1). It is on disk, for this and
    /// every other process, when this returns.
    ///
    /// - Returns: whether it is stored.
    @discardableResult
    package func write(_ entry: TimedEntry, for key: TimedKey) -> Bool {
        guard entry.duration > 0 else { return false }
        memory.remove(key)
        let place = place(key)
        return entries.write(file(entry, place), to: place.name, in: place.folder)
    }

    private func storedURL(_ url: String) -> String {
        StoredURL(secrets: secretNames.withLock { $0 }, secret: entries.secret)
            .text(url, isListed: true)
    }

    private func file(_ entry: TimedEntry, _ place: Place) -> EntryFile {
        var entry = entry
        entry.url = storedURL(entry.url)
        return EntryFile(
            key: place.key, description: entry.description(), body: entry.body,
            storedAt: entry.storedAt,
            uselessAfter: entry.storedAt.addingSaturating(entry.duration))
    }

    /// Takes one answer away.
    ///
    /// - Returns: whether there was one.
    @discardableResult
    package func remove(_ key: TimedKey) -> Bool {
        memory.remove(key)
        let place = place(key)
        return entries.remove(place.name, in: place.folder)
    }

    /// Takes one answer away if it is still the one that was read (K20).
    ///
    /// - Returns: whether it is gone.
    @discardableResult
    package func remove(_ key: TimedKey, ifStill entry: TimedEntry) -> Bool {
        memory.remove(key)
        let place = place(key)
        return entries.remove(place.name, in: place.folder, ifStill: file(entry, place))
    }

    /// Takes away what is stored for a URL, or for a URL and a method (K9).
    ///
    /// - Parameter method: `nil` for any.
    /// - Returns: how many answers.
    @discardableResult
    package func removeAll(base: String?, url: String, method: String? = nil) -> Int {
        let prefix = RequestIdentity.prefix(base: base, url: url)
        let folder = folder(prefix)
        let own = method.map { RequestIdentity.prefix(method: $0) }
        let names = entries.names(in: folder).filter { name in
            own.map { name.hasPrefix($0) } ?? true
        }
        let count = names.reduce(0) { $0 + (entries.remove($1, in: folder) ? 1 : 0) }
        // What a sweep took from the disk may still be in somebody's memory.
        entries.invalidate(folder)
        return count
    }

    /// Deletes a listed response.
    ///
    /// - Returns: whether it was there.
    package func remove(at place: String) -> Bool {
        guard let (folder, name) = entries.parse(place) else { return false }
        return entries.remove(name, in: folder)
    }

    /// Takes away what is stored for a method, whatever the URL.
    ///
    /// - Returns: how many answers.
    package func removeAll(method: String) -> Int {
        var count = 0
        entries.forEach { folder, name, head, _ in
            guard let entry = TimedEntry(head), entry.method == method else { return true }
            if entries.remove(name, in: folder) { count += 1 }
            return true
        }
        // What a sweep took from the disk may still be in somebody's memory, under any URL.
        entries.invalidateAll()
        return count
    }

    /// Takes everything away.
    ///
    /// - Returns: how many answers.
    @discardableResult
    package func clear() -> Int {
        memory.removeAll()
        return entries.clear()
    }
}
