// Wherry: reading and writing descriptors whole.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Wherry

enum FileBytes {
    /// Writes all of it, in as many pieces as the descriptor takes.
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
                throw OutputError(
                    message: "\(name) cannot be written: \(reason(errno))",
                    isBrokenPipe: errno == EPIPE)
            }
        }
    }

    static func write(_ text: String, to descriptor: Int32) throws(OutputError) {
        try Bytes(text).withUnsafeBytes { buffer throws(OutputError) in
            try write(buffer, to: descriptor, named: "the terminal")
        }
    }

    /// Writes a line where nothing can be done about a failure: messages of the command itself.
    static func writeLine(_ text: String, to descriptor: Int32) {
        try? write(text + "\n", to: descriptor)
    }

    /// The text of an argument: itself, or the bytes of the file after `@`, `-` being standard input.
    static func argument(_ text: String) throws(OutputError) -> Bytes {
        guard text.first == "@" else { return Bytes(text) }
        let path = String(text.dropFirst())
        return path == "-" ? try read(STDIN_FILENO, named: "standard input") : try read(path)
    }

    private static func read(_ path: String) throws(OutputError) -> Bytes {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw OutputError(message: "\(path) cannot be opened: \(reason(errno))")
        }
        defer { close(descriptor) }
        return try read(descriptor, named: path)
    }

    private static func read(_ descriptor: Int32, named name: String) throws(OutputError) -> Bytes {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = Glibc.read(descriptor, &piece, piece.count)
            if count == 0 { return Bytes(bytes) }
            if count > 0 {
                bytes.append(contentsOf: piece[..<count])
            } else if errno != EINTR {
                throw OutputError(message: "\(name) cannot be read: \(reason(errno))")
            }
        }
    }

    static func reason(_ code: Int32) -> String { String(cString: strerror(code)) }
}
