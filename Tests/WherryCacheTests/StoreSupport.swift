// Wherry: a folder for the tests of the cache storage
// SPDX-License-Identifier: Apache-2.0

import Foundation
import WherrySystem

@testable import WherryCache
@testable import WherryHTTP

/// It is always noon.
final class NoonClock: Clock {
    func now() -> Instant { Instant(nanoseconds: 0) }
    func wallSeconds() -> Double { Double(noon / 1000) }
    func realDelay(for nanoseconds: Int64) -> Int64? { nil }
    func observe(_ body: @escaping @Sendable () -> Void) -> ClockObservation? { nil }
}

/// A folder that is deleted at the end, and the workers that sweep it.
final class StoreBench: Sendable {
    let path: String
    let workers = WorkerPool()
    let clock = NoonClock()

    init() throws {
        path = NSTemporaryDirectory() + "wherry-cache-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    deinit {
        workers.close()
        try? FileManager.default.removeItem(atPath: path)
    }

    func store(
        limit: Int64 = 64 << 20,
        hash: @escaping @Sendable (String) -> [UInt8] = { Digest.hash(of: $0, .sha256) }
    ) throws -> EntryStore {
        try EntryStore(
            path + "/store", limit: limit, workers: workers, clock: clock, hash: hash)
    }

    func httpStore(limit: Int64 = 64 << 20, memory: Int = 1 << 20) throws -> HTTPCacheStore {
        HTTPCacheStore(try store(limit: limit), memoryLimit: memory)
    }

    func timedStore(memory: Int = 1 << 20) throws -> TimedCacheStore {
        TimedCacheStore(try store(), memoryLimit: memory)
    }

    /// Sets the time of the last use of an entry with the name "0".
    func setTime(_ time: Date, in folder: EntryStore.Folder) throws {
        try FileManager.default.setAttributes(
            [.modificationDate: time], ofItemAtPath: "\(path)/store/\(folder.path)/0")
    }

    /// Every file in the store's folder, with its relative path.
    var files: [String] {
        let all = FileManager.default.enumerator(atPath: path + "/store")
        return (all?.allObjects as? [String] ?? []).filter {
            var isFolder: ObjCBool = false
            let path = path + "/store/" + $0
            return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
                && !isFolder.boolValue
        }.sorted()
    }

    /// The files of entries: those in subfolders.
    var entryFiles: [String] { files.filter { $0.contains("/") } }

    func bytes(_ file: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(fileURLWithPath: path + "/store/" + file)))
    }

    func write(_ bytes: [UInt8], to file: String) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: path + "/store/" + file))
    }
}

func entry(_ body: String, key: String = "key", at time: Int64 = noon) -> EntryFile {
    EntryFile(
        key: Array(key.utf8), description: Array("about it".utf8), body: Bytes(body), storedAt: time
    )
}

/// Whether all bytes are the same: a mixture of two writes is not.
func isUniform(_ body: Bytes) -> Bool {
    body.first.map { body == Bytes([UInt8](repeating: $0, count: body.count)) } ?? true
}
