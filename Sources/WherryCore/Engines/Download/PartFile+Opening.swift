// Wherry: how a download finds, makes and locks its partial file
// SPDX-License-Identifier: Apache-2.0

import Glibc
import WherrySystem

extension PartFile {
    /// Opens or makes the part of a target and locks it.
    ///
    /// - Parameters:
    ///   - fileSystem: `nil` to look. Where its locks are known to lie, the part gets a name of its own
    ///     and no journal: no other run can go on with it (DR24).
    ///   - resumes: whether the download can resume the part of another query of its URL, by that
    ///     part's record. `nil`, the default, if it never does. Only a download that the server names
    ///     asks: the part of a named target is the same for all URLs.
    /// - Throws: `busy` if another download holds it, and what the file system says.
    package static func open(
        _ target: DownloadTarget, _ identity: Identity, on fileSystem: FileSystem? = nil,
        resumes: ((JournalRecord) -> Bool)? = nil
    ) throws(DownloadError) -> Found {
        var target = target
        try target.reopen()
        while true {
            do throws(DownloadError) {
                return try openOnce(target, identity, on: fileSystem, resumes)
            } catch {
                // Somebody else is busy with "name (1)": "name (2)" will do.
                guard error.reason == .busy, try target.takeNextNumber() else { throw error }
            }
        }
    }

    private static func openOnce(
        _ target: DownloadTarget, _ identity: Identity, on fileSystem: FileSystem?,
        _ resumes: ((JournalRecord) -> Bool)?
    ) throws(DownloadError) -> Found {
        let directory = target.directory
        var id =
            target.name == nil
            ? DownloadID(
                session: identity.session, target: target.identity,
                url: Hex.encode(identity.identity.whole))
            : DownloadID(session: identity.session, target: target.identity)
        return try DownloadError.naming {
            () throws(SystemError) -> Result<Found, DownloadError> in
            let fileSystem = if let fileSystem { fileSystem } else { try directory.fileSystem() }
            let canLock = fileSystem != .withoutLocks
            var names =
                canLock
                ? try PartNames.usable(for: id, name: target.stem, in: directory)
                : PartNames(name: target.stem, digits: try SystemRandom.hex(byteCount: 4))
            var lender: Lender?
            let own = (id, names)
            if let resumes, canLock, target.name == nil {
                (id, names, lender) = try shared(
                    target, identity, own: (id, names), resumes: resumes)
            }
            guard let file = try lockedFile(names.part, in: directory) else {
                return .failure(busy(names, in: directory, identity))
            }
            let part = PartFile(
                target: target, id: id, names: names, file: file,
                inode: try file.status().inode, owner: try SystemRandom.bytes(16),
                identity: identity, fileSystem: fileSystem)
            if names != own.1 { part.own = own }
            if let lender {
                part.lender = lender
                part.facts = lender.record.facts
                return .success(Found(part: part, record: lender.record, defect: nil))
            }
            return .success(try part.readJournal())
        }.get()
    }

    /// The file under the name, made if missing, with its lock; `nil` if another one holds it.
    ///
    /// - Parameter isOurs: whether the part is marked as in use for this download. Default false.
    static func lockedFile(_ name: String, in directory: Directory, isOurs: Bool = false)
        throws(SystemError) -> File?
    {
        // Each turn loses a race against a file that comes or goes; nobody wins so many.
        for _ in 0..<16 {
            let file: File
            var isNew = false
            do throws(SystemError) {
                file = try File.open(
                    name, [.read, .write, .create, .exclusive], in: directory)
                isNew = true
            } catch {
                guard error.code == EEXIST else { throw error }
                guard let there = try directory.status(of: name) else { continue }
                guard there.isPlainAndOurs else {
                    // Not ours to write to; only the name in our way goes.
                    try directory.remove(name)
                    continue
                }
                do throws(SystemError) {
                    file = try File.open(name, [.read, .write], in: directory)
                } catch {
                    guard error.code == ENOENT || error.code == ELOOP else { throw error }
                    continue
                }
            }
            let status = try file.status()
            guard status.kind == .regular, status.isOurs else { continue }
            if isNew {
                Resting.forget(status)
            } else if !isOurs, Resting.has(status) {
                return nil
            }
            guard try file.lock() else { return nil }
            // Its owner may have given it its final name, or removed it, before we had the lock.
            guard let there = try directory.status(of: name), there.isSameFile(as: status),
                there.isPlainAndOurs
            else { continue }
            return file
        }
        throw SystemError(EBUSY, "lock", path: directory.path(of: name))
    }

    static func busy(
        _ names: PartNames, in directory: Directory, _ identity: Identity
    ) -> DownloadError {
        var error = DownloadError(
            .busy, "Another download is writing \(directory.path(of: names.part))")
        if let journal = try? JournalFile.open(names.journal, in: directory, isReadOnly: true),
            let record = try? journal.read()
        {
            error.isSameURL = record.identity == identity.identity
        }
        return error
    }

    /// What the journal says of the part; takes it over if it is right.
    private func readJournal() throws(SystemError) -> Found {
        let journal: JournalFile
        var record: JournalRecord
        do throws(Journal.Defect) {
            guard canLock, let there = try JournalFile.open(names.journal, in: target.directory)
            else { return Found(part: self, record: nil, defect: nil) }
            journal = there
            record = try there.read()
            guard record.id == id, record.inode == inode else { throw .mismatch }
        } catch {
            return Found(part: self, record: nil, defect: error)
        }
        // Claims beyond the end are of bytes that were lost (DR22).
        record.ranges.clip(to: try file.status().size)
        record.owner = owner
        try journal.write(record, isDurable: identity.durability != .none)
        self.journal = journal
        facts = record.facts
        written = record.ranges
        claimed = record.ranges
        return Found(part: self, record: record, defect: nil)
    }
}
