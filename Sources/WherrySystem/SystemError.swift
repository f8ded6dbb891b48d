// Wherry: what the system answered, and to what.
// SPDX-License-Identifier: Apache-2.0

internal import CLinux
import Glibc

/// A system call that failed: its errno, what was tried, and on which file.
package struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The errno.
    package let code: Int32
    /// What was tried, as a verb and its object: "open the file".
    package let action: String
    /// The file or directory, where there is one.
    package let path: String?

    package init(_ code: Int32, _ action: String, path: String? = nil) {
        self.code = code
        self.action = action
        self.path = path
    }

    /// The calling thread's errno.
    static func last(_ action: String, path: String? = nil) -> SystemError {
        SystemError(errno, action, path: path)
    }

    /// The system's words for `code`, such as "No space left on device". Names the limit of open files
    /// if it was reached.
    package var cause: String {
        switch code {
        case EMFILE: DescriptorLimit.text
        default: String(cString: clinux_error_text(code))
        }
    }

    /// "Could not open the file /x: No such file or directory (errno 2)".
    package var description: String {
        "Could not \(action)\(path.map { " " + PathText.shown($0) } ?? ""): \(cause) (errno \(code))"
    }
}
