// Wherry: partial files of downloads that wait
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import WherrySystem

extension PartFile {
    /// How many partial files of this process are open.
    static let openParts = Atomic<Int>(0)

    /// Whether many partial files are open, so that a waiting download should close its files.
    static var areMany: Bool {
        openParts.load(ordering: .relaxed) > min(64, DescriptorLimit.current / 16)
    }

    /// Closes the files and the directory until ``wake()``. That releases the lock: another process may
    /// take the download over until then.
    func rest() {
        guard !isResting, !isGone else { return }
        isResting = true
        Self.openParts.subtract(1, ordering: .relaxed)
        file = file.closed
        journal?.close()
        target.close()
    }

    /// Opens the files again and locks them.
    ///
    /// - Throws: `busy` if another download has taken them over, `no_file` if they were removed.
    func wake() throws(DownloadError) {
        guard isResting, !isGone else { return }
        try target.reopen()
        let directory = target.directory
        try DownloadError.naming { () throws(SystemError) -> Result<Void, DownloadError> in
            // A file that nothing was written to is made again if it is gone; one that a journal
            // speaks of must be the same.
            if journal != nil {
                let there = try directory.status(of: names.part)
                guard let there else { return .failure(removed) }
                guard there.inode == inode, there.isPlainAndOurs else { return .failure(takenOver) }
            }
            guard let opened = try PartFile.lockedFile(names.part, in: directory) else {
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
        isResting = false
        Self.openParts.add(1, ordering: .relaxed)
    }
}
