// Wherry: libraries that are found at run time.
// SPDX-License-Identifier: Apache-2.0

internal import CLinux
import Glibc

/// Libraries that libcurl is linked with, and whose headers our packages do not guarantee.
package enum SharedLibrary {
    /// Returns a `dlopen` handle for looking up the functions of a library, or `nil`.
    ///
    /// This is libcurl's own copy, which may have another file name or be part of libcurl. If
    /// libcurl does not use the library, it is the system's.
    ///
    /// - Parameter symbol: A function of the library.
    package static func find(_ name: String, with symbol: String) -> UnsafeMutableRawPointer? {
        if let curl = clinux_libcurl(), dlsym(curl, symbol) != nil { return curl }
        return dlopen(name, RTLD_LAZY | RTLD_LOCAL)
    }
}
