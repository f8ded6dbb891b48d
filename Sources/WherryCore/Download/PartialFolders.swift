// Wherry: the directories with partial downloads, recorded for later processes.
// SPDX-License-Identifier: Apache-2.0

import Glibc
import WherryCache
import WherryDownloads
import WherrySystem

/// Records the directories that a program downloads into. The storage folder's `downloads` has one
/// small file with the path of each directory. If a process ends before its downloads, later
/// processes can count and clear its partial files.
///
/// A record outlives the partial files, because another process may start a download into the
/// directory at any time. Each start of a download renews the record. An old record of a directory
/// without partial files is deleted.
///
/// If the storage folder cannot be written, downloads still run, and only the directories of this
/// process are known.
final class PartialFolders: Sendable {
    private let storage: StorageFolder
    private let clock: any Clock

    /// The maximum length of a path in bytes.
    private static let mostBytes = 4096
    /// The age in seconds at which the record of a directory without partial files is deleted.
    private static let longestAge = 30 * 86400.0
    /// The age in seconds at which a record is written again when a download starts.
    private static let freshAge = 86400.0

    init(_ storage: StorageFolder, clock: any Clock) {
        self.storage = storage
        self.clock = clock
    }

    /// Records a directory into which a download starts. Never waits for the disk.
    ///
    /// Each start checks the record, because another process may have deleted it.
    func note(_ directory: String, on workers: WorkerPool) {
        workers.submit { [self] in
            guard let folder = try? open() else { return }
            let name = Self.name(of: directory)
            if let age = age(of: name, in: folder), age < Self.freshAge { return }
            guard let temporary = try? EntryStore.temporaryName() else { return }
            try? folder.write([Bytes(directory)], to: name, temporary: temporary)
        }
    }

    /// The recorded directories in order. Deletes records that are older than 30 days if the
    /// directory has no partial files. A directory that cannot be listed keeps its record. Creates
    /// no folder.
    var directories: [String] {
        guard let place = try? storage.place(),
            let folder = try? Directory.open(place + "/downloads", following: false),
            let names = try? folder.names()
        else { return [] }
        var found: [String] = []
        for name in names where !name.hasPrefix(".") {
            guard let bytes = folder.contents(of: name, limit: Self.mostBytes) else { continue }
            let directory = String(decoding: bytes.array, as: UTF8.self)
            guard Self.name(of: directory) == name else { continue }
            if let age = age(of: name, in: folder), age > Self.longestAge,
                Self.isFinished(directory)
            {
                // The next call tries again to delete this record.
                _ = try? folder.remove(name)
            } else {
                found.append(directory)
            }
        }
        return found.sorted()
    }

    /// Whether a directory is known to have no partial files, or no longer exists.
    private static func isFinished(_ directory: String) -> Bool {
        do throws(DownloadError) {
            return try PartialDownload.list(in: directory).isEmpty
        } catch {
            return error.osCode == ENOENT
        }
    }

    /// Returns the seconds since a record was written. `nil` without a record. Negative if the
    /// clock was set back.
    private func age(of name: String, in folder: Directory) -> Double? {
        guard let status = (try? folder.status(of: name)) ?? nil else { return nil }
        return clock.wallSeconds() - Double(status.modifiedNanoseconds) / 1e9
    }

    private func open() throws -> Directory {
        try Directory.openPrivate(try storage.path() + "/downloads")
    }

    private static func name(of directory: String) -> String {
        Hex.encode(Array(Digest.hash(of: directory, .sha256).prefix(16)))
    }
}
