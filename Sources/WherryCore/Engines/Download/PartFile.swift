// Wherry: the partial file of a download, and how it becomes the file
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
import WherrySystem

/// A partial file with its journal, held under a lock.
///
/// One thread at a time, not always the same one. Whatever is called after a failure is safe; the
/// engine then calls ``close(keeping:)``. If the object just goes away, the files stay as a crash
/// would leave them.
package final class PartFile {
    /// What opening found.
    package struct Found {
        package let part: PartFile
        /// What an earlier run left, its ranges cut to the part's length; `nil` if nothing of use.
        package let record: JournalRecord?
        /// Why a journal that was there is of no use.
        package let defect: Journal.Defect?
    }

    /// What identifies a download to its partial.
    package struct Identity {
        package var session: String
        package var identity: DownloadIdentity
        /// For people reading a list of partials; no secrets.
        package var shownURL: String
        package var durability: DownloadPolicy.Durability

        /// The umask that the finished file gets; `nil` for the process's.
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
    /// The path of the part.
    package var path: String { target.directory.path(of: names.part) }
    /// What is in the part, of the present generation.
    package var written = ByteRanges()

    var names: PartNames
    /// What the download resumes if the server confirms that it is of the same file.
    var lender: Lender?
    /// The identifier and names for a download that has begun under the names shared by all queries of
    /// its URL, if another one takes those first. `nil` once bytes may have been written.
    var own: (DownloadID, PartNames)?
    var file: File
    var inode: UInt64
    let owner: [UInt8]
    var identity: Identity
    var facts = DownloadFacts()
    var journal: JournalFile?
    /// What the journal says.
    var claimed = ByteRanges()
    let fileSystem: FileSystem
    var canLock: Bool { fileSystem != .withoutLocks }
    /// What was found is this download's to go on with, or a generation of its own has begun.
    /// Before that nothing is written about it: it may be of another URL.
    private var isAdopted = false
    private let isNamedByAnswer: Bool
    /// How much the disk has not been told to begin with.
    var sinceWriteBack: Int64 = 0
    var pace: WritePace
    /// Another process has taken the files over, or this one has let go of them: hands off.
    var isGone = false
    /// The descriptors are closed until ``wake(reserving:)``.
    var isResting = false
    var reservation = Reservation.none
    /// Marks the part as in use while it rests.
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
        isNamedByAnswer = target.name == nil
        Self.openParts.add(1, ordering: .relaxed)
    }

    deinit {
        if !isResting { Self.openParts.subtract(1, ordering: .relaxed) }
    }

    // MARK: A generation

    /// Empties the part for a new generation.
    ///
    /// - Parameter isJournaled: whether a later run may go on with it; else there is no journal.
    /// - Throws: `no_space` if the whole does not fit, `exists` if the answer named a file that is
    ///   there.
    package func begin(_ facts: DownloadFacts, isJournaled: Bool) throws(DownloadError) {
        if isNamedByAnswer, let name = facts.name { try target.setName(name) }
        // The server has another file for this query: the borrowed part stays as it is.
        lender = nil
        own = nil
        self.facts = facts
        isAdopted = true
        written = ByteRanges()
        claimed = ByteRanges()
        try DownloadError.naming { () throws(SystemError) in
            // The old claims go before the bytes they speak of.
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

    /// Whether what is missing fits (DR23).
    private func checkSpace() throws(DownloadError) {
        guard let total = facts.total else { return }
        let needed = max(0, total - written.count)
        let free = try freeSpace()
        let limit = Directory.fileSizeLimit()
        guard needed <= free, total <= limit else {
            throw .noSpace(
                needed: needed, free: min(free, limit), osCode: limit < total ? EFBIG : ENOSPC,
                path: target.identity)
        }
    }

    /// Takes the space of the whole file; `false` where the file system cannot, or would take memory
    /// for bytes that may never come.
    @discardableResult
    private func reserve() throws(DownloadError) -> Bool {
        guard fileSystem != .memory, let total = facts.total, total <= Directory.fileSizeLimit() else {
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

    /// Takes in what was learnt about the generation that goes on; the next checkpoint records it.
    ///
    /// - Throws: `exists` if the name an earlier answer gave it is taken.
    package func adopt(_ facts: DownloadFacts) throws(DownloadError) {
        let name = facts.name ?? self.facts.name
        isAdopted = true
        self.facts = facts
        self.facts.name = name
        guard lender == nil else { return }
        if isNamedByAnswer, let name, name != target.name { try target.setName(name) }
        try reserveOrCheckSpace()
    }

    /// Reserves what is missing, or checks that it fits.
    func reserveOrCheckSpace() throws(DownloadError) {
        // A run that crashed may have left its reservation, which free space does not show.
        if try !reserve() { try checkSpace() }
    }

    /// Makes the bytes written so far durable, and then the journal that claims them (DR20).
    ///
    /// Without a journal it does nothing.
    /// - Throws: `busy` if another process has taken the download over; then nothing was touched.
    package func checkpoint() throws(DownloadError) {
        // A download that waits opens its files only if there is something to record.
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
        // What was cut off did not go to the disk with us: this run's books are wrong.
        guard !isShort else { throw shortened }
    }

    /// The journal; a new one where somebody has removed it while the part stayed. `nil` if there is
    /// to be none.
    private func journalInPlace() throws(DownloadError) -> JournalFile? {
        guard let journal else { return nil }
        try checkPlace()
        return try DownloadError.naming { () throws(SystemError) in
            guard try target.directory.status(of: names.journal) == nil else { return journal }
            let new = try JournalFile.create(names.journal, in: target.directory)
            // What it claims until the next record is what the lost one did.
            var record = try record()
            record.ranges = claimed
            try new.reset(record, isDurable: isDurable)
            if isDurable { try target.directory.synchronize() }
            self.journal = new
            return new
        }
    }

    /// Locks lie on some file systems: the journal must still be in place and name us (DR24).
    private func checkOwner(_ journal: JournalFile) throws(DownloadError) {
        let isOurs = try DownloadError.naming { () throws(SystemError) in
            try journal.isInPlace()
        }
        if isOurs, (try? journal.read())?.owner == owner { return }
        isGone = true
        throw DownloadError(.busy, "Another download has taken over \(path)")
    }

    // MARK: The end

    /// Reads the part back and computes digests of it.
    ///
    /// - Parameters:
    ///   - algorithms: of those wanted.
    ///   - length: of the finished file.
    ///   - isStopped: asked from time to time, on this thread.
    /// - Returns: one for each in `algorithms`; `nil` if it was stopped.
    package func verify(
        _ algorithms: [DigestAlgorithm], length: Int64, isStopped: () -> Bool = { false }
    ) throws(DownloadError) -> [[UInt8]]? {
        try claimLender()
        return try PartFile.digests(of: file, algorithms, length: length, isStopped)
    }

    /// The length of the file that has the target's name, if it has the digest (DC-C19).
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
                        .io, "\(file.path) has \(offset) bytes, of \(length) that were written")
                }
                digest.update(wanted == buffer.count ? buffer : Array(buffer[..<wanted]))
                offset += Int64(wanted)
            }
            results[algorithm] = digest.finalize()
        }
        return algorithms.map { results[$0] ?? [] }
    }

    /// Gives the finished part its name: length, permissions, fsync, rename, fsync of the
    /// directory, and the journal goes (DR18 to DR20).
    ///
    /// - Returns: the path of the file.
    /// - Throws: `exists` if somebody took the name meanwhile; the part is still there then.
    package func publish(length: Int64) throws(DownloadError) -> String {
        try claimLender()
        try checkPlace()
        var isShort = false
        try DownloadError.naming { () throws(SystemError) in
            let size = try file.status().size
            isShort = size < length
            guard !isShort else { return }
            try file.truncate(to: length)
            // Where /proc does not tell the umask, the file stays private.
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
            // What it claims is about a part that is no more, so its name is all there is to
            // remove; and it goes whatever becomes of the rest.
            defer { if journal != nil { _ = try? target.directory.remove(names.journal) } }
            if isDurable { try target.directory.synchronize() }
        } catch {
            var failure = DownloadError(error)
            failure.message =
                "\(target.identity) is complete and in its place, but whether its name would "
                + "survive a loss of power is not certain: \(failure.message)"
            throw failure
        }
        return place
    }

    /// Where the file lies, also if its folder has got another name meanwhile.
    private var place: String {
        let folder = target.directory
        guard let name = target.name, let own = try? folder.file.status(),
            (try? Directory.open(folder.path).file.status())?.isSameFile(as: own) != true,
            let path = folder.presentPath
        else { return target.identity }
        return path == "/" ? "/" + name : path + "/" + name
    }

    /// Closes the part and releases its lock.
    ///
    /// - Parameter keeping: whether it may stay for a later run. It does only if a journal claims
    ///   something of it.
    /// - Returns: the part's path if it was kept.
    package func close(keeping: Bool) throws(DownloadError) -> String? {
        guard !isGone else { return nil }
        defer {
            if isGone {
                closeFiles()
                resting = nil
            }
        }
        let mayStay = keeping && !claimed.isEmpty
        // Nothing was written or reserved since: the files are as an earlier run left them.
        if isResting, mayStay, reservation != .held, written == claimed {
            isGone = true
            return path
        }
        do throws(DownloadError) {
            try wake(reserving: false)
        } catch {
            // The journal still describes the part, unless another download has it now.
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
            // On a full disk the claims of the last checkpoint still hold.
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
                // Without a journal of ours, what has its name is somebody else's to remove.
                guard journal == nil else { throw error }
            }
            try target.directory.remove(names.part)
            return nil
        }
    }

    /// Releases the space that was reserved for bytes that have not arrived: after the last byte, and
    /// between the shares of several connections.
    func giveBackReservation() throws(DownloadError) {
        try checkPlace()
        try DownloadError.naming { () throws(SystemError) in
            // Never longer: zeros would be claimed as bytes that came.
            let end = try min(written.end, file.status().size)
            try file.truncate(to: end)
            for gap in written.gaps(below: end) {
                // Not every file system can.
                guard try file.release(gap) else { return }
            }
        }
    }

    /// Whether the part still lies under its name, or else it is not ours to name or remove.
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
        // A journal that still names us speaks of a part that is no more.
        if let journal, (try? journal.isInPlace()) == true, (try? journal.read())?.owner == owner {
            try DownloadError.naming { () throws(SystemError) in try removeJournal() }
        }
        guard there == nil else { throw takenOver }
        throw removed
    }

    /// Before bytes are written behind a hole: of what somebody has cut off there would be zeros.
    func checkLength() throws(DownloadError) {
        let size = try DownloadError.naming { () throws(SystemError) in try file.status().size }
        guard size < written.end else { return }
        written.clip(to: size)
        throw shortened
    }

    var removed: DownloadError {
        DownloadError(.noFile, "Somebody has removed \(path) while it was written")
    }

    var takenOver: DownloadError {
        DownloadError(.busy, "Another download, or somebody, has put another file at \(path)")
    }

    private var shortened: DownloadError {
        DownloadError(.fileChanged, "Somebody has shortened \(path) while it was written")
    }

    // MARK: Pieces

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

    /// A failed write or reservation, with the numbers where the disk is full.
    func trouble(_ error: SystemError) -> DownloadError {
        let plain = DownloadError(error)
        guard plain.reason == .noSpace, let total = facts.total, let free = try? freeSpace() else {
            return plain
        }
        return .noSpace(
            needed: max(0, total - written.count), free: free, osCode: error.code,
            path: target.identity)
    }
}
