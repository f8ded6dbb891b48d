// Wherry: an open file.
// SPDX-License-Identifier: Apache-2.0

internal import CLinux
import Glibc
import Synchronization

/// An open file. Closed with the last reference.
///
/// Every call takes an offset, so the file has no shared position, and any thread may use it.
/// Interrupted calls are repeated, and short reads and writes are continued. A path with a NUL byte
/// fails with `EINVAL`, because the kernel would see another path.
package final class File: Sendable {
    /// Options for opening a file. `O_CLOEXEC` is always set. A symbolic link as the last component
    /// is followed only with `.following`. Opening a FIFO never blocks.
    @usableFromInline package struct Options: OptionSet, Sendable {
        @usableFromInline package let rawValue: Int
        @inlinable package init(rawValue: Int) { self.rawValue = rawValue }

        package static let read = Options(rawValue: 1)
        package static let write = Options(rawValue: 2)
        /// Creates the file if it is missing.
        package static let create = Options(rawValue: 4)
        /// With `create`: fails with `EEXIST` if the name exists, even as a dangling symbolic link.
        package static let exclusive = Options(rawValue: 8)
        package static let truncate = Options(rawValue: 16)
        /// Writes always append, whatever their offset.
        package static let append = Options(rawValue: 32)
        /// Fails with `ENOTDIR` unless it is a directory.
        package static let directory = Options(rawValue: 64)
        /// Follows a symbolic link as the last component.
        package static let following = Options(rawValue: 128)

        var flags: Int32 {
            var flags = O_CLOEXEC | O_NONBLOCK | O_NOCTTY
            if contains(.write) { flags |= contains(.read) ? O_RDWR : O_WRONLY }
            if contains(.create) { flags |= O_CREAT }
            if contains(.exclusive) { flags |= O_EXCL }
            if contains(.truncate) { flags |= O_TRUNC }
            if contains(.append) { flags |= O_APPEND }
            if contains(.directory) { flags |= O_DIRECTORY }
            if !contains(.following) { flags |= O_NOFOLLOW }
            return flags
        }
    }

    /// The descriptor, valid as long as this object lives.
    package let descriptor: Int32
    /// A path that opens the same file even after a rename, valid as long as this object lives.
    package var descriptorPath: String { "/proc/self/fd/\(descriptor)" }
    /// The path in error messages.
    package let path: String

    /// Takes ownership of a descriptor.
    package init(adopting descriptor: Int32, path: String) {
        self.descriptor = descriptor
        self.path = path
    }

    /// Whether this object has taken a lock.
    let holdsLock = Atomic(false)

    deinit {
        // A child process between fork and exec has a copy of the descriptor, which would keep the
        // lock until the exec.
        if holdsLock.load(ordering: .relaxed) { _ = clinux_unlock(descriptor) }
        if descriptor >= 0 { close(descriptor) }
    }

    /// Opens a path, relative to `directory` or the working directory.
    ///
    /// - Parameter permissions: The mode of a file that this call creates, before the umask.
    ///   Default: 0600.
    package static func open(
        _ path: String, _ options: Options, permissions: UInt32 = 0o600,
        in directory: Directory? = nil
    ) throws(SystemError) -> File {
        let shown = directory.map { $0.path(of: path) } ?? path
        let base = directory?.file.descriptor ?? AT_FDCWD
        guard isWhole(path) else { throw SystemError(EINVAL, "open", path: shown) }
        while true {
            let descriptor = path.withPath {
                openat(base, $0, options.flags, mode_t(permissions & 0o7777))
            }
            if descriptor >= 0 { return File(adopting: descriptor, path: shown) }
            guard errno == EINTR else { throw .last("open", path: shown) }
        }
    }

    /// Returns whether the kernel sees the path unchanged: it is not empty and contains no NUL.
    static func isWhole(_ path: String) -> Bool {
        !path.isEmpty && !path.utf8.contains(0)
    }

    /// A file object with the same path but without a descriptor. Calls fail with `EBADF`.
    package var closed: File { File(adopting: -1, path: path) }

    // MARK: Bytes

    /// Writes all bytes at the offset. After a failure, an unknown part of them may have been
    /// written.
    @inline(__always)
    package func write(_ bytes: RawSpan, at offset: Int64) throws(SystemError) {
        let failure = bytes.withUnsafeBytes { writeAll($0, at: offset) }
        if failure != 0 { throw SystemError(failure, "write to", path: path) }
    }

    /// Writes all bytes at the offset.
    package func write(_ bytes: [UInt8], at offset: Int64) throws(SystemError) {
        try write(bytes.span.bytes, at: offset)
    }

    /// Writes a range of the bytes at the offset. Ignores the part of the range outside of `bytes`.
    package func write(_ bytes: Bytes, _ range: Range<Int>, at offset: Int64)
        throws(SystemError)
    {
        let failure = bytes.withUnsafeBytes { all in
            let part = range.clamped(to: 0..<all.count)
            return writeAll(UnsafeRawBufferPointer(rebasing: all[part]), at: offset)
        }
        if failure != 0 { throw SystemError(failure, "write to", path: path) }
    }

    private func writeAll(_ bytes: UnsafeRawBufferPointer, at offset: Int64) -> Int32 {
        guard offset >= 0, offset <= Int64.max - Int64(bytes.count) else { return EINVAL }
        var done = 0
        while done < bytes.count {
            let count = pwrite(
                descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done,
                Int(offset) + done)
            if count > 0 {
                done += count
            } else if count == 0 {
                return EIO
            } else if errno != EINTR {
                return errno
            }
        }
        return 0
    }

    /// Reads from the page cache without waiting for the disk.
    ///
    /// - Returns: The number of bytes read. 0 if nothing was cached, at the end of the file, and on
    ///   file systems without support for this.
    package func readNow(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int {
        guard let base = buffer.baseAddress else { return 0 }
        let count = clinux_read_now(descriptor, base, UInt64(buffer.count), offset)
        return max(0, Int(count))
    }

    /// Fills the buffer from the offset. Reads fewer bytes only at the end of the file.
    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64)
        throws(SystemError) -> Int
    {
        guard offset >= 0, offset <= Int64.max - Int64(buffer.count) else {
            throw SystemError(EINVAL, "read", path: path)
        }
        var done = 0
        while done < buffer.count {
            let count = pread(
                descriptor, buffer.baseAddress.map { $0 + done }, buffer.count - done,
                Int(offset) + done)
            if count > 0 {
                done += count
            } else if count == 0 {
                break
            } else if errno != EINTR {
                throw .last("read", path: path)
            }
        }
        return done
    }

    /// Fills the array from the offset and returns the number of bytes read, which is less than the
    /// array's size only at the end of the file. The rest of the array is unchanged.
    package func read(into buffer: inout [UInt8], at offset: Int64) throws(SystemError) -> Int {
        // withUnsafeMutableBytes rethrows untyped errors, so use a Result.
        let result = buffer.withUnsafeMutableBytes { bytes -> Result<Int, SystemError> in
            do throws(SystemError) {
                return .success(try read(into: bytes, at: offset))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// Reads `count` bytes from the offset; fewer only at the end of the file.
    package func read(_ count: Int, at offset: Int64) throws(SystemError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: max(0, count))
        let done = try read(into: &bytes, at: offset)
        bytes.removeLast(bytes.count - done)
        return bytes
    }

    /// Reads from the beginning to the end, but at most `limit` bytes. Also reads pipes, waiting
    /// for their data.
    package func readToEnd(atMost limit: Int) throws(SystemError) -> [UInt8] {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65_536)
        while bytes.count < limit {
            let count = Glibc.read(descriptor, &piece, min(piece.count, limit - bytes.count))
            if count > 0 {
                bytes.append(contentsOf: piece[..<count])
            } else if count == 0 {
                break
            } else if errno == EAGAIN {
                var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                guard Glibc.poll(&poll, 1, -1) >= 0 || errno == EINTR else {
                    throw .last("read", path: path)
                }
            } else if errno != EINTR {
                throw .last("read", path: path)
            }
        }
        return bytes
    }

    // MARK: Size and durability

    /// Truncates the file, or extends it with zeros.
    package func truncate(to length: Int64) throws(SystemError) {
        while ftruncate(descriptor, Int(length)) != 0 {
            guard errno == EINTR else { throw .last("change the length of", path: path) }
        }
    }

    /// Reserves blocks for a range without changing the length.
    ///
    /// - Returns: `false` if the file system does not support it. Later writes may then run out of
    ///   space.
    @discardableResult
    package func reserve(from offset: Int64, count: Int64) throws(SystemError) -> Bool {
        guard count > 0 else { return true }
        let failure = clinux_reserve(descriptor, offset, count)
        if failure == EOPNOTSUPP { return false }
        if failure != 0 { throw SystemError(failure, "reserve space for", path: path) }
        return true
    }

    /// Releases the blocks of a range without changing the length. The range reads as zeros
    /// afterwards.
    ///
    /// - Returns: `false` if the file system does not support it.
    @discardableResult
    package func release(_ range: Range<Int64>) throws(SystemError) -> Bool {
        guard !range.isEmpty else { return true }
        let failure = clinux_release(
            descriptor, range.lowerBound, range.upperBound - range.lowerBound)
        if failure == EOPNOTSUPP { return false }
        if failure != 0 { throw SystemError(failure, "release space of", path: path) }
        return true
    }

    /// Starts writing dirty pages to the device, so that a later flush has less to wait for
    /// (sync_file_range). Write errors are reported by that flush.
    package func beginWriteBack() {
        _ = clinux_begin_write_back(descriptor)
    }

    /// Flushes the data, and the length if it grew, to the device (fdatasync).
    package func synchronizeData() throws(SystemError) {
        while fdatasync(descriptor) != 0 {
            guard errno == EINTR else { throw .last("flush", path: path) }
        }
    }

    /// Flushes data and metadata to the device (fsync).
    package func synchronize() throws(SystemError) {
        while fsync(descriptor) != 0 {
            guard errno == EINTR else { throw .last("flush", path: path) }
        }
    }

    // MARK: Metadata

    /// Returns the type, owner, size and times of the file.
    package func status() throws(SystemError) -> FileStatus {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .last("examine", path: path) }
        return FileStatus(status)
    }

    /// Sets the permission bits, whatever the umask.
    package func setPermissions(_ permissions: UInt32) throws(SystemError) {
        guard fchmod(descriptor, mode_t(permissions & 0o7777)) == 0 else {
            throw .last("change the permissions of", path: path)
        }
    }

    /// Sets the modification time in whole seconds since 1970. Keeps the access time.
    package func setModificationTime(secondsSince1970 seconds: Int64) throws(SystemError) {
        let failure = clinux_set_modified(descriptor, seconds)
        if failure != 0 { throw SystemError(failure, "set the time of", path: path) }
    }
}

extension File {
    /// Checks that a file can be opened for reading. The error says why it cannot.
    package static func checkReadable(_ path: String) throws(SystemError) {
        _ = try open(path, [.read, .following])
    }
}
