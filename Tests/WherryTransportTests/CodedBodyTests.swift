// Wherry: request bodies that are compressed while they are sent
// SPDX-License-Identifier: Apache-2.0

import TestServer
import Testing
import WherrySystem

@testable import WherryTransport

@Suite struct CodedBodyTests {
    private let workers = WorkerPool(limit: 2)

    private func inflated(
        _ coded: [UInt8], by inflater: Inflater
    ) throws -> [UInt8] {
        var output: [UInt8] = []
        try coded.withUnsafeBytes { coded in
            _ = try inflater.feed(coded) { piece in
                output += piece
                return true
            }
        }
        return output
    }

    /// Half pattern, which does not compress, half zeros.
    private static let content =
        TestPattern.bytes(count: 400_000) + [UInt8](repeating: 0, count: 600_001)

    @Test(arguments: Inflater.Coding.allCases, [64, 65_536, 1 << 20])
    func `the output decodes to the body, and again after a rewind`(
        coding: Inflater.Coding, room: Int
    ) throws {
        try withFolder { folder in
            try write(Self.content, to: folder + "/a")
            let plain = try SegmentedBody(
                [.bytes(Bytes("head")), .file(path: folder + "/a")], workers: workers,
                usesPageCache: false)
            let body = CodedBody(plain, coding, flushes: false, workers: workers)
            let puller = try Puller()
            #expect(body.length == nil && body.plainSent == 0)

            let first = try puller.readAll(body, at: room)
            let inflater = Inflater(coding)
            #expect(try inflated(first, by: inflater) == Array("head".utf8) + Self.content)
            try inflater.finish()
            #expect(body.plainSent == 1_000_005)
            #expect(first.count < 420_000)

            #expect(body.rewind())
            #expect(body.plainSent == 0)
            // Abandoned in the middle, with a job in flight.
            _ = puller.read(body, at: 100)
            #expect(body.rewind())
            #expect(try puller.readAll(body, at: 4_099) == first)
            var pieces: [UInt8] = []
            let isWhole = try body.forEachPiece { piece in
                pieces += piece
                return true
            }
            #expect(isWhole && pieces == first)
        }
        workers.close()
    }

    @Test func `written bytes can be decoded before their writer continues`() throws {
        let stream = StreamedBody()
        let body = CodedBody(stream, .gzip, flushes: true, workers: workers)
        let puller = try Puller()
        let inflater = Inflater(.gzip)
        var decoded: [UInt8] = []
        for piece in [
            Array("one".utf8), Array("two".utf8), TestPattern.bytes(count: 200_000),
            TestPattern.bytes(count: CodedBody.blockSize),
            TestPattern.bytes(count: 2 * CodedBody.blockSize),
        ] {
            let taken = try piece.withUnsafeBytes { bytes throws(TransportError) in
                try stream.write(bytes)
            }
            #expect(taken == piece.count)
            let before = decoded.count
            while decoded.count < before + piece.count {
                let (bytes, answer) = puller.read(body)
                switch answer {
                case .bytes: decoded += try inflated(bytes, by: inflater)
                case .wait: #expect(puller.carrier.waitForBody())
                case .end, .failed:
                    Issue.record("It ended before its writer said so")
                    return
                }
            }
            #expect(decoded.suffix(piece.count) == piece[...])
        }
        stream.finish()
        _ = try inflated(puller.readAll(body), by: inflater)
        try inflater.finish()
        #expect(body.plainSent == Int64(decoded.count))
        workers.close()
    }

    @Test func `the failure of a body is that of the compressed one`() throws {
        let stream = StreamedBody(length: 10)
        let body = CodedBody(stream, .deflate, flushes: true, workers: workers)
        stream.finish()
        let error = #expect(throws: TransportError.self) { try Puller().readAll(body) }
        #expect(error?.kind == .truncated)
        workers.close()
    }
}
