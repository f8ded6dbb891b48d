// Wherry: folders that are ours alone.
// SPDX-License-Identifier: Apache-2.0

import Glibc

extension Directory {
    /// Makes a folder that only we may enter, 0700 whatever the umask; fine if it is there and
    /// ours. What stands in its place is never touched (SEC-C5).
    package static func makePrivate(_ path: String) throws(SystemError) {
        try create(path, permissions: 0o700)
        let folder = try open(path, following: false)
        let status = try folder.file.status()
        guard status.isOurs else {
            throw SystemError(EPERM, "use a folder of another user", path: path)
        }
        if status.permissions & 0o077 != 0 { try folder.file.setPermissions(0o700) }
    }
}

extension File {
    /// Whether a file can be opened for reading; the error says why not.
    package static func checkReadable(_ path: String) throws(SystemError) {
        _ = try open(path, [.read, .following])
    }
}
