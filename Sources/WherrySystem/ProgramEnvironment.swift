// Wherry: environment variables and the program name.
// SPDX-License-Identifier: Apache-2.0

internal import CLinux
import Glibc

/// The environment variables of the process.
package enum Environment {
    /// The value of a variable; `nil` if unset or empty.
    package static subscript(name: String) -> String? {
        guard let value = getenv(name), value[0] != 0 else { return nil }
        return PathText.text(value)
    }

    /// Returns a variable that names a program to run or a file to write; `nil` if unset or empty,
    /// and in a program that has more privileges than its caller (AT_SECURE) (SEC-S4).
    package static func trusted(_ name: String) -> String? {
        guard let value = clinux_secure_variable(name), value[0] != 0 else { return nil }
        return PathText.text(value)
    }
}

/// The name of the running program.
package enum ProgramName {
    /// The last path component of the executable; "wherry" if unknown.
    package static let current: String = {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        guard count > 0 else { return "wherry" }
        let name = buffer[..<count].split(separator: 0x2F).last ?? []
        return name.isEmpty ? "wherry" : PathText.text(name)
    }()
}
