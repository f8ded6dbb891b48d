// Wherry: the process's environment and name.
// SPDX-License-Identifier: Apache-2.0

internal import CLinux
import Glibc

/// Environment variables of the process.
package enum Environment {
    /// The value of a variable; `nil` if it is not set or empty.
    package static subscript(name: String) -> String? {
        guard let value = getenv(name), value[0] != 0 else { return nil }
        return PathText.text(value)
    }

    /// The value of a variable that says what is executed, or written where; `nil` in a program that
    /// has rights its caller does not have (AT_SECURE), if it is not set, or empty (SEC-S4).
    package static func trusted(_ name: String) -> String? {
        guard let value = clinux_secure_variable(name), value[0] != 0 else { return nil }
        return PathText.text(value)
    }
}

/// The name of the running program.
package enum ProgramName {
    /// The last component of what was executed; "wherry" if that cannot be told.
    package static let current: String = {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        guard count > 0 else { return "wherry" }
        let name = buffer[..<count].split(separator: 0x2F).last ?? []
        return name.isEmpty ? "wherry" : PathText.text(name)
    }()
}
