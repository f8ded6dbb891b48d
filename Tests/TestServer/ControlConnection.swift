// Wherry: control requests from a test to its server.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A minimal HTTP/1.1 client, so that the tests of a client do not depend on that client.
enum ControlConnection {
    /// Sends a request to the loopback server at `port`, and returns the status and body.
    static func ask(port: Int, method: String, target: String, body: Data = Data()) throws -> (
        status: Int, body: Data
    ) {
        let descriptor = try connect(port: port)
        defer { close(descriptor) }
        var message = Data(
            """
            \(method) \(target) HTTP/1.1\r
            Host: 127.0.0.1:\(port)\r
            Connection: close\r
            Content-Length: \(body.count)\r
            \r

            """.utf8)
        message.append(body)
        try write(message, to: descriptor)
        let answer = try readAll(from: descriptor)
        guard let blank = answer.range(of: Data("\r\n\r\n".utf8)),
            let first = String(decoding: answer[..<blank.lowerBound], as: UTF8.self)
                .split(separator: "\r\n").first,
            let status = first.split(separator: " ").dropFirst().first.flatMap({ Int($0) })
        else {
            throw TestServerError("no answer to \(method) \(target)")
        }
        return (status, Data(answer[blank.upperBound...]))
    }

    private static func connect(port: Int) throws -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
        guard descriptor >= 0 else { throw failure("socket") }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(truncatingIfNeeded: port).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else {
            defer { close(descriptor) }
            throw failure("connect")
        }
        return descriptor
    }

    private static func write(_ data: Data, to descriptor: Int32) throws {
        var left = data
        while !left.isEmpty {
            let count = left.withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, Int32(truncatingIfNeeded: MSG_NOSIGNAL))
            }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { throw failure("send") }
            left = left.dropFirst(count)
        }
    }

    private static func readAll(from descriptor: Int32) throws -> Data {
        var all = Data()
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { throw failure("read") }
            if count == 0 { return all }
            all.append(contentsOf: buffer[..<count])
        }
    }

    private static func failure(_ call: String) -> TestServerError {
        TestServerError("\(call) to the test server: \(String(cString: strerror(errno)))")
    }
}
