// Wherry: tests of the search for the system's root certificates
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import WherryTransport

@Suite struct SystemRootsTests {
    /// Returns what is found in a system with these files.
    private func found(_ files: [String]) throws -> SystemRoots? {
        let root = NSTemporaryDirectory() + "wherry-roots-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: root) }
        for file in files {
            let url = URL(fileURLWithPath: root + file)
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data().write(to: url)
        }
        guard var roots = SystemRoots.find(in: root) else { return nil }
        roots.directory = roots.directory.map { String($0.dropFirst(root.count)) }
        roots.file = roots.file.map { String($0.dropFirst(root.count)) }
        return roots
    }

    @Test("S1 the roots of a directory with hashed names are used without its file")
    func hashedDirectory() throws {
        #expect(
            try found(["/etc/ssl/certs/ca-certificates.crt", "/etc/ssl/certs/3bde41ac.0"])
                == SystemRoots(directory: "/etc/ssl/certs"))
    }

    // OpenSSL finds nothing in a directory without hashed names. In Fedora, and in a container with
    // only a bundle, every server was untrusted.
    @Test(
        "S1 a directory without hashed names is ignored, and the file of the distribution is used",
        arguments: [
            "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
            "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/ca-bundle.pem",
            "/etc/ssl/cert.pem",
        ])
    func bundle(_ file: String) throws {
        for other in ["README", "GlobalSign.pem", "3bde41ac.", "3bde41ac.0.pem", "3bde41AC.0"] {
            #expect(try found(["/etc/ssl/certs/\(other)", file]) == SystemRoots(file: file))
        }
    }

    @Test("S1 a system without roots leaves libcurl its default")
    func none() throws {
        #expect(try found(["/etc/hosts"]) == nil)
    }
}
