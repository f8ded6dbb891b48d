// Wherry: the disk's side of a download
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// The part of a download; touched by the jobs of its disk queue only, one after the other.
final class DownloadFiles: @unchecked Sendable {  // guarded by being in one serial queue
    var part: PartFile?
    /// A call failed: what was queued behind it is left out, but for letting go.
    var isBroken = false

    /// When the first attempt to open the part found no free descriptor.
    var shortSince: Instant?
    /// The start was logged.
    var isNoted = false

    /// Closes the files for a wait, which releases the lock: another process can take the download over
    /// (DR24).
    ///
    /// - Parameter releasing: Whether to give back reserved space. Default: false.
    func rest(releasing: Bool = false) {
        if releasing { part?.releaseReservation() }
        part?.rest()
    }

    /// Lets go of the part, and of its lock.
    ///
    /// - Returns: its path if it was kept, and what went wrong.
    func release(keeping: Bool) -> (kept: String?, error: DownloadError?) {
        guard let part else { return (nil, nil) }
        self.part = nil
        do throws(DownloadError) {
            return (try part.close(keeping: keeping), nil)
        } catch {
            return (nil, error)
        }
    }
}
