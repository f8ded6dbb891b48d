// Wherry: the timed cache on disk and in memory.
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import WherryHTTP
import WherrySystem

/// Stores responses by ``TimedKey``. The directory identifies base and URL, the file name
/// identifies method and parameters. So the responses of a URL, or of a URL and method, are found
/// together.
///
/// Calls may block for the disk, except for responses in memory.
package final class TimedCacheStore: Sendable {
    private final class Held: Sendable {
        let entry: TimedEntry
        let folder: EntryStore.Folder
        let stamp: EntryStore.Stamp
        /// The time of the last use recorded on disk, in milliseconds since 1970.
        let touchedAt: Atomic<Int64>

        init(entry: TimedEntry, folder: EntryStore.Folder, stamp: EntryStore.Stamp, at now: Int64) {
            self.entry = entry
            self.folder = folder
            self.stamp = stamp
            touchedAt = Atomic(now)
        }
    }

    /// The interval for recording on disk that a response in memory is used, in milliseconds, so
    /// that frequently used responses are not removed first (K18).
    private static let touchInterval: Int64 = 60_000

    package let entries: EntryStore
    private let memory: MemoryLayer<TimedKey, Held>
    /// The rules for secret query values.
    private let secretNames = Lock(Secrets())

    /// - Parameter memoryLimit: The maximum size of responses in memory, in bytes.
    package init(_ entries: EntryStore, memoryLimit: Int) {
        self.entries = entries
        memory = MemoryLayer(limit: memoryLimit)
    }

    package var memoryCost: Int { memory.cost }
    package func setMemoryLimit(_ bytes: Int) { memory.setLimit(bytes) }
    package func setSecrets(_ secrets: Secrets) { secretNames.withLock { $0 = secrets } }

    // MARK: Keys

    private func folder(_ prefix: String) -> EntryStore.Folder {
        entries.folder(of: "timed " + prefix)
    }

    /// The location of a response, and the key in its file.
    private struct Place {
        let folder: EntryStore.Folder
        let name: String
        let key: [UInt8]
    }

    /// Returns the place of a key. The name consists of the identifier's `method_parameters` and a
    /// digest of the rest of the key. The full key in the file is a keyed digest too, since its
    /// parts may be secret (SEC-C10).
    private func place(_ key: TimedKey) -> Place {
        let digest = entries.secret.digest(key.material, of: "timed")
        let name = key.isPlain ? key.own : key.own + "_" + Hex.encode(digest.prefix(16))
        return Place(folder: folder(key.prefix), name: name, key: digest)
    }

    // MARK: Reading

    /// An entry without its body, and its place.
    package struct Listed: Sendable {
        package let place: String
        package let entry: TimedEntry
        package let bodyBytes: Int64
    }

    /// Returns the response to a request. Deletes an unusable one, and returns the reason.
    ///
    /// - Parameter now: Milliseconds since 1970.
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

    /// Lists the usable entries, without bodies: all, those of a URL, or those of a URL and method
    /// (K8). Deletes unusable entries.
    ///
    /// - Parameters:
    ///   - url: The URL with the base of its requests; `nil` for all.
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
                // Skip the entry of another URL with the same digest.
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

    /// Lists the entries of a URL in the form that lists have, with any base (K8). For a URL as the
    /// caller wrote it, ``list(_:method:now:appVersion:)`` is faster.
    package func list(
        listed url: String, method: String? = nil, now: Int64, appVersion: String?
    ) -> [Listed] {
        let url = storedURL(url)
        return list(nil, method: method, now: now, appVersion: appVersion).filter {
            $0.entry.url == url
        }
    }

    /// Returns a listed entry with its body; `nil` if it no longer exists or is unusable.
    package func entry(at place: String, now: Int64, appVersion: String?) -> TimedEntry? {
        guard let file = entries.entry(at: place), let entry = TimedEntry(file),
            entry.refusal(at: now, appVersion: appVersion, cacheVersion: entry.cacheVersion) == nil
        else { return nil }
        return entry
    }

    // MARK: Writing

    /// Stores a response; a duration of 0 or less stores nothing (K1). On return the entry is on
    /// disk, and visible to all processes.
    ///
    /// - Returns: Whether it was stored.
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

    /// Removes a response.
    ///
    /// - Returns: Whether it existed.
    @discardableResult
    package func remove(_ key: TimedKey) -> Bool {
        memory.remove(key)
        let place = place(key)
        return entries.remove(place.name, in: place.folder)
    }

    /// Removes a response if it is still the one that was read (K20).
    ///
    /// - Returns: Whether it was removed.
    @discardableResult
    package func remove(_ key: TimedKey, ifStill entry: TimedEntry) -> Bool {
        memory.remove(key)
        let place = place(key)
        return entries.remove(place.name, in: place.folder, ifStill: file(entry, place))
    }

    /// Removes the responses of a URL, or of a URL and method (K9).
    ///
    /// - Parameter method: `nil` for any.
    /// - Returns: The number of responses.
    @discardableResult
    package func removeAll(base: String?, url: String, method: String? = nil) -> Int {
        let prefix = RequestIdentity.prefix(base: base, url: url)
        let folder = folder(prefix)
        let own = method.map { RequestIdentity.prefix(method: $0) }
        let names = entries.names(in: folder).filter { name in
            own.map { name.hasPrefix($0) } ?? true
        }
        let count = names.reduce(0) { $0 + (entries.remove($1, in: folder) ? 1 : 0) }
        // Responses that a sweep removed from the disk may still be in another client's memory.
        entries.invalidate(folder)
        return count
    }

    /// Deletes a listed response.
    ///
    /// - Returns: Whether it existed.
    package func remove(at place: String) -> Bool {
        guard let (folder, name) = entries.parse(place) else { return false }
        return entries.remove(name, in: folder)
    }

    /// Removes the responses of a method, for all URLs.
    ///
    /// - Returns: The number of responses.
    package func removeAll(method: String) -> Int {
        var count = 0
        entries.forEach { folder, name, head, _ in
            guard let entry = TimedEntry(head), entry.method == method else { return true }
            if entries.remove(name, in: folder) { count += 1 }
            return true
        }
        // Responses that a sweep removed from the disk may still be in another client's memory, for
        // any URL.
        entries.invalidateAll()
        return count
    }

    /// Removes all responses.
    ///
    /// - Returns: The number of responses.
    @discardableResult
    package func clear() -> Int {
        memory.removeAll()
        return entries.clear()
    }
}

extension TimedRefusal {
    /// The error for a request that may use only the cache.
    package var error: WherryError {
        switch self {
        case .missing: WherryError(.missing, "The cache has no entry for this request")
        case .damaged: WherryError(.damaged, "The cache entry for this request is damaged")
        case .clock:
            WherryError(
                .clock,
                "The cache entry for this request is newer than the current time. Check the clock of the system."
            )
        case .expired, .duration:
            WherryError(.stale, "The cache entry for this request has expired")
        case .appVersion:
            WherryError(
                .appVersion,
                "The cache entry for this request belongs to another version of the app")
        case .cacheVersion:
            WherryError(
                .cacheVersion, "The cache entry for this request has another cache version")
        }
    }
}

extension Clock {
    /// Milliseconds since 1970.
    package var wallMilliseconds: Int64 { Int64(wallSeconds() * 1000) }
}
