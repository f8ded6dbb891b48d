// Wherry: starting a program that outlives this process.
// SPDX-License-Identifier: Apache-2.0

internal import CLinux
import Glibc

/// A program that runs in its own session and survives the end of this process.
package enum DetachedProgram {
    /// Starts a program in a new session and in "/", with default signal handlers. Standard input,
    /// output and error are /dev/null; no other descriptor is inherited except `ready`.
    ///
    /// The program is a child of this process until it exits. A program that forks and exits is
    /// reaped by ``start(_:_:environment:ready:waits:)``.
    ///
    /// - Parameters:
    ///   - path: The executable; the search path is not used.
    ///   - arguments: The arguments without the program name.
    ///   - environment: The complete environment, as "NAME=value".
    ///   - ready: The file that becomes descriptor 3.
    ///   - waits: Whether to return only when the program has exited.
    package static func start(
        _ path: String, _ arguments: [String], environment: [String], ready: File?, waits: Bool
    ) throws(SystemError) {
        let all = [path] + arguments
        guard File.isWhole(path), !(all + environment).contains(where: { $0.utf8.contains(0) })
        else { throw SystemError(EINVAL, "start", path: path) }
        var process: Int32 = 0
        let failure = withPointers(all) { arguments in
            withPointers(environment) { environment in
                path.withPath {
                    clinux_spawn_detached(
                        $0, arguments, environment, ready?.descriptor ?? -1, &process)
                }
            }
        }
        guard failure == 0 else { throw SystemError(failure, "start", path: path) }
        if waits { clinux_wait_child(process) }
    }

    private static func withPointers<Result>(
        _ texts: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
    ) -> Result {
        var pointers = texts.map { $0.withPath { strdup($0) } }
        pointers.append(nil)
        defer { for pointer in pointers { free(pointer) } }
        return pointers.withUnsafeBufferPointer { buffer in
            // Never empty: it contains the terminator.
            body(buffer.baseAddress!)
        }
    }

    /// Creates a pipe whose ends are close-on-exec.
    package static func pipe() throws(SystemError) -> (read: File, write: File) {
        var read: Int32 = -1
        var write: Int32 = -1
        let failure = clinux_pipe(&read, &write)
        guard failure == 0 else { throw SystemError(failure, "create a pipe") }
        return (
            File(adopting: read, path: "a pipe"), File(adopting: write, path: "a pipe")
        )
    }

    /// Reads a line from a pipe, or everything up to the end of the pipe. Returns `nil` on timeout
    /// or error.
    ///
    /// - Parameters:
    ///   - limit: The maximum number of bytes to read.
    ///   - nanoseconds: The timeout in real time.
    package static func readLine(_ pipe: File, limit: Int, nanoseconds: Int64) -> [UInt8]? {
        let end = SystemClock.shared.now().advanced(by: nanoseconds)
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 4096)
        while bytes.count < limit {
            var items = [Poll.Item(pipe.descriptor)]
            let left = end.since(SystemClock.shared.now())
            guard left > 0 else { return nil }
            Poll.wait(&items, nanoseconds: left)
            guard items[0].canRead else { continue }
            let count = read(pipe.descriptor, &piece, piece.count)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { return nil }
            if count == 0 { break }
            bytes += piece[..<count]
            if bytes.last == UInt8(ascii: "\n") { break }
        }
        return bytes
    }

    /// Writes to a pipe.
    ///
    /// - Returns: `false` if the pipe has no reader.
    @discardableResult
    package static func write(_ bytes: [UInt8], to pipe: File) -> Bool {
        var offset = 0
        while offset < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.write(
                    pipe.descriptor, $0.baseAddress.map { $0 + offset }, bytes.count - offset)
            }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { return false }
            offset += count
        }
        return true
    }

    /// Returns the path of the file that contains this code: the shared library or the program.
    package static func ownFile() throws(SystemError) -> String {
        var buffer = [CChar](repeating: 0, count: 4097)
        let failure = clinux_own_file(&buffer, UInt64(buffer.count))
        guard failure == 0 else { throw SystemError(failure, "find the library's own file") }
        return buffer.withUnsafeBufferPointer { PathText.text($0.baseAddress!) }
    }

    /// Returns whether a path names an executable file.
    package static func isExecutable(_ path: String) -> Bool {
        guard File.isWhole(path) else { return false }
        var status = stat()
        return path.withPath { path in
            stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
                && access(path, X_OK) == 0
        }
    }

    /// Sets the process's umask.
    package static func setUmask(_ mask: UInt32) { _ = umask(mode_t(mask & 0o777)) }

    /// Redirects standard error to an open file.
    package static func redirectStandardError(to file: File) throws(SystemError) {
        let failure = clinux_redirect_error(file.descriptor)
        guard failure == 0 else { throw SystemError(failure, "redirect standard error") }
    }

    /// Blocks SIGTERM, SIGINT and SIGHUP for this thread and the threads it starts. The returned
    /// file is readable when one of them arrives.
    package static func endSignals() throws(SystemError) -> File {
        let descriptor = clinux_end_signals()
        guard descriptor >= 0 else { throw .last("watch for signals") }
        return File(adopting: descriptor, path: "signals")
    }

    /// Returns whether a descriptor is open.
    package static func isOpen(_ descriptor: Int32) -> Bool { fcntl(descriptor, F_GETFD) >= 0 }

    /// The id of this process.
    package static var processID: Int32 { getpid() }
}

extension Environment {
    /// The complete environment as "NAME=value".
    package static var all: [String] {
        var texts: [String] = []
        // Called only by the first thread of a program, before it starts others.
        var entry: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?> = environ
        while let text = entry.pointee {
            texts.append(PathText.text(text))
            entry += 1
        }
        return texts
    }
}
