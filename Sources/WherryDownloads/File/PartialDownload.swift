// Wherry: unfinished downloads on disk.
// SPDX-License-Identifier: Apache-2.0

import Glibc
import WherrySystem

/// An unfinished download, as described by its journal. Reading it does not start the download.
public struct PartialDownload: Hashable, Sendable {
    /// The path of the finished file.
    public var path: String
    /// The path of the partial file.
    public var partialPath: String
    package var journalPath: String
    /// The URL without secrets, truncated if it was very long.
    public var url: String
    /// The number of bytes that are safely on disk.
    public var bytes: Int64
    /// The length of the whole file; `nil` while unknown.
    public var total: Int64?
    package var validator: StrongValidator?
    /// The identity of the URL that the download began with.
    package var identity: DownloadIdentity
    package var expected: DownloadDigest?
    /// Whether a download in this or another process is writing the partial file.
    public var isRunning: Bool

    /// The completed fraction, 0.00 to 1.00 in steps of 0.01, rounded down so that only a complete
    /// file is 1; -1 while the length is unknown.
    public var ratio: Double {
        guard let total else { return -1 }
        guard total > 0, bytes < total else { return 1 }
        return Double(Int(Double(max(0, bytes)) / Double(total) * 100)) / 100
    }

    /// Returns the partial downloads in a directory, sorted by path. Ignores journals that are
    /// unusable or have no partial file.
    ///
    /// - Throws: A file system error of the directory.
    package static func list(in directory: String) throws(DownloadError) -> [PartialDownload] {
        try DownloadError.naming { () throws(SystemError) in
            let opened = try Directory.open(directory)
            return try opened.names().compactMap { name -> PartialDownload? in
                guard let parsed = PartNames.parse(name), parsed.isJournal else { return nil }
                return read(parsed.names, in: opened)
            }.sorted { ($0.path, $0.partialPath) < ($1.path, $1.partialPath) }
        }
    }

    /// Returns the partial downloads of one target, including those of background sessions.
    ///
    /// - Parameter path: The path of the finished file, the partial file or the journal.
    /// - Returns: The partial downloads; none if the directory is missing.
    package static func of(_ path: String) throws(DownloadError) -> [PartialDownload] {
        guard
            let (directory, names) = try DownloadError.naming({ () throws(SystemError) in
                try candidates(path)
            })
        else { return [] }
        return names.compactMap { read($0, in: directory) }
    }

    /// Deletes the partial files and journals of a target.
    ///
    /// - Parameter path: The path of the finished file, the partial file or the journal. The
    ///   finished file itself stays.
    /// - Returns: The number of deleted partial downloads.
    /// - Throws: `busy` if a download has locked one of them. The others are deleted then.
    @discardableResult
    package static func discard(_ path: String) throws(DownloadError) -> Int {
        guard
            let (directory, names) = try DownloadError.naming({ () throws(SystemError) in
                try candidates(path)
            })
        else { return 0 }
        var count = 0
        var busy: DownloadError?
        for name in names {
            let isFree = try DownloadError.naming { () throws(SystemError) in
                try remove(name, in: directory)
            }
            if isFree {
                count += 1
            } else {
                busy = DownloadError(
                    .busy,
                    "A download is writing \(directory.path(of: name.part)). Wait for it, or cancel it."
                )
            }
        }
        if let busy { throw busy }
        return count
    }

    /// Returns the directory of a target and the names of its partial files; `nil` if the directory
    /// is missing.
    private static func candidates(_ path: String)
        throws(SystemError) -> (Directory, [PartNames])?
    {
        let (parent, name) = Directory.split(try Directory.absolute(path))
        let directory: Directory
        do throws(SystemError) {
            directory = try Directory.open(parent)
        } catch {
            guard error.code == ENOENT else { throw error }
            return nil
        }
        if let parsed = PartNames.parse(name) {
            let part = try directory.status(of: parsed.names.part)
            let journal = try directory.status(of: parsed.names.journal)
            return (directory, part == nil && journal == nil ? [] : [parsed.names])
        }
        var found = Set<PartNames>()
        for entry in try directory.names() {
            guard let parsed = PartNames.parse(entry) else { continue }
            // A directory of that name is not a partial file and does not get in the way.
            if try directory.status(of: parsed.names.part)?.kind == .directory { continue }
            if try directory.status(of: entry)?.kind == .directory { continue }
            if parsed.names.stem == PartNames.stem(name) {
                // A truncated stem may belong to another file. The journal has the whole name.
                if let record = record(parsed.names, in: directory), record.name != name {
                    continue
                }
                found.insert(parsed.names)
            } else if parsed.isJournal, record(parsed.names, in: directory)?.name == name {
                found.insert(parsed.names)
            }
        }
        return (directory, found.sorted { $0.digits < $1.digits })
    }

    private static func record(_ names: PartNames, in directory: Directory) -> JournalRecord? {
        guard let journal = try? JournalFile.open(names.journal, in: directory, isReadOnly: true)
        else { return nil }
        return try? journal.read()
    }

    private static func read(_ names: PartNames, in directory: Directory) -> PartialDownload? {
        guard var record = record(names, in: directory),
            let status = try? directory.status(of: names.part), status.isPlainAndOurs,
            status.inode == record.inode
        else { return nil }
        record.ranges.clip(to: status.size)
        return PartialDownload(
            path: directory.path(of: record.name), partialPath: directory.path(of: names.part),
            journalPath: directory.path(of: names.journal), url: record.url,
            bytes: record.ranges.count, total: record.facts.total,
            validator: record.facts.validator, identity: record.identity,
            expected: record.facts.expected,
            isRunning: PartFile.isInUse(names, in: directory))
    }

    /// Removes both files under the lock.
    ///
    /// - Returns: False if a download has locked the partial file.
    private static func remove(_ names: PartNames, in directory: Directory)
        throws(SystemError) -> Bool
    {
        // Creates the file if it is missing: its lock also protects the journal.
        guard let file = try PartFile.lockedFile(names.part, in: directory) else { return false }
        defer { withExtendedLifetime(file) {} }
        // Remove the journal first: the next download empties a partial file without a journal.
        if try directory.status(of: names.journal)?.kind != .directory {
            try directory.remove(names.journal)
        }
        try directory.remove(names.part)
        return true
    }
}
