// Wherry: a child process of a test, controlled through its standard input and output.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The reason why a test server could not be started or queried.
public struct TestServerError: Error, CustomStringConvertible {
    /// The error message.
    public let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// A Python program that prints one line of JSON when it is ready. It exits when its standard input
/// ends, so that a crashed test process leaves no server behind.
final class ChildProcess: Sendable {
    /// The process ID.
    let pid: pid_t
    private let announcement: Data
    private let descriptor: Int32
    private let stopped = Mutex(false)

    /// Starts `python3 -m module arguments...` with the tests' folder as PYTHONPATH.
    ///
    /// `WHERRY_PYTHON` selects another interpreter.
    init(module: String, arguments: [String]) throws {
        let (ours, theirs) = try Self.connectedPair()
        var environment = ProcessInfo.processInfo.environment
        let python = environment["WHERRY_PYTHON"] ?? "python3"
        environment["PYTHONPATH"] = Self.folder
        let words = [python, "-m", module] + arguments
        do {
            defer { close(theirs) }
            pid = try Self.spawn(words, environment, standardIO: theirs)
        } catch {
            close(ours)
            throw error
        }
        descriptor = ours
        do {
            announcement = try Self.line(from: ours, of: words.joined(separator: " "))
        } catch {
            close(ours)
            kill(pid, SIGTERM)
            waitpid(pid, nil, 0)
            throw error
        }
    }

    deinit {
        stop()
    }

    /// Returns the first line that the process printed.
    func announced<Announcement: Decodable>(_ type: Announcement.Type) throws -> Announcement {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try decoder.decode(type, from: announcement)
    }

    /// Ends the process and waits for it; a second call has no effect.
    func stop() {
        let first = stopped.withLock { stopped in
            defer { stopped = true }
            return !stopped
        }
        guard first else { return }
        // The process exits when its input ends, which also ends its output.
        shutdown(descriptor, Int32(SHUT_WR))
        var bytes = [UInt8](repeating: 0, count: 256)
        var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        var hasLeft = false
        while !hasLeft, poll(&waiting, 1, 600_000) > 0 {
            hasLeft = read(descriptor, &bytes, bytes.count) <= 0
        }
        if !hasLeft { kill(pid, SIGKILL) }
        close(descriptor)
        waitpid(pid, nil, 0)
    }

    /// The folder of this file, which contains the Python package.
    private static var folder: String {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().path
    }

    /// Returns the two ends of a stream that no other child inherits.
    private static func connectedPair() throws -> (ours: Int32, theirs: Int32) {
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0, &ends) == 0 else {
            throw TestServerError("no socket pair: \(String(cString: strerror(errno)))")
        }
        return (ends[0], ends[1])
    }

    private static func spawn(
        _ words: [String], _ environment: [String: String], standardIO: Int32
    ) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, standardIO, 0)
        posix_spawn_file_actions_adddup2(&actions, standardIO, 1)
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        var variables: [UnsafeMutablePointer<CChar>?] =
            environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer {
            for word in arguments + variables { free(word) }
        }
        var pid: pid_t = 0
        let failure = posix_spawnp(&pid, words[0], &actions, nil, &arguments, &variables)
        guard failure == 0 else {
            let reason = String(cString: strerror(failure))
            throw TestServerError("\(words[0]) did not start: \(reason)")
        }
        return pid
    }

    private static func line(from descriptor: Int32, of program: String) throws -> Data {
        var line = Data()
        while true {
            var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&waiting, 1, 600_000) > 0 else {
                throw TestServerError("\(program) said nothing for ten minutes")
            }
            var byte: UInt8 = 0
            guard read(descriptor, &byte, 1) == 1 else {
                throw TestServerError("\(program) ended without an announcement")
            }
            if byte == UInt8(ascii: "\n") { return line }
            line.append(byte)
        }
    }
}

/// A value behind a lock. Synchronization.Mutex causes false reports of ThreadSanitizer.
final class Mutex<Value>: @unchecked Sendable {  // `value` is accessed only under `lock`.
    private let lock = NSLock()
    private var value: Value

    init(_ value: Value) {
        self.value = value
    }

    func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        lock.lock()
        defer { lock.unlock() }
        return try body(&value)
    }
}
