// Wherry: the limit on open files.
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The limit on open files of this process (`RLIMIT_NOFILE`).
package enum DescriptorLimit {
    /// The soft limit; `Int.max` if unlimited.
    package static var current: Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            return Int.max
        }
        return Int(clamping: limit.rlim_cur)
    }

    /// Whether the process has no free descriptor now.
    package static var isReached: Bool {
        let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
        guard descriptor < 0 else {
            close(descriptor)
            return false
        }
        return errno == EMFILE || errno == ENFILE
    }

    /// A message that names the limit and how to raise it.
    package static var text: String {
        "the process has reached its limit of \(current) open files. Raise the limit (ulimit -n) or "
            + "close files"
    }
}
