// Wherry: an open directory and its entries.
// SPDX-License-Identifier: Apache-2.0

internal import CLinux
import Glibc

/// An open directory. Calls resolve names relative to the open directory, even if its path is
/// renamed or replaced. Names are single path components.
package final class Directory: Sendable {
    package let file: File
    /// The path that opened the directory, for messages and results.
    package var path: String { file.path }

    /// The current path of the directory; `nil` if the system cannot determine it.
    package var presentPath: String? {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/fd/\(file.descriptor)", &buffer, buffer.count)
        return count > 0 ? PathText.text(buffer[..<count]) : nil
    }

    private init(_ file: File) { self.file = file }

    /// A directory object with the same path but without a descriptor, for messages and reopening.
    /// Calls fail with `EBADF`.
    package var closed: Directory { Directory(file.closed) }
    package var isOpen: Bool { file.descriptor >= 0 }

    /// Opens an existing directory.
    ///
    /// - Parameter following: Whether to follow a symbolic link as the last component. Default:
    ///   true, as for a directory that a user names.
    package static func open(
        _ path: String, following: Bool = true, in directory: Directory? = nil
    ) throws(SystemError) -> Directory {
        let options: File.Options =
            following ? [.read, .directory, .following] : [.read, .directory]
        return Directory(try File.open(path, options, in: directory))
    }

    /// Creates the directory and missing parents. Succeeds if it exists.
    ///
    /// - Parameter permissions: The mode of each new directory, before the umask. Default: 0777.
    package static func create(_ path: String, permissions: UInt32 = 0o777) throws(SystemError) {
        guard File.isWhole(path) else { throw SystemError(EINVAL, "create", path: path) }
        if path.withPath({ mkdir($0, mode_t(permissions & 0o7777)) }) == 0 { return }
        switch errno {
        case EEXIST:
            // The name exists; a symbolic link to a directory is fine.
            _ = try Directory.open(path)
        case ENOENT:
            let parent = Directory.split(path).parent
            guard parent != path, parent.utf8.count < path.utf8.count else {
                throw .last("create", path: path)
            }
            try create(parent, permissions: permissions)
            let made = path.withPath { mkdir($0, mode_t(permissions & 0o7777)) }
            if made != 0, errno != EEXIST {
                throw .last("create", path: path)
            }
        default:
            throw .last("create", path: path)
        }
    }

    /// Creates a directory inside this one. Succeeds if the name exists; opening it shows whether
    /// it is a directory.
    package func makeDirectory(_ name: String, permissions: UInt32 = 0o700) throws(SystemError) {
        guard File.isWhole(name) else { throw SystemError(EINVAL, "create", path: path(of: name)) }
        let made = name.withPath { mkdirat(file.descriptor, $0, mode_t(permissions & 0o7777)) }
        if made != 0, errno != EEXIST {
            throw .last("create", path: path(of: name))
        }
    }

    /// Splits a path at its last slash: "/a/b" becomes ("/a", "b"), "b" becomes (".", "b"), "/"
    /// becomes ("/", ""). Ignores trailing slashes.
    package static func split(_ path: String) -> (parent: String, name: String) {
        let slash = UInt8(ascii: "/")
        var bytes = Array(path.utf8)
        while bytes.count > 1, bytes.last == slash { bytes.removeLast() }
        guard let cut = bytes.lastIndex(of: slash) else {
            return (".", String(decoding: bytes, as: UTF8.self))
        }
        var parent = bytes[..<cut]
        while parent.count > 1, parent.last == slash { parent.removeLast() }
        let name = String(decoding: bytes[(cut + 1)...], as: UTF8.self)
        return (parent.isEmpty ? "/" : String(decoding: parent, as: UTF8.self), name)
    }

    /// Returns the path, prefixed with the working directory if it is relative. Resolves neither
    /// symbolic links nor "..".
    package static func absolute(_ path: String) throws(SystemError) -> String {
        if path.utf8.first == UInt8(ascii: "/") { return path }
        guard let current = getcwd(nil, 0) else { throw .last("find the working directory") }
        defer { free(current) }
        let base = PathText.text(current)
        return base == "/" ? "/" + path : base + "/" + path
    }

    /// Returns the absolute path with the symbolic links, "." and ".." of its directory resolved, so
    /// that two paths of one file are equal. The last component stays as it is, unless the path ends
    /// with a slash. Returns the absolute path if the directory does not exist.
    package static func canonical(_ path: String) -> String {
        guard let absolute = try? Self.absolute(path), File.isWhole(absolute) else { return path }
        let isDirectory = absolute.utf8.last == UInt8(ascii: "/")
        let (parent, name) = isDirectory ? (absolute, "") : split(absolute)
        guard let resolved = parent.withPath({ realpath($0, nil) }) else { return absolute }
        defer { free(resolved) }
        let directory = PathText.text(resolved)
        return directory == "/" ? "/" + name : directory + "/" + name
    }

    /// Returns the path of an entry of this directory.
    package func path(of name: String) -> String {
        path.utf8.last == UInt8(ascii: "/") ? path + name : path + "/" + name
    }

    // MARK: Names

    /// Returns the status of a name; `nil` if the name does not exist. For a symbolic link, returns
    /// the status of the link itself, unless `following` is set.
    package func status(of name: String, following: Bool = false) throws(SystemError)
        -> FileStatus?
    {
        guard File.isWhole(name) else { throw SystemError(EINVAL, "examine", path: path(of: name)) }
        var status = stat()
        let flags = following ? 0 : AT_SYMLINK_NOFOLLOW
        if name.withPath({ fstatat(file.descriptor, $0, &status, flags) }) == 0 {
            return FileStatus(status)
        }
        if errno == ENOENT { return nil }
        throw .last("examine", path: path(of: name))
    }

    /// Removes a file.
    ///
    /// - Returns: `false` if the name did not exist.
    @discardableResult
    package func remove(_ name: String) throws(SystemError) -> Bool {
        guard File.isWhole(name) else { throw SystemError(EINVAL, "remove", path: path(of: name)) }
        if name.withPath({ unlinkat(file.descriptor, $0, 0) }) == 0 { return true }
        if errno == ENOENT { return false }
        throw .last("remove", path: path(of: name))
    }

    /// Removes an empty directory.
    ///
    /// - Returns: `false` if the name did not exist.
    @discardableResult
    package func removeDirectory(_ name: String) throws(SystemError) -> Bool {
        guard File.isWhole(name) else { throw SystemError(EINVAL, "remove", path: path(of: name)) }
        if name.withPath({ unlinkat(file.descriptor, $0, AT_REMOVEDIR) }) == 0 { return true }
        if errno == ENOENT { return false }
        throw .last("remove", path: path(of: name))
    }

    /// Renames a file within this directory, or moves it to `other`, atomically.
    ///
    /// - Parameter replacing: Whether to replace an existing file; otherwise fails with `EEXIST`.
    package func rename(
        _ name: String, to newName: String, in other: Directory? = nil, replacing: Bool
    ) throws(SystemError) {
        let target = other ?? self
        let shown = target.path(of: newName)
        guard File.isWhole(name), File.isWhole(newName) else {
            throw SystemError(EINVAL, "rename to", path: shown)
        }
        let from = file.descriptor
        let into = target.file.descriptor
        if replacing {
            let failure = name.withPath { name in
                newName.withPath { renameat(from, name, into, $0) }
            }
            guard failure == 0 else { throw .last("rename to", path: shown) }
        } else {
            let failure = name.withPath { name in
                newName.withPath { clinux_rename_exclusive(from, name, into, $0) }
            }
            if failure != 0 { throw SystemError(failure, "rename to", path: shown) }
        }
    }

    /// Returns the names in the directory, unsorted, without "." and "..".
    package func names() throws(SystemError) -> [String] {
        var names: [String] = []
        _ = try contains { bytes in
            let name = PathText.text(bytes)
            if name != ".", name != ".." { names.append(name) }
            return false
        }
        return names
    }

    /// Returns whether the directory has an entry that satisfies a condition. Stops at the first.
    ///
    /// - Parameter isWanted: Gets the bytes of a name, up to a 0, in any order. "." and ".." are
    ///   names too.
    package func contains(where isWanted: (UnsafePointer<CChar>) -> Bool) throws(SystemError)
        -> Bool
    {
        // fdopendir takes ownership of its descriptor, and duplicated descriptors share a position.
        // So open a separate one.
        let own = try File.open(".", [.read, .directory], in: self)
        let copy = fcntl(own.descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { throw .last("list", path: path) }
        guard let stream = fdopendir(copy) else {
            let error = SystemError.last("list", path: path)
            close(copy)
            throw error
        }
        defer { closedir(stream) }
        while true {
            errno = 0
            guard let entry = readdir(stream) else {
                if errno != 0 { throw .last("list", path: path) }
                return false
            }
            // The name may be longer than its declared array: read it in place.
            let offset = MemoryLayout<dirent>.offset(of: \.d_name) ?? 19
            let bytes = UnsafeRawPointer(entry).advanced(by: offset)
                .assumingMemoryBound(to: CChar.self)
            if isWanted(bytes) { return true }
        }
    }

    // MARK: File system

    /// Flushes created, renamed and removed names to the device.
    package func synchronize() throws(SystemError) { try file.synchronize() }

    /// Returns the bytes that this user can still write to the file system.
    package func freeSpace() throws(SystemError) -> Int64 {
        var status = statvfs()
        guard fstatvfs(file.descriptor, &status) == 0 else { throw .last("examine", path: path) }
        let (bytes, overflow) = UInt64(status.f_bavail)
            .multipliedReportingOverflow(by: UInt64(status.f_frsize))
        return overflow ? Int64.max : Int64(clamping: bytes)
    }

    /// Checks that this user can create files in the directory. Throws EROFS for a read-only mount,
    /// EACCES without permission.
    package func checkWritable() throws(SystemError) {
        guard faccessat(file.descriptor, ".", W_OK | X_OK, AT_EACCESS) == 0 else {
            throw SystemError(errno, "write in", path: file.path)
        }
    }

    /// Returns the kind of file system of the directory.
    package func fileSystem() throws(SystemError) -> FileSystem {
        var magic: UInt64 = 0
        let failure = clinux_file_system(file.descriptor, &magic)
        if failure != 0 { throw SystemError(failure, "examine", path: path) }
        return FileSystem(magic: magic)
    }

    /// Returns the maximum file size of this process (`RLIMIT_FSIZE`); `Int64.max` if unlimited.
    package static func fileSizeLimit() -> Int64 {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0 else {
            return Int64.max
        }
        return Int64(clamping: limit.rlim_cur)
    }

    /// Returns the umask of the process without changing it; `nil` if /proc does not show it.
    package static func umask() -> UInt32? {
        guard let file = try? File.open("/proc/self/status", [.read]),
            let bytes = try? file.read(512, at: 0)
        else { return nil }
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            let text = String(decoding: line, as: UTF8.self)
            guard text.hasPrefix("Umask:") else { continue }
            return UInt32(text.dropFirst(6).drop { $0 == "\t" || $0 == " " }, radix: 8)
        }
        return nil
    }
}
