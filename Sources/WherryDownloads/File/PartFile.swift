// Wherry: partial file of a download.
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
import WherrySystem

/// A locked partial file with its journal.
///
/// Used by one thread at a time, not always the same one. All calls are safe after a failure. The
/// engine then calls ``close(keeping:)``. Deallocation without it leaves the files as a crash
/// would.
package final class PartFile {
    /// The result of opening a partial file.
    package struct Found {
        package let part: PartFile
        /// The record of an earlier run, its ranges clipped to the length of the partial file;
        /// `nil` if there is no usable one.
        package let record: JournalRecord?
        /// Why an existing journal is unusable.
        package let defect: Journal.Defect?
    }

    /// The properties that match a download with its partial file.
    package struct Identity {
        package var session: String
        package var identity: DownloadIdentity
        /// The URL for lists of partial files, without secrets.
        package var shownURL: String
        package var durability: DownloadPolicy.Durability

        /// The umask for the finished file; `nil` for the umask of the process.
        package var creationMask: UInt32?

        package init(
            session: String = "", url: String, ownHost: String? = nil, shownURL: String? = nil,
            durability: DownloadPolicy.Durability = .checkpoint, creationMask: UInt32? = nil
        ) {
            self.creationMask = creationMask
            self.session = session
            identity = DownloadIdentity(url: url, ownHost: ownHost)
            self.shownURL = shownURL ?? url
            self.durability = durability
        }
    }

    package var target: DownloadTarget
    package var id: DownloadID
    /// The path of the partial file.
    package var path: String { target.directory.path(of: names.part) }
    /// The bytes of the current generation in the partial file.
    package var written = ByteRanges()

    var names: PartNames
    /// The partial file to resume if the server confirms that it belongs to the same file.
    var lender: Lender?
    /// The identifier and names to use if another download takes the names that all queries of the
    /// URL share. `nil` once bytes may have been written.
    var own: (DownloadID, PartNames)?
    var file: File
    var inode: UInt64
    let owner: [UInt8]
    var identity: Identity
    var facts = DownloadFacts()
    var journal: JournalFile?
    /// The ranges in the journal.
    var claimed = ByteRanges()
    let fileSystem: FileSystem
    var canLock: Bool { fileSystem != .withoutLocks }
    /// Whether this download has resumed the partial file or begun a new generation. Until then
    /// nothing is recorded, because the partial file may belong to another URL.
    private var isAdopted = false
    private let isNamedByResponse: Bool
    /// The number of written bytes for which write-back has not started.
    var sinceWriteBack: Int64 = 0
    var pace: WritePace
    /// Whether another process has taken over the files, or this one has released them. The files
    /// must not be changed then.
    var isGone = false
    /// Whether the descriptors are closed until ``wake(reserving:)``.
    var isResting = false
    var reservation = Reservation.none
    /// Marks the partial file as in use while its descriptors are closed.
    var resting: Resting?

    init(
        target: DownloadTarget, id: DownloadID, names: PartNames, file: File, inode: UInt64,
        owner: [UInt8], identity: Identity, fileSystem: FileSystem
    ) {
        self.target = target
        self.id = id
        self.names = names
        self.file = file
        self.inode = inode
        self.owner = owner
        self.identity = identity
        self.fileSystem = fileSystem
        pace = WritePace(on: fileSystem)
        isNamedByResponse = target.name == nil
        Self.openParts.add(1, ordering: .relaxed)
    }

    deinit {
        if !isResting { Self.openParts.subtract(1, ordering: .relaxed) }
    }

    // MARK: Generations

    /// Empties the partial file for a new generation.
    ///
    /// - Parameter isJournaled: Whether a later run can resume the partial file. Without it there
    ///   is no journal.
    /// - Throws: `no_space` if the whole file does not fit, `exists` if the response names an
    ///   existing file.
    package func begin(_ facts: DownloadFacts, isJournaled: Bool) throws(DownloadError) {
        if isNamedByResponse, let name = facts.name { try target.setName(name) }
        // The server has a different file for this query, so the borrowed partial file stays
        // unchanged.
        lender = nil
        own = nil
        self.facts = facts
        isAdopted = true
        written = ByteRanges()
        claimed = ByteRanges()
        try DownloadError.naming { () throws(SystemError) in
            // Remove the old ranges from the journal before their bytes.
            if isJournaled, canLock {
                if journal == nil {
                    journal = try JournalFile.create(names.journal, in: target.directory)
                }
                try journal?.reset(record(), isDurable: isDurable)
                if isDurable { try target.directory.synchronize() }
            } else {
                try removeJournal()
            }
            try file.truncate(to: 0)
        }
        try checkSpace()
        try reserve()
    }

    /// Checks that the missing bytes fit on the disk (DR23).
    private func checkSpace() throws(DownloadError) {
        guard let total = facts.total else { return }
        let needed = max(0, total - written.count)
        let free = try freeSpace()
        let limit = Directory.fileSizeLimit()
        guard needed <= free, total <= limit else {
            throw .noSpace(
                needed: needed, free: min(free, limit), osCode: limit < total ? EFBIG : ENOSPC,
                path: target.path)
        }
    }

    /// Reserves disk space for the whole file. Returns false if the file system cannot, or if that
    /// would use memory for bytes that may never arrive.
    @discardableResult
    private func reserve() throws(DownloadError) -> Bool {
        guard fileSystem != .memory, let total = facts.total, total <= Directory.fileSizeLimit()
        else {
            return false
        }
        do throws(SystemError) {
            let isReserved = try file.reserve(from: 0, count: total)
            reservation = isReserved ? .held : .none
            return isReserved
        } catch {
            throw trouble(error)
        }
    }

    /// Updates the facts of the generation that continues. The next checkpoint records them.
    ///
    /// - Throws: `exists` if the name given by an earlier response is taken.
    package func adopt(_ facts: DownloadFacts) throws(DownloadError) {
        let name = facts.name ?? self.facts.name
        isAdopted = true
        self.facts = facts
        self.facts.name = name
        guard lender == nil else { return }
        if isNamedByResponse, let name, name != target.name { try target.setName(name) }
        try reserveOrCheckSpace()
    }

    /// Reserves space for the missing bytes, or checks that they fit.
    func reserveOrCheckSpace() throws(DownloadError) {
        // The reservation of a crashed run may still exist, and free space does not show it.
        if try !reserve() { try checkSpace() }
    }

    /// Makes the written bytes durable, then the journal that lists them (DR20).
    ///
    /// Does nothing without a journal.
    /// - Throws: `busy` if another process has taken over the download. Nothing was changed then.
    package func checkpoint() throws(DownloadError) {
        // A waiting download opens its files only if there is something to record.
        guard !isGone, isAdopted, journal != nil, !isResting || written != claimed else { return }
        try wake(reserving: false)
        guard let journal = try journalInPlace() else { return }
        let size = try DownloadError.naming { () throws(SystemError) in
            if isDurable { try file.synchronizeData() }
            return try file.status().size
        }
        let isShort = size < written.end
        if isShort { written.clip(to: size) }
        let ranges = written
        try checkOwner(journal)
        try DownloadError.naming { () throws(SystemError) in
            try journal.write(record(), isDurable: isDurable)
        }
        claimed = ranges
        // Another program has truncated the file, so the ranges of this run are wrong.
        guard !isShort else { throw shortened }
    }

    /// Returns the journal, or a new one if the old one was removed but the partial file was not.
    /// Returns `nil` if the download has no journal.
    private func journalInPlace() throws(DownloadError) -> JournalFile? {
        guard let journal else { return nil }
        try checkPlace()
        return try DownloadError.naming { () throws(SystemError) in
            guard try target.directory.status(of: names.journal) == nil else { return journal }
            let new = try JournalFile.create(names.journal, in: target.directory)
            // Until the next record, the new journal lists the same ranges as the lost one.
            var record = try record()
            record.ranges = claimed
            try new.reset(record, isDurable: isDurable)
            if isDurable { try target.directory.synchronize() }
            self.journal = new
            return new
        }
    }

    /// Checks that the journal is in place and names this download. Some file systems grant locks
    /// that do not work (DR24).
    private func checkOwner(_ journal: JournalFile) throws(DownloadError) {
        let isOurs = try DownloadError.naming { () throws(SystemError) in
            try journal.isInPlace()
        }
        if isOurs, (try? journal.read())?.owner == owner { return }
        isGone = true
        throw DownloadError(
            .busy, "Another download has taken over \(path). Wait for it, or use another path.")
    }

    // MARK: End

    /// Reads the partial file and computes its digests.
    ///
    /// - Parameters:
    ///   - algorithms: The algorithms of the digests.
    ///   - length: The length of the finished file.
    ///   - isStopped: Called repeatedly on this thread; return true to stop.
    /// - Returns: One digest for each algorithm; `nil` if stopped.
    package func verify(
        _ algorithms: [DigestAlgorithm], length: Int64, isStopped: () -> Bool = { false }
    ) throws(DownloadError) -> [[UInt8]]? {
        try claimLender()
        return try PartFile.digests(of: file, algorithms, length: length, isStopped)
    }

    /// Returns the length of the existing target if it has the digest (DC-C19).
    package static func lengthIfThere(
        _ target: DownloadTarget, with digest: DownloadDigest, isStopped: () -> Bool = { false }
    ) throws(DownloadError) -> Int64? {
        guard let name = target.name else { return nil }
        let file = try DownloadError.naming { () throws(SystemError) -> File? in
            let file = try File.open(name, [.read, .following], in: target.directory)
            return try file.status().kind == .regular ? file : nil
        }
        guard let file else { return nil }
        let length = try DownloadError.naming { () throws(SystemError) in try file.status().size }
        let found = try digests(of: file, [digest.algorithm], length: length, isStopped)
        return found == [digest.bytes] ? length : nil
    }

    private static func digests(
        of file: File, _ algorithms: [DigestAlgorithm], length: Int64, _ isStopped: () -> Bool
    ) throws(DownloadError) -> [[UInt8]]? {
        var results: [DigestAlgorithm: [UInt8]] = [:]
        var buffer = [UInt8](repeating: 0, count: 256 << 10)
        for algorithm in algorithms where results[algorithm] == nil {
            var digest = Digest(algorithm)
            var offset: Int64 = 0
            while offset < length {
                if isStopped() { return nil }
                let count: Int
                do throws(SystemError) {
                    count = try file.read(into: &buffer, at: offset)
                } catch {
                    throw DownloadError(error)
                }
                let wanted = Int(min(Int64(count), length - offset))
                guard wanted > 0 else {
                    throw DownloadError(
                        .io,
                        "\(file.path) has only \(offset) of the \(length) bytes that were written. Start the download again."
                    )
                }
                digest.update(wanted == buffer.count ? buffer : Array(buffer[..<wanted]))
                offset += Int64(wanted)
            }
            results[algorithm] = digest.finalize()
        }
        return algorithms.map { results[$0] ?? [] }
    }

    /// Turns the complete partial file into the finished file: sets its length and permissions,
    /// syncs and renames it, syncs the directory, and removes the journal (DR18 to DR20).
    ///
    /// - Returns: The path of the file.
    /// - Throws: `exists` if the name has been taken in the meantime. The partial file still exists
    ///   then.
    package func publish(length: Int64) throws(DownloadError) -> String {
        try claimLender()
        try checkPlace()
        var isShort = false
        try DownloadError.naming { () throws(SystemError) in
            let size = try file.status().size
            isShort = size < length
            guard !isShort else { return }
            try file.truncate(to: length)
            // If /proc does not give the umask, the file stays private.
            if let mask = identity.creationMask ?? Directory.umask() {
                try file.setPermissions(0o666 & ~mask)
            }
            if let modified = facts.modified {
                try file.setModificationTime(secondsSince1970: modified)
            }
            if isDurable { try file.synchronize() }
        }
        guard !isShort else { throw shortened }
        if target.name == nil { try target.setName(facts.name ?? target.stem) }
        while let name = target.name {
            do throws(SystemError) {
                try target.directory.rename(
                    names.part, to: name, replacing: target.existing == .replace)
                break
            } catch {
                guard error.code == EEXIST else { throw DownloadError(error) }
                guard try target.takeNextNumber() else { throw target.existsError }
            }
        }
        isGone = true
        do throws(SystemError) {
            // The journal describes a partial file that no longer exists. Remove it even if the
            // sync fails.
            defer { if journal != nil { _ = try? target.directory.remove(names.journal) } }
            if isDurable { try target.directory.synchronize() }
        } catch {
            var failure = DownloadError(error)
            failure.message =
                "\(target.path) is complete and in place, but may not survive a power loss: "
                + "\(failure.message)"
            throw failure
        }
        return place
    }

    /// The path of the finished file, even if its directory was renamed in the meantime.
    private var place: String {
        let folder = target.directory
        guard let name = target.name, let own = try? folder.file.status(),
            (try? Directory.open(folder.path).file.status())?.isSameFile(as: own) != true,
            let path = folder.presentPath
        else { return target.path }
        return path == "/" ? "/" + name : path + "/" + name
    }

    /// Closes the partial file and releases its lock.
    ///
    /// - Parameter keeping: Whether a later run may resume the partial file. It is kept only if the
    ///   journal lists bytes of it.
    /// - Returns: The path of the partial file if it was kept.
    package func close(keeping: Bool) throws(DownloadError) -> String? {
        guard !isGone else { return nil }
        defer {
            if isGone {
                closeFiles()
                resting = nil
            }
        }
        let mayStay = keeping && !claimed.isEmpty
        // Nothing was written or reserved, so the files are as an earlier run left them.
        if isResting, mayStay, reservation != .held, written == claimed {
            isGone = true
            return path
        }
        do throws(DownloadError) {
            try wake(reserving: false)
        } catch {
            // The journal still describes the partial file, unless another download uses it now.
            guard mayStay, ![.busy, .noFile].contains(error.reason) else { throw error }
            isGone = true
            return path
        }
        if keeping, journal != nil {
            var failure: DownloadError?
            do throws(DownloadError) {
                try giveBackReservation()
                try checkpoint()
            } catch { failure = error }
            if isGone { return nil }
            // On a full disk, the ranges of the last checkpoint are still valid.
            if !claimed.isEmpty {
                isGone = true
                return path
            }
            if let failure, ![.noSpace, .fileChanged].contains(failure.reason) { throw failure }
        }
        try checkPlace()
        isGone = true
        return try DownloadError.naming { () throws(SystemError) in
            do throws(SystemError) { try removeJournal() } catch {
                // Without a journal of this download, the file of that name belongs to another
                // program.
                guard journal == nil else { throw error }
            }
            try target.directory.remove(names.part)
            return nil
        }
    }

    /// Releases the space reserved for missing bytes: after the last byte, and between the segments
    /// of several connections.
    func giveBackReservation() throws(DownloadError) {
        try checkPlace()
        try DownloadError.naming { () throws(SystemError) in
            // Never extend the file: the added zeros would count as received bytes.
            let end = try min(written.end, file.status().size)
            try file.truncate(to: end)
            for gap in written.gaps(below: end) {
                // Some file systems do not support this.
                guard try file.release(gap) else { return }
            }
        }
    }

    /// Checks that the partial file still has its name. Otherwise this download must not rename or
    /// remove it.
    private func checkPlace() throws(DownloadError) {
        guard !isGone else { throw takenOver }
        let there = try DownloadError.naming { () throws(SystemError) in
            try target.directory.status(of: names.part)
        }
        if let there {
            let status = try DownloadError.naming { () throws(SystemError) in try file.status() }
            if there.isSameFile(as: status) { return }
        }
        isGone = true
        // The journal of this download describes a partial file that no longer exists.
        if let journal, (try? journal.isInPlace()) == true, (try? journal.read())?.owner == owner {
            try DownloadError.naming { () throws(SystemError) in try removeJournal() }
        }
        guard there == nil else { throw takenOver }
        throw removed
    }

    /// Checks that the file was not truncated. A later write would turn the lost bytes into zeros.
    func checkLength() throws(DownloadError) {
        let size = try DownloadError.naming { () throws(SystemError) in try file.status().size }
        guard size < written.end else { return }
        written.clip(to: size)
        throw shortened
    }

    var removed: DownloadError {
        DownloadError(
            .noFile, "\(path) was removed during the download. Start the download again.")
    }

    var takenOver: DownloadError {
        DownloadError(
            .busy,
            "Another download has taken over or replaced \(path). Wait for it, or use another path."
        )
    }

    private var shortened: DownloadError {
        DownloadError(
            .fileChanged, "\(path) was shortened during the download. Start the download again.")
    }

    // MARK: Helpers

    var isDurable: Bool { identity.durability != .none }

    private func removeJournal() throws(SystemError) {
        if let journal {
            try journal.remove()
        } else if canLock {
            try target.directory.remove(names.journal)
        }
        journal = nil
    }

    func record() throws(SystemError) -> JournalRecord {
        JournalRecord(
            id: id, owner: owner, inode: inode, partSize: try file.status().size,
            identity: identity.identity, url: identity.shownURL,
            name: target.name ?? facts.name ?? target.stem, facts: facts, ranges: written)
    }

    private func freeSpace() throws(DownloadError) -> Int64 {
        try DownloadError.naming { () throws(SystemError) in try target.directory.freeSpace() }
    }

    /// Converts a failed write or reservation. Adds the byte counts if the disk is full.
    func trouble(_ error: SystemError) -> DownloadError {
        let plain = DownloadError(error)
        guard plain.reason == .noSpace, let total = facts.total, let free = try? freeSpace() else {
            return plain
        }
        return .noSpace(
            needed: max(0, total - written.count), free: free, osCode: error.code,
            path: target.path)
    }
}
