// Wherry: files of one download.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// The partial file of a download. Only the jobs of its disk queue access it, one at a time.
package final class DownloadFiles: @unchecked Sendable {  // guarded by its serial queue
    package var part: PartFile?
    /// Whether a call failed. Jobs queued after it are skipped, except for the release.
    package var isBroken = false

    /// When opening the partial file first failed because no file descriptor was free.
    package var shortSince: Instant?
    /// Whether the start of the download was logged.
    package var isNoted = false

    package init() {}

    /// Closes the files for a wait, which releases the lock: another process can take the download over
    /// (DR24).
    ///
    /// - Parameter releasing: Whether to give back reserved space. Default: false.
    package func rest(releasing: Bool = false) {
        if releasing { part?.releaseReservation() }
        part?.rest()
    }

    /// Closes the partial file and releases its lock.
    ///
    /// - Returns: The path of the partial file if it was kept, and the error if one occurred.
    package func release(keeping: Bool) -> (kept: String?, error: DownloadError?) {
        guard let part else { return (nil, nil) }
        self.part = nil
        do throws(DownloadError) {
            return (try part.close(keeping: keeping), nil)
        } catch {
            return (nil, error)
        }
    }
}
