// Wherry: a lock that the kernel lets go when the owner dies
// SPDX-License-Identifier: Apache-2.0

internal import CLinux
import Glibc

extension File {
    /// Takes an exclusive lock on the whole file without waiting.
    ///
    /// It belongs to this open file (an OFD lock): it excludes every other opening of the file, in
    /// this process too, and ends with this object or the process. Taking it twice is fine. Some
    /// network file systems grant it to everybody: see ``FileSystem/withoutLocks``.
    ///
    /// - Returns: false while another opening holds it.
    package func lock() throws(SystemError) -> Bool {
        let failure = clinux_lock(descriptor)
        if failure == EAGAIN { return false }
        if failure != 0 { throw SystemError(failure, "lock", path: path) }
        holdsLock.store(true, ordering: .relaxed)
        return true
    }

    /// Whether another opening of the file holds a lock. Takes none.
    package func isLockedElsewhere() throws(SystemError) -> Bool {
        var isLocked: Int32 = 0
        let failure = clinux_is_locked(descriptor, &isLocked)
        if failure != 0 { throw SystemError(failure, "examine the lock of", path: path) }
        return isLocked != 0
    }

    /// Gives the lock back; fine without one.
    package func unlock() throws(SystemError) {
        let failure = clinux_unlock(descriptor)
        if failure != 0 { throw SystemError(failure, "unlock", path: path) }
    }
}
