// Wherry: random bytes from the kernel.
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Unpredictable bytes, for multipart boundaries, nonces and identifiers.
package enum SystemRandom {
    /// Returns `count` random bytes from getrandom(2), which blocks only until the kernel has
    /// seeded its pool after boot. Returns no bytes for a count of zero or less.
    ///
    /// Fails only if the system call is forbidden, for instance by a seccomp filter.
    package static func bytes(_ count: Int) throws(SystemError) -> [UInt8] {
        var failure: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: max(0, count)) { buffer, filled in
            while filled < count {
                // getentropy is getrandom(2) with retries after signals, for at most 256 bytes.
                let piece = min(256, count - filled)
                guard getentropy(buffer.baseAddress! + filled, piece) == 0 else {
                    failure = errno
                    return
                }
                filled += piece
            }
        }
        if failure != 0 { throw SystemError(failure, "read random bytes") }
        return bytes
    }

    /// Returns `2 * byteCount` random hexadecimal digits in lower case.
    package static func hex(byteCount: Int) throws(SystemError) -> String {
        Hex.encode(try bytes(byteCount))
    }
}
