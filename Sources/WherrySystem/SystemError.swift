// Wherry: errors of system calls.
// SPDX-License-Identifier: Apache-2.0

internal import CLinux
import Glibc

/// A failed system call: its errno, the attempted action, and the file.
package struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The errno.
    package let code: Int32
    /// The attempted action, as a verb and its object: "open the file".
    package let action: String
    /// The file or directory, if any.
    package let path: String?

    package init(_ code: Int32, _ action: String, path: String? = nil) {
        self.code = code
        self.action = action
        self.path = path
    }

    /// Returns an error with the calling thread's errno.
    static func last(_ action: String, path: String? = nil) -> SystemError {
        SystemError(errno, action, path: path)
    }

    /// The system's message for `code`, such as "No space left on device". Names the limit on open
    /// files if it was reached, and the required libcurl for ELIBACC.
    package var cause: String {
        switch code {
        case EMFILE: DescriptorLimit.text
        case ELIBACC: "it is too old. Install version 7.88 or newer, or check LD_LIBRARY_PATH."
        default: String(cString: clinux_error_text(code))
        }
    }

    /// A message such as "Could not open the file /x: No such file or directory (errno 2)".
    package var description: String {
        let text = "Could not \(action)\(path.map { " " + PathText.shown($0) } ?? ""): \(cause)"
        return code == ELIBACC ? text : text + " (errno \(code))"
    }
}
