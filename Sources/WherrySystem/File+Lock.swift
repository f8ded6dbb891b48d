// Wherry: file locks that are released when their process ends.
// SPDX-License-Identifier: Apache-2.0

internal import CLinux
import Glibc

extension File {
    /// Takes an exclusive lock on the whole file without waiting.
    ///
    /// The lock belongs to this open file (an OFD lock). It excludes all other openings of the
    /// file, even in this process, and ends with this object or the process. Locking twice
    /// succeeds. Some network file systems grant the lock to everyone: see
    /// ``FileSystem/withoutLocks``.
    ///
    /// - Returns: `false` while another opening holds the lock.
    package func lock() throws(SystemError) -> Bool {
        let failure = clinux_lock(descriptor)
        if failure == EAGAIN { return false }
        if failure != 0 { throw SystemError(failure, "lock", path: path) }
        holdsLock.store(true, ordering: .relaxed)
        return true
    }

    /// Returns whether another opening of the file holds a lock. Does not take a lock.
    package func isLockedElsewhere() throws(SystemError) -> Bool {
        var isLocked: Int32 = 0
        let failure = clinux_is_locked(descriptor, &isLocked)
        if failure != 0 { throw SystemError(failure, "examine the lock of", path: path) }
        return isLocked != 0
    }

    /// Releases the lock, if any.
    package func unlock() throws(SystemError) {
        let failure = clinux_unlock(descriptor)
        if failure != 0 { throw SystemError(failure, "unlock", path: path) }
    }
}
