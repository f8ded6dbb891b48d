// Wherry: the root certificates of the system.
// SPDX-License-Identifier: Apache-2.0

import Glibc
import WherrySystem

/// The path of the system's root certificates: a directory or a file, never both.
///
/// libcurl knows only the paths of the system that it was built for, and a libcurl from a Python
/// wheel runs on others. Debian's libcurl has both a directory and a file by default. It then reads
/// all 140 certificates for each connection, which takes 20 ms, and 2 ms or less with one of them.
struct SystemRoots: Equatable {
    var directory: String?
    var file: String?

    /// The directory of Debian, Ubuntu, SUSE, Arch, and Alpine.
    private static let directory = "/etc/ssl/certs"
    private static let files = [
        "/etc/ssl/certs/ca-certificates.crt",  // Debian, Ubuntu, Arch, Alpine
        "/etc/pki/tls/certs/ca-bundle.crt",  // Fedora, RHEL, Amazon Linux
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // newer Fedora, RHEL
        "/etc/ssl/ca-bundle.pem",  // SUSE
        "/etc/ssl/cert.pem",  // Alpine
    ]

    /// Returns the roots of the system, or `nil` to use libcurl's default.
    ///
    /// OpenSSL finds a certificate in a directory only by the hash of its name. A directory without
    /// such names, as in Fedora, is not used.
    ///
    /// - Parameter root: The directory in which the system is.
    static func find(in root: String = "") -> SystemRoots? {
        let hasHashes = try? Directory.open(root + directory).contains { isHash($0) }
        if hasHashes == true { return SystemRoots(directory: root + directory) }
        return files.lazy.map { root + $0 }.first { access($0, R_OK) == 0 }
            .map { SystemRoots(file: $0) }
    }

    /// Whether a file has the name of a certificate in a directory, such as "3bde41ac.0".
    private static func isHash(_ name: UnsafePointer<CChar>) -> Bool {
        var count = 0
        while name[count] != 0 {
            let byte = UInt8(bitPattern: name[count])
            let isDigit = (0x30...0x39).contains(byte)
            let isExpected =
                switch count {
                case 0..<8: isDigit || (0x61...0x66).contains(byte)
                case 8: byte == 0x2E
                default: isDigit
                }
            if !isExpected { return false }
            count += 1
        }
        return count > 9
    }
}
