// Wherry: tests of parsing response headers
// SPDX-License-Identifier: Apache-2.0

import Testing
import WherrySystem

@testable import WherryTransport

@Suite struct HeadReaderTests {
    /// Passes the lines to a parser; returns the step after the last of them.
    private func read(
        _ lines: [String], with reader: inout HeadReader, limit: Int64 = 1000
    ) -> HeadReader.Step {
        var options = TransportOptions()
        options.maxHeaderBytes = limit
        reader.start(options)
        var step = HeadReader.Step.goesOn
        for line in lines where step != .failed {
            step = Array((line + "\r\n").utf8).withUnsafeBytes { reader.add($0) }
        }
        return step
    }

    @Test func `headers are kept unchanged, and the framing of the body is recorded`() throws {
        var reader = HeadReader()

        let step = read(
            [
                "HTTP/1.1 206 Partial", "Content-Length: 12", "X-Y:  z ", "Content-Encoding: GZIP",
                "",
            ],
            with: &reader)

        #expect(step == .isComplete)
        let made = reader.makeHead()
        let head = try #require(made)
        #expect((head.status, head.httpVersion) == (206, 11))
        #expect(head.block.text == "Content-Length: 12\nX-Y:  z \nContent-Encoding: GZIP\n")
        let noted = (reader.length, reader.isChunked, reader.coding)
        #expect(noted == (12, false, .gzip))
    }

    @Test func `no data of one response remains in the next`() throws {
        var reader = HeadReader()
        _ = read(
            ["HTTP/1.0 200 OK", "Content-Length: 9", "Content-Encoding: deflate", ""], with: &reader
        )

        let step = read(["HTTP/2 404", "Transfer-Encoding: chunked", ""], with: &reader)

        #expect(step == .isComplete)
        let made = reader.makeHead()
        let head = try #require(made)
        #expect((head.status, head.httpVersion) == (404, 20))
        #expect(head.block.text == "Transfer-Encoding: chunked\n")
        let noted = (reader.length, reader.isChunked, reader.coding)
        #expect(noted == (nil, true, .identity))
    }

    @Test func `interim headers are skipped, and so are trailers after the final ones`() throws {
        var reader = HeadReader()
        let interim = ["HTTP/1.1 103 Early Hints", "Link: x", "Content-Length: 5", ""]

        let step = read(interim + ["HTTP/1.1 200 OK", "A: b", ""], with: &reader)

        #expect(step == .isComplete)
        let length = reader.length
        #expect(length == nil)
        let trailer = Array("Trailer: t\r\n".utf8).withUnsafeBytes { reader.add($0) }
        #expect(trailer == .goesOn)
        let head = reader.makeHead()
        #expect(head?.block.text == "A: b\n")
    }

    @Test func `a folded line continues the previous one`() throws {
        var reader = HeadReader()

        let step = read(["HTTP/1.1 200 OK", "A: b", "  c", "D: e", ""], with: &reader)

        #expect(step == .isComplete)
        let head = reader.makeHead()
        #expect(head?.values("a") == ["b  c"])
    }

    @Test func `64 informational responses may precede the final one`() {
        var reader = HeadReader()
        let interim = Array(repeating: ["HTTP/1.1 102 P", ""], count: 64).flatMap { $0 }

        #expect(read(interim + ["HTTP/1.1 200 OK", ""], with: &reader) == .isComplete)
        #expect(reader.makeHead()?.interim.count == 64)
    }

    @Test(
        arguments: [
            (["HTTQ/1.1 200 OK"], TransportError.Kind.badProtocol),
            (["HTTP/1.1 20 OK"], .badProtocol),
            (["HTTP/1.1 200 OK", " folded"], .badProtocol),
            (["HTTP/1.1 200 OK", "A: b\u{0}c", ""], .badProtocol),
            (["HTTP/1.1 200 OK", "A: b\rc", ""], .badProtocol),
            (["HTTP/1.1 103 Hints", "A: b\rc", ""], .badProtocol),
            (["HTTP/1.1 200 OK", "Content-Length: 1", "content-length: 2"], .badProtocol),
            (["HTTP/1.1 200 OK", "Content-Length: 9223372036854775808"], .badProtocol),
            (["HTTP/1.1 200 OK"] + Array(repeating: "A: b", count: 257), .headerTooLarge),
            (["HTTP/1.1 200 OK", "A: " + String(repeating: "x", count: 998)], .headerTooLarge),
            (["HTTP/1.1 200 OK", "A: " + String(repeating: "x", count: 16_382)], .headerTooLarge),
            (Array(repeating: ["HTTP/1.1 102 P", ""], count: 65).flatMap { $0 }, .headerTooLarge),
        ] as [([String], TransportError.Kind)])
    func `untrustworthy headers are refused`(
        lines: [String], kind: TransportError.Kind
    ) throws {
        var reader = HeadReader()
        let limit: Int64 = lines.contains { $0.utf8.count > 16_384 } ? 300_000 : 1000

        let step = read(lines, with: &reader, limit: limit)

        #expect(step == .failed)
        let failure = reader.failure
        #expect(failure?.kind == kind)
    }
}
