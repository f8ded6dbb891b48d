// Wherry: opening and locking of partial files.
// SPDX-License-Identifier: Apache-2.0

import Glibc
import WherrySystem

extension PartFile {
    /// Opens or creates the partial file of a target and locks it.
    ///
    /// - Parameters:
    ///   - fileSystem: The file system; `nil` to detect it. If its locks are unreliable, the
    ///     partial file gets a unique name and no journal, so that no other run resumes it (DR24).
    ///   - resumes: Whether the download can resume a partial file whose URL has another query,
    ///     judged by its record. `nil`, the default, if it never can. Only used if the server names
    ///     the file: with a named target, the partial file is the same for all URLs.
    /// - Throws: `busy` if another download has locked it, or a file system error.
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
                // Another download uses "name (1)", so try "name (2)".
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
            var locked = try lockedFile(names.part, in: directory)
            if locked == nil, names != own.1 {
                // A download with another query has taken the shared names in the meantime.
                (id, names) = own
                locked = try lockedFile(names.part, in: directory)
            }
            guard let file = locked else {
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

    /// Opens and locks the file of that name, and creates it if it is missing. Returns `nil` if
    /// another download has locked it.
    ///
    /// - Parameter isOurs: Whether the partial file is marked as in use by this download. Default:
    ///   false.
    static func lockedFile(_ name: String, in directory: Directory, isOurs: Bool = false)
        throws(SystemError) -> File?
    {
        // Each iteration loses a race against a file that appears or disappears. Give up after 16.
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
                    // Do not write to a foreign file. Only remove its name.
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
            // Another download may have renamed or removed the file before the lock was acquired.
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
            .busy,
            "Another download is writing \(directory.path(of: names.part)). Wait for it, or use another path."
        )
        if let journal = try? JournalFile.open(names.journal, in: directory, isReadOnly: true),
            let record = try? journal.read()
        {
            error.isSameURL = record.identity == identity.identity
        }
        return error
    }

    /// Reads the journal, and takes over the partial file if the journal is valid.
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
        // Bytes claimed beyond the end of the file were lost (DR22).
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
