// Wherry: background cleanup of a store.
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
import WherrySystem

/// Counts the files of a store, removes leftovers and useless entries, and then the least recently
/// used ones until the rest fits.
///
/// One process sweeps at a time, also on behalf of others.
package final class EntrySweeper: Sendable {
    package static let noSuchFile = ENOENT
    static let nameTaken = EEXIST
    static let badFile = EIO

    /// The time that a file may be ahead of the clock, in nanoseconds.
    private static let clockTolerance: Int64 = 5_000_000_000

    private struct State {
        /// The time of the pending request for a sweep, in milliseconds since 1970.
        var wantedAt: Int64?
        var isRunning = false
        var isStopped = false
    }

    private let state = Monitor(State())
    private let stopped = Atomic(false)
    private let root: Directory
    private let counters: SharedCounters
    private let limits: EntryStore.Limits
    private var limit: Int64 { limits.bytes.load(ordering: .relaxed) }
    private let workers: WorkerPool
    private let clock: any Clock

    init(
        root: Directory, counters: SharedCounters, limits: EntryStore.Limits, workers: WorkerPool,
        clock: any Clock
    ) {
        self.root = root
        self.counters = counters
        self.limits = limits
        self.workers = workers
        self.clock = clock
    }

    /// Requests a sweep; a request during a sweep starts another one after it.
    ///
    /// A late sweep keeps entries that became useless only after this call. Otherwise the sweep of
    /// a newly opened store could, on a busy machine, remove an entry that a request is about to
    /// find expired.
    func request() {
        let now = Int64(clock.wallSeconds() * 1000)
        let mustStart = state.update { state -> Bool in
            guard !state.isStopped else { return false }
            state.wantedAt = now
            guard !state.isRunning else { return false }
            state.isRunning = true
            return true
        }
        if mustStart { workers.submit { [self] in run() } }
    }

    /// Stops a running sweep soon. Does not wait for it.
    func stop() {
        stopped.store(true, ordering: .relaxed)
        state.update { $0.isStopped = true }
    }

    /// Waits until no sweep is pending or running.
    func wait() {
        _ = state.wait { state -> Void? in state.isRunning ? nil : () }
    }

    private func run() {
        while true {
            let wantedAt = state.update { state -> Int64? in
                defer { state.wantedAt = nil }
                if state.isStopped { state.wantedAt = nil }
                if state.wantedAt == nil { state.isRunning = false }
                return state.wantedAt
            }
            guard let wantedAt else { return }
            // Without the lock another process is sweeping, or the disk fails: the next write
            // requests a sweep again.
            if let lock = try? File.open("sweep", [.read, .write, .create], in: root),
                (try? lock.lock()) == true
            {
                sweep(wantedAt: wantedAt)
                try? lock.unlock()
            }
        }
    }

    private func sweep(wantedAt: Int64) {
        var total: Int64 = 0
        var current = ""
        var future: Int64 = .max
        let before = counters[EntryStore.totalBytes]
        // Leaves room for what others write in the meantime: a hundredth of the limit.
        var list = EvictionList(
            bytes: before > limit ? before.subtractingSaturating(goal - limit / 100) : 0)
        for name in (try? root.names()) ?? [] where name.hasPrefix(".") {
            removeLeftover(name, in: root)
        }
        removeMarks()
        Self.forEachFile(in: root) { shard, rest, open, name in
            if stopped.load(ordering: .relaxed) { return false }
            guard let status = try? open.status(of: name) else { return true }
            if name.hasPrefix(".") {
                removeLeftover(name, in: open)
                return true
            }
            if status.kind != .regular || isUseless(name, in: open, at: wantedAt) {
                _ = try? open.remove(name)
                return true
            }
            if shard != current {
                current = shard
                future = fileTime.addingSaturating(Self.clockTolerance)
            }
            total += status.size
            // A file from the future, stored while the clock was ahead, counts as the least
            // recently used.
            let modified = status.modifiedNanoseconds
            list.add(
                EvictionList.File(
                    shard: shard, rest: rest, name: name, size: status.size, modified: modified,
                    used: modified > future ? 0 : modified))
            return true
        }
        guard !stopped.load(ordering: .relaxed) else { return }
        // Keeps the changes that others made during the count.
        let after = counters[EntryStore.totalBytes]
        counters.add(total - before, to: EntryStore.totalBytes)
        evict(list.sorted(), total: total.addingSaturating(after - before))
        removeEmptyFolders()
    }

    /// Removes entries down to nine tenths of the limit, so that the next writes do not start
    /// another sweep.
    private func evict(_ files: [EvictionList.File], total: Int64) {
        guard total > limit else { return }
        var total = total
        var hasRemoved = false
        for file in files {
            guard total > goal, !stopped.load(ordering: .relaxed) else { break }
            guard let shard = try? Directory.open(file.shard, following: false, in: root),
                let open = try? Directory.open(file.rest, following: false, in: shard),
                // Keep an entry that was used or replaced after it was counted.
                let status = try? open.status(of: file.name),
                status.modifiedNanoseconds == file.modified,
                let isGone = try? open.remove(file.name), isGone
            else { continue }
            total -= file.size
            hasRemoved = true
            counters.add(-file.size, to: EntryStore.totalBytes)
        }
        // The list was too short: the counter was wrong, or there are very many small entries. If
        // nothing can be removed, another sweep does not help.
        if total > limit && (hasRemoved || files.isEmpty) { request() }
    }

    private var goal: Int64 { limit / 10 * 9 }

    /// The current time of the file system's clock.
    private var fileTime: Int64 {
        root.touch("sweep")
        return (try? root.status(of: "sweep"))??.modifiedNanoseconds ?? .max
    }

    /// Removes the marks of background validations abandoned long ago.
    private func removeMarks() {
        ValidationMark.removeAll(
            in: root, before: fileTime.subtractingSaturating(ValidationMark.longestNanoseconds))
    }

    /// Removes a leftover. A file being written is locked; one whose writer died is not (SEC-C6).
    private func removeLeftover(_ name: String, in open: Directory) {
        guard let file = try? File.open(name, [.read, .write], in: open),
            (try? file.isLockedElsewhere()) == true
        else {
            _ = try? open.remove(name)
            return
        }
    }

    /// Returns whether the entry was useless at a time, according to its owner. Reads only the
    /// fixed part of the header, without verifying it.
    private func isUseless(_ name: String, in open: Directory, at time: Int64) -> Bool {
        guard let file = try? File.open(name, [.read], in: open),
            let bytes = try? file.read(EntryFile.fixedCount, at: 0)
        else { return false }
        guard let end = EntryFile.uselessAfter(fixed: bytes) else { return true }
        return end < time
    }

    private func removeEmptyFolders() {
        for shard in Self.shards(of: root) {
            guard let open = try? Directory.open(shard, following: false, in: root) else {
                continue
            }
            for rest in (try? open.names()) ?? [] {
                if stopped.load(ordering: .relaxed) { return }
                // Fails if the directory is not empty, as intended.
                _ = try? open.removeDirectory(rest)
            }
        }
    }

    private static func shards(of root: Directory) -> [String] {
        ((try? root.names()) ?? []).filter {
            $0.utf8.count == 2 && Hex.isLowercase($0)
        }
    }

    /// Calls `body` with every file until it returns `false`.
    static func forEachFile(
        in root: Directory,
        _ body: (_ shard: String, _ rest: String, _ folder: Directory, _ name: String) -> Bool
    ) {
        for shard in shards(of: root) {
            guard let outer = try? Directory.open(shard, following: false, in: root) else {
                continue
            }
            for rest in (try? outer.names()) ?? [] {
                guard let folder = try? Directory.open(rest, following: false, in: outer) else {
                    continue
                }
                for name in (try? folder.names()) ?? [] {
                    if !body(shard, rest, folder, name) { return }
                }
            }
        }
    }
}

extension EntryFile {
    /// Reads the time after which a file is useless from the fixed part of its header; `nil` if it
    /// is not an entry of this version.
    static func uselessAfter(fixed bytes: [UInt8]) -> Int64? {
        guard bytes.count == fixedCount, bytes.starts(with: "WhrC".utf8) else { return nil }
        var version = BinaryReader(Array(bytes[4..<6]))
        guard version.integer(UInt16.self) == Self.version else { return nil }
        var reader = BinaryReader(Array(bytes[32..<40]))
        return reader.integer(Int64.self)
    }
}

extension Hex {
    /// Returns whether the text consists of digits that ``encode`` writes.
    static func isLowercase(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 >= 0x30 && $0 <= 0x39 || $0 >= 0x61 && $0 <= 0x66 }
    }
}
