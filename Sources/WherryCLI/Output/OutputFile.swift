// Wherry: writes a body to standard output, or to a file that appears when it is complete.
// SPDX-License-Identifier: Apache-2.0

import Glibc
import WherryAsync
import WherrySystem

/// Writes a body in pieces. A regular file is written under a temporary name in the same directory, and
/// renamed at the end, so that a failed transfer leaves an existing file unchanged.
final class OutputFile {
    /// `nil` for standard output.
    let path: String?
    private let descriptor: Int32
    private var temporary: String?
    /// The target of the symbolic links at `path`, and the mode of the file that was there.
    private let target: String
    private let mode: mode_t?
    private(set) var count: Int64 = 0

    init() {
        path = nil
        target = ""
        mode = nil
        descriptor = STDOUT_FILENO
    }

    /// A file; "-" is standard output.
    convenience init(named path: String) throws(OutputError) {
        if path == "-" { self.init() } else { try self.init(path) }
    }

    init(_ path: String) throws(OutputError) {
        self.path = path
        target = Self.resolved(path)
        var status = stat()
        let isThere = path.withPath { stat($0, &status) } == 0
        guard isThere || errno == ENOENT else { throw Self.failure(path) }
        mode = isThere ? status.st_mode & 0o777 : nil
        var output = stat()
        if isThere, fstat(STDOUT_FILENO, &output) == 0, status.st_mode & S_IFMT == S_IFREG,
            output.st_dev == status.st_dev, output.st_ino == status.st_ino
        {
            // Standard output is redirected to this file. To replace it would lose what others write.
            descriptor = STDOUT_FILENO
            return
        }
        if isThere, status.st_mode & S_IFMT != S_IFREG {
            // Devices and pipes are written directly.
            descriptor = path.withPath { open($0, O_WRONLY | O_CLOEXEC | O_NOCTTY) }
            guard descriptor >= 0 else { throw Self.failure(path) }
            return
        }
        // Renaming would replace a file that may not be written, if its directory may be.
        guard !isThere || path.withPath({ faccessat(AT_FDCWD, $0, W_OK, AT_EACCESS) }) == 0 else {
            throw Self.failure(path)
        }
        // Try names until one is free, so that no other file is replaced.
        let (folder, last) = Directory.split(target)
        var name = ""
        var opened: Int32 = -1
        for _ in 0..<100 {
            let mark = String(UInt32.random(in: 0...UInt32.max), radix: 36)
            name = "\(folder)/.\(last.prefix(60)).\(mark)"
            opened = name.withPath { open($0, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600) }
            if opened >= 0 || errno != EEXIST { break }
        }
        descriptor = opened
        guard descriptor >= 0 else { throw Self.failure(path) }
        temporary = name
    }

    deinit {
        if path != nil, descriptor != STDOUT_FILENO { close(descriptor) }
        if let temporary { _ = temporary.withPath { unlink($0) } }
    }

    func write(_ bytes: Bytes) throws(OutputError) {
        try bytes.withUnsafeBytes { buffer throws(OutputError) in try write(buffer) }
    }

    func write(_ text: String) throws(OutputError) {
        try write(Bytes(text))
    }

    private func write(_ buffer: UnsafeRawBufferPointer) throws(OutputError) {
        try FileBytes.write(buffer, to: descriptor, named: path ?? "standard output")
        count += Int64(buffer.count)
    }

    /// Gives the complete file its name.
    func finish() throws(OutputError) {
        guard let temporary, let path else { return }
        let mask = umask(0)
        umask(mask)
        let permissions = mode ?? 0o666 & ~mask
        guard fchmod(descriptor, permissions) == 0 else { throw Self.failure(path) }
        let moved = temporary.withPath { from in target.withPath { rename(from, $0) } }
        guard moved == 0 else {
            throw Self.failure(path)
        }
        self.temporary = nil
    }

    /// Whether the path exists, even as a dangling symbolic link.
    static func exists(_ path: String) -> Bool {
        var status = stat()
        return path.withPath { lstat($0, &status) } == 0
    }

    /// Whether a path leads to a regular file.
    static func isRegularFile(_ path: String) -> Bool {
        var status = stat()
        return path.withPath { stat($0, &status) } == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    /// Follows symbolic links at the end of the path, even to a file that does not exist yet. The link
    /// stays, and its target is written.
    private static func resolved(_ path: String) -> String {
        var path = path
        // The limit of Linux. With more links, `stat` fails.
        for _ in 0..<40 {
            var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
            let count = path.withPath { readlink($0, &buffer, buffer.count) }
            guard count > 0 else { break }
            let link = PathText.text(buffer[..<count])
            let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? ""
            path = link.hasPrefix("/") ? link : folder + link
        }
        return path
    }

    private static func failure(_ path: String) -> OutputError {
        OutputError(
            message: "\(PathText.shown(path)) cannot be written: \(FileBytes.reason(errno))")
    }
}
