// Wherry: reads and writes all bytes of descriptors.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import WherryAsync
import WherrySystem

enum FileBytes {
    /// Writes all bytes, in as many calls as it takes.
    static func write(
        _ buffer: UnsafeRawBufferPointer, to descriptor: Int32, named name: String
    ) throws(OutputError) {
        var rest = buffer[...]
        while !rest.isEmpty {
            let count = Glibc.write(
                descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                var poll = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                Glibc.poll(&poll, 1, -1)
            } else if errno != EINTR {
                let cause = errno == EBADF ? "it is closed" : reason(errno)
                throw OutputError(
                    message: "\(name) cannot be written: \(cause)", isBrokenPipe: errno == EPIPE,
                    isStandardOutput: descriptor == STDOUT_FILENO)
            }
        }
    }

    static func write(_ text: String, to descriptor: Int32) throws(OutputError) {
        try Bytes(text).withUnsafeBytes { buffer throws(OutputError) in
            try write(buffer, to: descriptor, named: "the terminal")
        }
    }

    /// Writes a line, and ignores errors: there is no other place to report them.
    static func writeLine(_ text: String, to descriptor: Int32) {
        try? write(text + "\n", to: descriptor)
    }

    /// The value of an argument: the text, or the bytes of the file after `@`; `@-` is standard input.
    static func argument(_ text: String) throws -> Bytes {
        guard text.first == "@" else { return Bytes(PathText.bytes(text)) }
        return try contents(String(text.dropFirst()))
    }

    /// The bytes of a file; `-` is standard input.
    ///
    /// - Throws: `OutputError`, or `CancellationError` if a signal arrives.
    static func contents(_ path: String) throws -> Bytes {
        if path == "-" {
            guard inputIsFree.take() != nil else {
                throw ValidationError("Standard input (-) can be read for one option only.")
            }
            return try read(STDIN_FILENO, named: "standard input")
        }
        // Without O_NONBLOCK, opening a pipe could not be interrupted.
        let descriptor = path.withPath { open($0, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) }
        guard descriptor >= 0 else {
            throw OutputError(message: "\(path) cannot be opened: \(reason(errno))")
        }
        defer { close(descriptor) }
        return try read(descriptor, named: path)
    }

    /// The same as text, without a final line break.
    static func line(_ path: String) throws -> String {
        guard var text = String(validating: try contents(path), as: UTF8.self) else {
            throw OutputError(message: "\(path) is not UTF-8")
        }
        if text.last?.isNewline ?? false { text.removeLast() }
        return text
    }

    private static let inputIsFree = Mailbox(true)

    private static func read(_ descriptor: Int32, named name: String) throws -> Bytes {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65536)
        while true {
            var watched = [
                pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: Interrupts.descriptor, events: Int16(POLLIN), revents: 0),
            ]
            if poll(&watched, 2, -1) < 0 {
                guard errno == EINTR else {
                    throw OutputError(message: "\(name) cannot be read: \(reason(errno))")
                }
                continue
            }
            if watched[1].revents != 0 { throw CancellationError() }
            let count = Glibc.read(descriptor, &piece, piece.count)
            if count == 0 { return Bytes(bytes) }
            if count > 0 {
                bytes.append(contentsOf: piece[..<count])
            } else if errno != EINTR && errno != EAGAIN {
                throw OutputError(message: "\(name) cannot be read: \(reason(errno))")
            }
        }
    }

    /// The bytes of a pipe or redirected file on standard input; `nil` for a terminal, for input that an
    /// option has read, and for no bytes. Prints a note that they are the body, and another one if
    /// nothing arrives for a second.
    ///
    /// - Throws: `ValidationError` for a file that another program has partly read.
    static func pipedInput(_ console: Console) throws -> Bytes? {
        guard StandardStreams.inputIsPiped, inputIsFree.peek() != nil else { return nil }
        guard !StandardStreams.inputIsShared else {
            throw ValidationError(
                "Standard input is a file that another program is reading, as in a 'while read' loop. "
                    + "Use --data '' or < /dev/null to send no body, or --data @- to send the rest of the file."
            )
        }
        var watched = [
            pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0),
            pollfd(fd: Interrupts.descriptor, events: Int16(POLLIN), revents: 0),
        ]
        if poll(&watched, 2, 1000) == 0 {
            console.note("Reading the body from standard input. Use --data '' to send none.")
        }
        let bytes = try contents("-")
        if bytes.isEmpty { return nil }
        console.note(
            "The body is standard input (\(Units.bytes(Int64(bytes.count)))). Use --data '' to send none."
        )
        return bytes
    }

    static func reason(_ code: Int32) -> String { String(cString: strerror(code)) }
}
