// Wherry: closed partial files of waiting downloads.
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import WherrySystem

extension PartFile {
    /// The number of open partial files in this process.
    static let openParts = Atomic<Int>(0)

    /// Whether many partial files are open. A download then closes its partial file as soon as it
    /// has found it.
    package static var areMany: Bool {
        openParts.load(ordering: .relaxed) > min(64, DescriptorLimit.current / 16)
    }

    /// Marks a partial file as in use while its download waits. No other download of this process
    /// locks, resumes, or deletes it. A lock would need a file descriptor.
    final class Resting {
        private struct Place: Hashable {
            let device: UInt64
            let inode: UInt64
        }
        private static let places = Lock<[Place: Int]>([:])
        private let place: Place

        init(_ status: FileStatus) {
            place = Place(device: status.device, inode: status.inode)
            let place = place
            Self.places.withLock { $0[place, default: 0] += 1 }
        }

        deinit {
            let place = place
            Self.places.withLock { places in
                let count = (places[place] ?? 1) - 1
                places[place] = count > 0 ? count : nil
            }
        }

        /// Removes the mark of a deleted file, because a new file has the same inode number.
        static func forget(_ status: FileStatus) {
            let place = Place(device: status.device, inode: status.inode)
            places.withLock { $0[place] = nil }
        }

        static func has(_ status: FileStatus) -> Bool {
            let place = Place(device: status.device, inode: status.inode)
            return places.withLock { $0[place] != nil }
        }
    }

    /// The state of the disk space reserved for missing bytes.
    enum Reservation: Hashable { case none, held, released }

    /// Closes the files and the directory until ``wake(reserving:)``. This releases the lock, so
    /// another process may take over the download.
    ///
    /// - Parameter isKnown: Whether other downloads of this process treat the part as in use.
    ///   Default: true.
    func rest(isKnown: Bool = true) {
        guard !isResting, !isGone else { return }
        if isKnown, let status = try? file.status() { resting = Resting(status) }
        closeFiles()
    }

    /// Gives back the space reserved for bytes that have not arrived, before a wait without a known end.
    /// If this fails, the space stays reserved until the end of the download.
    func releaseReservation() {
        guard !isGone, reservation == .held else { return }
        if isResting { try? wake(reserving: false) }
        if !isResting, (try? giveBackReservation()) != nil { reservation = .released }
    }

    /// Reserves the space that ``releaseReservation()`` gave back.
    ///
    /// - Throws: `no_space` if the missing bytes no longer fit.
    private func reserveAgain() throws(DownloadError) {
        if reservation == .released { try reserveOrCheckSpace() }
    }

    /// Closes the files and the directory, which releases the lock.
    func closeFiles() {
        guard !isResting else { return }
        isResting = true
        Self.openParts.subtract(1, ordering: .relaxed)
        file = file.closed
        journal?.close()
        target.close()
    }

    /// Opens the files again and locks them.
    ///
    /// - Parameter reserving: whether to reserve space that ``releaseReservation()`` gave back.
    ///   Default true.
    /// - Throws: `busy` if another download has taken them over, `no_file` if they were removed,
    ///   `no_space` if what is missing no longer fits.
    package func wake(reserving: Bool = true) throws(DownloadError) {
        guard !isGone else { return }
        if isResting {
            try target.reopen()
            try lockAgain(in: target.directory)
            resting = nil
            isResting = false
            Self.openParts.add(1, ordering: .relaxed)
        }
        if reserving { try reserveAgain() }
    }

    private func lockAgain(in directory: Directory) throws(DownloadError) {
        try DownloadError.naming { () throws(SystemError) -> Result<Void, DownloadError> in
            // Create an unused file again if it is missing. A file with a journal must be the same
            // one.
            if journal != nil {
                let there = try directory.status(of: names.part)
                guard let there else {
                    // Another process may have completed the download.
                    let target = try target.name.flatMap { name throws(SystemError) in
                        try directory.status(of: name)
                    }
                    return .failure(target?.inode == inode ? takenOver : removed)
                }
                guard there.inode == inode, there.isPlainAndOurs else { return .failure(takenOver) }
            }
            var found = try PartFile.lockedFile(names.part, in: directory, isOurs: resting != nil)
            if let own, journal == nil {
                let other = try directory.status(of: names.journal)
                if found == nil || other != nil {
                    // A download with another query of the URL has begun under the shared names.
                    (id, names) = own
                    found = try PartFile.lockedFile(names.part, in: directory)
                }
            }
            guard let opened = found else {
                return .failure(PartFile.busy(names, in: directory, identity))
            }
            let now = try opened.status().inode
            if let journal {
                guard now == inode, try directory.status(of: names.journal) != nil else {
                    return .failure(takenOver)
                }
                try journal.reopen(in: directory)
                guard (try? journal.read())?.owner == owner else { return .failure(takenOver) }
            }
            inode = now
            file = opened
            return .success(())
        }.get()
    }
}
