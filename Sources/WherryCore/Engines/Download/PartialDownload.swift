// Wherry: unfinished downloads on disk
// SPDX-License-Identifier: Apache-2.0

import Glibc
import WherrySystem

/// A download that was begun and not finished, as its journal tells. Looking at it starts nothing.
public struct PartialDownload: Hashable, Sendable {
    /// Of the file to be.
    public var path: String
    /// Of the part.
    public var partialPath: String
    package var journalPath: String
    /// As it may be shown; cut if it was very long.
    public var url: String
    /// Bytes that are there for certain.
    public var bytes: Int64
    /// Of the whole; `nil` while unknown.
    public var total: Int64?
    package var validator: StrongValidator?
    /// Of the URL it was begun with.
    package var identity: DownloadIdentity
    package var expected: DownloadDigest?
    /// Whether a download in this or another process is at it just now.
    public var isRunning: Bool

    /// 0.00 to 1.00 in steps of 0.01, rounded down so that only the whole is 1; -1 while the whole
    /// is unknown.
    public var ratio: Double {
        guard let total else { return -1 }
        guard total > 0, bytes < total else { return 1 }
        return Double(Int(Double(max(0, bytes)) / Double(total) * 100)) / 100
    }

    /// The partials of a directory, in the order of their paths. Journals that say nothing of use,
    /// or whose part is gone, are passed over.
    ///
    /// - Throws: what the file system says of the directory.
    package static func list(in directory: String) throws(DownloadError) -> [PartialDownload] {
        try DownloadError.naming { () throws(SystemError) in
            let opened = try Directory.open(directory)
            return try opened.names().compactMap { name -> PartialDownload? in
                guard let parsed = PartNames.parse(name), parsed.isJournal else { return nil }
                return read(parsed.names, in: opened)
            }.sorted { ($0.path, $0.partialPath) < ($1.path, $1.partialPath) }
        }
    }

    /// The partials of one target: the foreground's, and those of background sessions.
    ///
    /// - Parameter path: of the file to be, or of a part or journal.
    /// - Returns: none if the directory is missing too.
    package static func of(_ path: String) throws(DownloadError) -> [PartialDownload] {
        guard
            let (directory, names) = try DownloadError.naming({ () throws(SystemError) in
                try candidates(path)
            })
        else { return [] }
        return names.compactMap { read($0, in: directory) }
    }

    /// Deletes the partials and journals of a target.
    ///
    /// - Parameter path: of the file to be, or of a part or journal. The file itself stays.
    /// - Returns: how many there were.
    /// - Throws: `busy` while a download holds one; the others are gone then.
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
                    .busy, "A download is writing \(directory.path(of: name.part))")
            }
        }
        if let busy { throw busy }
        return count
    }

    /// The directory of a target and the names of all partials in it that are the target's;
    /// `nil` without a directory.
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
            // A directory under such a name is not a partial file, and blocks nothing.
            if try directory.status(of: parsed.names.part)?.kind == .directory { continue }
            if try directory.status(of: entry)?.kind == .directory { continue }
            if parsed.names.stem == PartNames.stem(name) {
                // A stem that was cut may be another file's, which the journal tells.
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
            validator: record.facts.validator, identity: record.identity, expected: record.facts.expected,
            isRunning: PartFile.isInUse(names, in: directory))
    }

    /// Removes both files under the lock.
    ///
    /// - Returns: false if a download holds it.
    private static func remove(_ names: PartNames, in directory: Directory)
        throws(SystemError) -> Bool
    {
        // Made if it is missing: whoever holds it is alone with the journal too.
        guard let file = try PartFile.lockedFile(names.part, in: directory) else { return false }
        defer { withExtendedLifetime(file) {} }
        // The journal first: a part that nothing claims is emptied by whoever comes next.
        if try directory.status(of: names.journal)?.kind != .directory {
            try directory.remove(names.journal)
        }
        try directory.remove(names.part)
        return true
    }
}
