// Wherry: the caches of a client.
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import WherryCache
import WherryHTTP
import WherryRequests
import WherrySystem

/// Opens the stores in the client's cache directory on first use.
package final class ClientCaches: Sendable {
    private struct State {
        var timed: TimedCacheStore?
        var http: HTTPCacheStore?
        var diskLimit: Int64
        var memoryLimit: Int
        var secrets: Secrets
        var isClosed = false
        /// The keys being revalidated in the background.
        var revalidating: Set<HTTPCacheStore.Key> = []
    }

    private let folder: StorageFolder
    private let workers: WorkerPool
    private let clock: any Clock
    private let state: Lock<State>
    private let isHTTPOpen = Atomic(false)

    /// Whether this client has used its HTTP cache.
    package var hasHTTP: Bool { isHTTPOpen.load(ordering: .relaxed) }

    package init(
        folder: StorageFolder, workers: WorkerPool, clock: any Clock, options: OptionTable,
        secrets: Secrets = Secrets()
    ) {
        self.folder = folder
        self.workers = workers
        self.clock = clock
        state = Lock(
            State(
                diskLimit: options[.cacheMaxBytes],
                memoryLimit: Int(clamping: options[.cacheMemoryBytes]), secrets: secrets))
    }

    /// Returns the timed cache. Throws `bad_storage` or a file error if its directory cannot be
    /// created or used; the next call tries again.
    package func timed() throws(WherryError) -> TimedCacheStore {
        if let store = state.withLock({ $0.timed }), !store.entries.isLost { return store }
        let store = try open("timed") { TimedCacheStore($0, memoryLimit: $1) }
        // Another thread may have opened the same files first.
        return state.withLock { state in
            if let timed = state.timed, !timed.entries.isRemoved { return timed }
            state.timed = store
            store.setMemoryLimit(state.memoryLimit)
            store.setSecrets(state.secrets)
            store.entries.setLimit(state.diskLimit)
            if state.isClosed { store.entries.close() }
            return store
        }
    }

    /// Returns the HTTP cache, as above.
    package func http() throws(WherryError) -> HTTPCacheStore {
        if let store = state.withLock({ $0.http }), !store.entries.isLost { return store }
        let store = try open("http") { HTTPCacheStore($0, memoryLimit: $1) }
        return state.withLock { state in
            if let http = state.http, !http.entries.isRemoved { return http }
            state.http = store
            isHTTPOpen.store(true, ordering: .relaxed)
            store.setMemoryLimit(state.memoryLimit)
            store.setSecrets(state.secrets)
            store.entries.setLimit(state.diskLimit)
            if state.isClosed { store.entries.close() }
            return store
        }
    }

    /// Returns the HTTP cache if a client with the same directory has ever used it. Creates
    /// nothing.
    package func existingHTTP() throws(WherryError) -> HTTPCacheStore? {
        if let store = state.withLock({ $0.http }), !store.entries.isRemoved { return store }
        return try exists("http") ? http() : nil
    }

    /// Returns the timed cache, as above.
    package func existingTimed() throws(WherryError) -> TimedCacheStore? {
        if let store = state.withLock({ $0.timed }), !store.entries.isRemoved { return store }
        return try exists("timed") ? timed() : nil
    }

    private func exists(_ name: String) throws(WherryError) -> Bool {
        let path = try folder.place()
        do throws(SystemError) {
            _ = try Directory.open(path)
            _ = try Directory.open(path + "/" + name)
            return true
        } catch {
            if error.code == EntrySweeper.noSuchFile { return false }
            // The error names the problem with the directory, such as a file in its place.
            _ = try folder.path()
            return true
        }
    }

    /// Throws if the storage cannot be used. Checks a directory set by the program always, and the
    /// default one only if the HTTP cache is on. Creates the directory only for the HTTP cache.
    package func check(isOn: Bool) throws(WherryError) {
        if isOn { _ = try http() } else { try folder.check() }
    }

    /// Deletes all files of a cache that cannot be opened, for instance because the disk is full.
    ///
    /// - Returns: The number of entries; `nil` if the cache does not exist.
    package func clearUnopened(_ store: CacheStores) -> Int? {
        guard let path = try? folder.place(),
            let root = try? Directory.open(path + (store == .http ? "/http" : "/timed"))
        else { return nil }
        return EntryStore.removeAll(in: root)
    }

    private func open<Store>(
        _ name: String, _ make: (EntryStore, Int) -> Store
    ) throws(WherryError) -> Store {
        let path = try folder.path() + "/" + name
        let (limit, memory) = state.withLock { ($0.diskLimit, $0.memoryLimit) }
        do {
            let entries = try EntryStore(path, limit: limit, workers: workers, clock: clock)
            return make(entries, memory)
        } catch {
            throw WherryError(error).with {
                if [.badDirectory, .exists].contains($0.reason) { $0.reason = .badStorage }
            }
        }
    }

    /// Changes the size limits of the stores. Excess entries are removed in the background.
    package func setLimits(_ options: OptionTable) {
        state.withLock { state in
            state.diskLimit = options[.cacheMaxBytes]
            state.memoryLimit = Int(clamping: options[.cacheMemoryBytes])
            state.timed?.setMemoryLimit(state.memoryLimit)
            state.timed?.entries.setLimit(state.diskLimit)
            state.http?.setMemoryLimit(state.memoryLimit)
            state.http?.entries.setLimit(state.diskLimit)
        }
    }

    /// Changes which query values are stored as digests.
    package func setSecrets(_ secrets: Secrets) {
        let (timed, http) = state.withLock { state in
            state.secrets = secrets
            return (state.timed, state.http)
        }
        timed?.setSecrets(secrets)
        http?.setSecrets(secrets)
    }

    /// The size of all responses in memory, in bytes.
    package var memoryBytes: Int {
        let (timed, http) = state.withLock { ($0.timed, $0.http) }
        return (timed?.memoryCost ?? 0) + (http?.memoryCost ?? 0)
    }

    /// Returns whether the caller should revalidate a key in the background. Only one caller does
    /// until ``endRevalidation(of:)``.
    package func beginRevalidation(of key: HTTPCacheStore.Key) -> Bool {
        state.withLock { !$0.isClosed && $0.revalidating.insert(key).inserted }
    }

    package func endRevalidation(of key: HTTPCacheStore.Key) {
        state.withLock { _ = $0.revalidating.remove(key) }
    }

    /// Stops background work soon.
    package func close() {
        let (timed, http) = state.withLock { state in
            state.isClosed = true
            return (state.timed, state.http)
        }
        timed?.entries.close()
        http?.entries.close()
    }
}
