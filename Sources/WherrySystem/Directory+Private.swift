// Wherry: private directories.
// SPDX-License-Identifier: Apache-2.0

import Glibc

extension Directory {
    /// Creates a directory with mode 0700, whatever the umask. Succeeds if it exists, belongs to
    /// this user, and is closed to others. Never changes anything else in its place (SEC-C5).
    package static func makePrivate(_ path: String) throws(SystemError) {
        var isNew = path.withPath { mkdir($0, 0o700) } == 0
        if !isNew, errno == ENOENT {
            let parent = split(path).parent
            guard parent.utf8.count < path.utf8.count else {
                throw SystemError(ENOENT, "create", path: path)
            }
            try create(parent, permissions: 0o700)
            isNew = path.withPath { mkdir($0, 0o700) } == 0
        }
        guard isNew || errno == EEXIST else { throw .last("create", path: path) }
        let folder = try open(path, following: false)
        let status = try folder.file.status()
        if isNew, status.isOurs {
            if status.permissions & 0o777 != 0o700 { try folder.file.setPermissions(0o700) }
        } else {
            try checkPrivate(status, path)
        }
    }

    private static func checkPrivate(_ status: FileStatus, _ path: String) throws(SystemError) {
        guard status.isOurs else {
            throw SystemError(EPERM, "store data in a folder owned by another user,", path: path)
        }
        if status.permissions & 0o077 != 0 {
            // The directory serves another purpose: do not change its mode.
            throw SystemError(
                EPERM, "store data in a folder that other users can access,", path: path)
        }
    }

    /// Checks that ``makePrivate(_:)`` is likely to succeed, without creating anything: the
    /// directory is private and writable, or its nearest existing parent is writable.
    package static func checkPrivate(_ path: String) throws(SystemError) {
        var present = path
        while true {
            do throws(SystemError) {
                let folder = try open(present, following: present != path)
                if present == path { try checkPrivate(folder.file.status(), path) }
                break
            } catch {
                let parent = split(present).parent
                guard error.code == ENOENT, parent.utf8.count < present.utf8.count else {
                    throw error
                }
                present = parent
            }
        }
        if faccessat(AT_FDCWD, present, W_OK | X_OK, AT_EACCESS) != 0 {
            throw .last("write to", path: present)
        }
    }
}
