// Wherry: where a body goes: standard output, or a file that appears when it is whole.
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Wherry
import WherrySystem

/// Takes a body piece by piece. A regular file is written under another name beside its place and
/// gets its name at the end, so that an answer that broke leaves what was there.
final class OutputFile {
    /// `nil` for standard output.
    let path: String?
    private let descriptor: Int32
    private var temporary: String?
    /// Where `path` leads through its links, and the mode of the file that was there.
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
        if isThere, status.st_mode & S_IFMT != S_IFREG {
            // A device or a pipe is written as it is.
            descriptor = path.withPath { open($0, O_WRONLY | O_CLOEXEC | O_NOCTTY) }
            guard descriptor >= 0 else { throw Self.failure(path) }
            return
        }
        // Taken anew until the name is free; a name is never that of anybody else's file.
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
        if path != nil { close(descriptor) }
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

    /// All is there: the file gets its name.
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

    /// Whether there is anything at a path, also a link that leads nowhere.
    static func exists(_ path: String) -> Bool {
        var status = stat()
        return path.withPath { lstat($0, &status) } == 0
    }

    /// Whether a path leads to a regular file.
    static func isRegularFile(_ path: String) -> Bool {
        var status = stat()
        return path.withPath { stat($0, &status) } == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    /// The path with the links at its end followed, also one that leads to what is not there yet:
    /// a link stays a link, and what it leads to is written.
    private static func resolved(_ path: String) -> String {
        var path = path
        // As many as the system follows; `stat` answers for more.
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
        OutputError(message: "\(PathText.shown(path)) cannot be written: \(FileBytes.reason(errno))")
    }
}
