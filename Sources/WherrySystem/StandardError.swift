// Wherry: standard error.
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Standard error of the process.
package enum StandardError {
    /// Writes text in one call, so that output of several threads is not interleaved.
    package static func write(_ text: String) {
        var text = text
        text.withUTF8 { bytes in
            while Glibc.write(2, bytes.baseAddress, bytes.count) < 0 && errno == EINTR {}
        }
    }
}
