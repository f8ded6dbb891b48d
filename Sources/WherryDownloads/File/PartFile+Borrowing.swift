// Wherry: partial files of the same URL with another query.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

extension PartFile {
    /// A partial file of an earlier download whose URL differs only in its query.
    ///
    /// The two URLs may name one file (a link with a new signature) or two. Only the server knows,
    /// so nothing is locked, changed, or removed before it has confirmed the validator and the
    /// length. Until then the download uses a separate partial file.
    struct Lender {
        let id: DownloadID
        let names: PartNames
        /// The record of the journal when it was read.
        let record: JournalRecord
    }

    /// Finds the partial file that all queries of a URL share, for a download without a partial
    /// file.
    ///
    /// - Parameters:
    ///   - own: The names for the download's own partial file.
    ///   - resumes: Whether the download can resume a partial file with that record.
    /// - Returns: The names to use, and the partial file to borrow from. Without a lender, the
    ///   shared names if they are free, otherwise the download's own names.
    static func shared(
        _ target: DownloadTarget, _ identity: Identity, own: (DownloadID, PartNames),
        resumes: (JournalRecord) -> Bool
    ) throws(SystemError) -> (id: DownloadID, names: PartNames, lender: Lender?) {
        let directory = target.directory
        let ownFiles = (id: own.0, names: own.1, lender: Lender?.none)
        if try directory.status(of: own.1.journal) != nil { return ownFiles }
        if try directory.status(of: own.1.part) != nil {
            // Another download of this URL has just begun, or a killed one has left an empty file.
            guard !isInUse(own.1, in: directory),
                let file = try lockedFile(own.1.part, in: directory)
            else { return ownFiles }
            try withExtendedLifetime(file) { () throws(SystemError) in
                _ = try directory.remove(own.1.part)
            }
        }
        let id = DownloadID(
            session: identity.session, target: target.identity,
            url: Hex.encode(identity.identity.withoutQuery))
        let names = try PartNames.usable(for: id, name: target.stem, in: directory)
        guard let status = try directory.status(of: names.part) else { return (id, names, nil) }
        let isTaken = isInUse(names, in: directory)
        guard let journal = try? JournalFile.open(names.journal, in: directory, isReadOnly: true),
            let record = try? journal.read(), record.id == id, record.inode == status.inode
        else { return isTaken ? ownFiles : (id, names, nil) }
        if record.identity.whole == identity.identity.whole { return (id, names, nil) }
        guard !isTaken else { return ownFiles }
        var found = record
        found.ranges.clip(to: status.size)
        guard !found.ranges.isEmpty, resumes(found) else { return ownFiles }
        return (own.0, own.1, Lender(id: id, names: names, record: found))
    }

    /// Takes over the borrowed partial file after the server has confirmed that it belongs to the
    /// same file.
    ///
    /// - Throws: `busy` if another download uses the partial file, or has changed it since it was
    ///   read.
    func claimLender() throws(DownloadError) {
        guard let lender else { return }
        self.lender = nil
        if let name = facts.name, name != target.name { try target.setName(name) }
        let directory = target.directory
        let taken = DownloadError(
            .busy,
            "Another download has resumed \(directory.path(of: lender.names.part)) in the meantime. "
                + "Start this download again.")
        try DownloadError.naming { () throws(SystemError) -> Result<Void, DownloadError> in
            guard let status = try directory.status(of: lender.names.part),
                status.inode == lender.record.inode, status.isPlainAndOurs, !Resting.has(status),
                let opened = try PartFile.lockedFile(lender.names.part, in: directory)
            else { return .failure(taken) }
            guard let journal = try? JournalFile.open(lender.names.journal, in: directory),
                let record = try? journal.read(), record.sequence == lender.record.sequence,
                record.owner == lender.record.owner, try opened.status().inode == record.inode
            else { return .failure(taken) }
            // The empty partial file that this download has used until now.
            try target.directory.remove(names.part)
            id = lender.id
            names = lender.names
            file = opened
            inode = record.inode
            written = lender.record.ranges
            claimed = lender.record.ranges
            try journal.write(self.record(), isDurable: isDurable)
            self.journal = journal
            return .success(())
        }.get()
        try reserveOrCheckSpace()
    }

    /// Returns whether another download has locked the partial file, or waits in this process and
    /// will lock it again. Does not lock the file.
    static func isInUse(_ names: PartNames, in directory: Directory) -> Bool {
        guard let file = try? File.open(names.part, [.read, .write], in: directory) else {
            return false
        }
        if let status = try? file.status(), Resting.has(status) { return true }
        return (try? file.isLockedElsewhere()) ?? false
    }
}
