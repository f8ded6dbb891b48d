// Wherry: folders of many small files.
// SPDX-License-Identifier: Apache-2.0

internal import CLinux
import Glibc

extension Directory {
    /// Opens a folder that only we may write to, and makes it 0700 whatever the umask if it is
    /// not there (SEC-C5). The folders above it have to be there.
    ///
    /// A folder of another user, a link, and one that others may write to are refused: what lies
    /// in it could be anybody's.
    package static func openPrivate(_ path: String, in parent: Directory? = nil)
        throws(SystemError) -> Directory
    {
        let base = parent?.file.descriptor ?? AT_FDCWD
        guard File.isWhole(path) else { throw SystemError(EINVAL, "make", path: path) }
        if path.withPath({ mkdirat(base, $0, 0o700) }) == 0 {
            // The umask may have taken away more than others' rights.
            guard path.withPath({ fchmodat(base, $0, 0o700, 0) }) == 0 else {
                throw .last("set the permissions of", path: path)
            }
        } else if errno != EEXIST {
            throw .last("make", path: path)
        }
        let folder = try open(path, following: false, in: parent)
        let status = try folder.file.status()
        guard status.isOurs else {
            throw SystemError(EPERM, "use a folder of another user", path: folder.path)
        }
        guard status.permissions & 0o022 == 0 else {
            throw SystemError(EPERM, "use a folder that others may write to", path: folder.path)
        }
        if status.permissions != 0o700 { try folder.file.setPermissions(0o700) }
        return folder
    }

    /// Reads a file below this folder as a whole, without following a link anywhere in the path.
    ///
    /// - Parameters:
    ///   - path: one or more names, with slashes between them.
    ///   - limit: the largest file that is read.
    /// - Returns: `nil` if there is no such file, if it is none, too large, or cannot be read, and
    ///   where there is no memory for it.
    package func contents(of path: String, limit: Int) -> Bytes? {
        let descriptor = path.withPath { clinux_open_below(file.descriptor, $0) }
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var buffer = ByteBuffer()
        // Most files end within the first piece, and then one call has read them: a file of a
        // disk is read short only at its end.
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

    /// Writes a file beside its place and gives it its name when all of it is there, 0600
    /// whatever the umask. Until then its name is `temporary`, and it is locked, so that leftovers
    /// of a process that died can be told. Nothing is flushed: the reader's checksum decides.
    package func write(_ parts: [Bytes], to name: String, temporary: String) throws(SystemError) {
        let made = try File.open(temporary, [.write, .create, .exclusive], in: self)
        // The lock ends with it.
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

    /// Sets the time of the last change of a name to now.
    package func touch(_ path: String) {
        _ = path.withPath { utimensat(file.descriptor, $0, nil, AT_SYMLINK_NOFOLLOW) }
    }
}

extension ByteBuffer {
    /// Lets `read` append up to `room` bytes, which have been reserved, and gives what it
    /// returned; an interrupted call is repeated.
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
