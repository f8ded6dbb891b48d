// Wherry: tests of gzip and deflate compression.
// SPDX-License-Identifier: Apache-2.0

import Testing
import WherrySystem

@Suite struct DeflaterTests {
    private static func inflated(_ body: Bytes, _ coding: Inflater.Coding) throws -> [UInt8] {
        let inflater = Inflater(coding)
        var output: [UInt8] = []
        try body.withUnsafeBytes { body in
            _ = try inflater.feed(body) { piece in
                output += piece
                return true
            }
        }
        try inflater.finish()
        return output
    }

    private static let bodies: [[UInt8]] = [
        [], [7], Array("the same and the same and the same".utf8),
        (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 7) },
        [UInt8](repeating: 0, count: 3_000_000),
    ]

    @Test(arguments: Inflater.Coding.allCases)
    func `a compressed body decompresses to the same bytes`(coding: Inflater.Coding) throws {
        for body in Self.bodies {
            let coded = try #require(Deflater.code(Bytes(body), coding))
            #expect(try Self.inflated(coded, coding) == body)
            // gzip's magic number; zlib's header is a multiple of 31.
            if coding == .gzip {
                #expect(coded.array(0..<2) == [0x1F, 0x8B])
            } else {
                #expect((Int(coded[0]) << 8 | Int(coded[1])).isMultiple(of: 31))
            }
        }
    }

    @Test(arguments: Inflater.Coding.allCases)
    func `chunks are one body, and after a flush all of them can be decompressed`(
        coding: Inflater.Coding
    ) throws {
        let deflater = try #require(Deflater(coding))
        let inflater = Inflater(coding)
        var given: [UInt8] = []
        var decoded: [UInt8] = []
        for (index, piece) in Self.bodies.enumerated() {
            given += piece
            var output = ByteBuffer()
            let isLast = index == Self.bodies.count - 1
            let isFed = piece.withUnsafeBytes {
                deflater.feed($0, isLast ? .end : .wait, into: &output)
            }
            #expect(isFed)
            try output.take().withUnsafeBytes { coded in
                _ = try inflater.feed(coded) { piece in
                    decoded += piece
                    return true
                }
            }
            #expect(decoded == given)
        }
        try inflater.finish()
    }
}
