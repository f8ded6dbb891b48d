// Wherry: directories of many small files.
// SPDX-License-Identifier: Apache-2.0

internal import CLinux
import Glibc

extension Directory {
    /// Opens a directory that only this user can write to. Creates it with mode 0700, whatever the
    /// umask, if it is missing (SEC-C5). Its parent directories must exist.
    ///
    /// Fails for a directory of another user, a symbolic link, and a directory that others can
    /// write to: anyone could have placed its contents.
    package static func openPrivate(_ path: String, in parent: Directory? = nil)
        throws(SystemError) -> Directory
    {
        let base = parent?.file.descriptor ?? AT_FDCWD
        guard File.isWhole(path) else { throw SystemError(EINVAL, "create", path: path) }
        if path.withPath({ mkdirat(base, $0, 0o700) }) == 0 {
            // The umask may also have removed permissions of the owner.
            guard path.withPath({ fchmodat(base, $0, 0o700, 0) }) == 0 else {
                throw .last("set the permissions of", path: path)
            }
        } else if errno != EEXIST {
            throw .last("create", path: path)
        }
        let folder = try open(path, following: false, in: parent)
        let status = try folder.file.status()
        guard status.isOurs else {
            throw SystemError(EPERM, "use a folder owned by another user,", path: folder.path)
        }
        guard status.permissions & 0o022 == 0 else {
            throw SystemError(
                EPERM, "use a folder that other users can write to,", path: folder.path)
        }
        if status.permissions != 0o700 { try folder.file.setPermissions(0o700) }
        return folder
    }

    /// Reads a whole file below this directory. Follows no symbolic link anywhere in the path.
    ///
    /// - Parameters:
    ///   - path: One or more names separated by slashes.
    ///   - limit: The maximum size of the file in bytes.
    /// - Returns: `nil` if no regular file exists there, if it is too large or unreadable, or if
    ///   out of memory.
    package func contents(of path: String, limit: Int) -> Bytes? {
        let descriptor = path.withPath { clinux_open_below(file.descriptor, $0) }
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var buffer = ByteBuffer()
        // Most files fit into the first chunk and need one call: a disk file is read short only at
        // its end.
        var piece = min(limit.addingSaturating(1), 8192)
        while true {
            guard buffer.reserve(buffer.count + piece) else { return nil }
            let count = buffer.fill(piece) { pread(descriptor, $0, $1, $2) }
            guard count >= 0, buffer.count <= limit else { return nil }
            if count < piece { break }
            var status = stat()
            guard fstat(descriptor, &status) == 0, status.st_size <= limit else { return nil }
            piece = max(8192, Int(status.st_size) - buffer.count + 1)
        }
        return buffer.take()
    }

    /// Writes a file under the name `temporary` and renames it when complete. Mode 0600 whatever
    /// the umask.
    ///
    /// The file stays locked until then, so that leftovers of a dead process can be recognized.
    /// Nothing is flushed to the device: the reader verifies the checksum.
    package func write(_ parts: [Bytes], to name: String, temporary: String) throws(SystemError) {
        let made = try File.open(temporary, [.write, .create, .exclusive], in: self)
        // The lock ends with the object.
        defer { withExtendedLifetime(made) {} }
        do {
            _ = try made.lock()
            try made.setPermissions(0o600)
            var offset: Int64 = 0
            for part in parts {
                try made.write(part, 0..<part.count, at: offset)
                offset += Int64(part.count)
            }
            try rename(temporary, to: name, replacing: true)
        } catch {
            _ = try? remove(temporary)
            throw error
        }
    }

    /// Sets the modification time of a file to now.
    package func touch(_ path: String) {
        _ = path.withPath { utimensat(file.descriptor, $0, nil, AT_SYMLINK_NOFOLLOW) }
    }
}

extension ByteBuffer {
    /// Lets `read` append up to `room` reserved bytes and returns its result. Retries interrupted
    /// calls.
    mutating func fill(
        _ room: Int, _ read: (UnsafeMutableRawPointer, Int, Int) -> Int
    ) -> Int {
        guard let base, capacity - filled >= room else { return -1 }
        var count: Int
        repeat { count = read(base + filled, room, filled) } while count < 0 && errno == EINTR
        if count > 0 { filled += count }
        return count
    }
}
