// Wherry: standard error.
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Where the process complains.
package enum StandardError {
    /// Writes text in one call, so that lines of several threads do not mix.
    package static func write(_ text: String) {
        var text = text
        text.withUTF8 { bytes in
            while Glibc.write(2, bytes.baseAddress, bytes.count) < 0 && errno == EINTR {}
        }
    }
}
