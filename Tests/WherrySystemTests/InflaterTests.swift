// Wherry: tests of gzip and deflate decompression.
// SPDX-License-Identifier: Apache-2.0

import CZlib
import Testing
import WherrySystem

@Suite struct InflaterTests {
    /// The output of a body, and how it ended.
    private struct Outcome: Equatable {
        var bytes: [UInt8] = []
        var error: InflateError?
        var ignored = 0
    }

    /// 31 for gzip, 15 for zlib, -15 for raw deflate data.
    private static func deflated(_ bytes: [UInt8], windowBits: Int32, level: Int32 = 6) -> [UInt8] {
        var stream = z_stream()
        let result = deflateInit2_(
            &stream, level, Z_DEFLATED, windowBits, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
            Int32(MemoryLayout<z_stream>.size))
        precondition(result == Z_OK)
        defer { deflateEnd(&stream) }
        var input = bytes
        let capacity = Int(deflateBound(&stream, UInt(bytes.count))) + 64
        return [UInt8](unsafeUninitializedCapacity: capacity) { output, filled in
            input.withUnsafeMutableBufferPointer { input in
                stream.next_in = input.baseAddress
                stream.avail_in = UInt32(input.count)
                stream.next_out = output.baseAddress
                stream.avail_out = UInt32(capacity)
                precondition(deflate(&stream, Z_FINISH) == Z_STREAM_END)
                filled = capacity - Int(stream.avail_out)
            }
        }
    }

    private static func inflated(
        _ body: [UInt8], _ coding: Inflater.Coding, step: Int = .max
    ) -> Outcome {
        let inflater = Inflater(coding)
        var outcome = Outcome()
        var fed = 0
        do throws(InflateError) {
            while fed < body.count {
                let piece = Array(body[fed..<min(body.count, fed + min(step, body.count))])
                fed += piece.count
                var bytes: [UInt8] = []
                try feed(piece, to: inflater) {
                    bytes.append(contentsOf: $0)
                    return true
                }
                outcome.bytes += bytes
            }
            try inflater.finish()
        } catch {
            outcome.error = error
        }
        outcome.ignored = inflater.bytesIgnored
        return outcome
    }

    @discardableResult
    private static func feed(
        _ piece: [UInt8], to inflater: Inflater, _ sink: (UnsafeRawBufferPointer) -> Bool
    ) throws(InflateError) -> Bool {
        do {
            return try piece.withUnsafeBytes { try inflater.feed($0, into: sink) }
        } catch {
            throw error as? InflateError ?? .corrupt("another error")
        }
    }

    private static let text = Array(
        (0..<400).map { "line \($0 &* 7919 % 1000)\n" }.joined().utf8)

    @Test(
        "Bodies of every size decompress completely, for any chunk boundaries",
        arguments: [31, 15, -15] as [Int32])
    func roundTrips(windowBits: Int32) {
        let coding: Inflater.Coding = windowBits == 31 ? .gzip : .deflate
        for count in [0, 1, 2, 100, Self.text.count, 65_535, 65_536, 65_537, 300_000] {
            let plain = (0..<count).map { Self.text[$0 % Self.text.count] }
            for level: Int32 in [0, 1, 9] {
                let body = Self.deflated(plain, windowBits: windowBits, level: level)
                for step in [1, 2, 3, 1000, Int.max] where step > 3 || count < 1000 {
                    let outcome = Self.inflated(body, coding, step: step)
                    #expect(outcome.bytes == plain && outcome.error == nil && outcome.ignored == 0)
                }
            }
        }
    }

    @Test("SEC-R3 a gzip body cut at any byte is an error, in one chunk or byte by byte")
    func everyCutOfGzip() {
        let body = Self.deflated(Self.text, windowBits: 31)
        for count in 0..<body.count {
            let cut = Array(body.prefix(count))
            #expect(Self.inflated(cut, .gzip).error == .truncated, "cut at \(count)")
            if count % 7 == 0 {
                #expect(Self.inflated(cut, .gzip, step: 1).error == .truncated, "cut at \(count)")
            }
        }
    }

    @Test("SEC-R3 a deflate body cut at any byte is an error", arguments: [15, -15] as [Int32])
    func everyCutOfDeflate(windowBits: Int32) {
        let body = Self.deflated(Self.text, windowBits: windowBits)
        for count in 0..<body.count {
            #expect(Self.inflated(Array(body.prefix(count)), .deflate).error == .truncated)
        }
    }

    @Test("SEC-R3 a gzip header with every optional field is parsed, and its cuts are errors")
    func headerFields() {
        let plain = Self.deflated(Self.text, windowBits: 31)
        // FTEXT, FEXTRA, FNAME, and FCOMMENT: RFC 1952, section 2.3.
        let header: [UInt8] =
            [0x1F, 0x8B, 8, 0x1D, 0, 0, 0, 0, 0, 3, 3, 0, 1, 2, 3] + Array("name\0note\0".utf8)
        let body = header + plain.dropFirst(10)
        #expect(Self.inflated(body, .gzip) == Outcome(bytes: Self.text))
        for count in 0..<header.count + 5 {
            #expect(Self.inflated(Array(body.prefix(count)), .gzip).error == .truncated)
        }
    }

    @Test(
        "SEC-R3 a flipped bit is an error or harmless, and one in the checksum is detected")
    func damage() {
        let body = Self.deflated(Self.text, windowBits: 31)
        for place in body.indices {
            for bit: UInt8 in [1, 0x10, 0x80] {
                var damaged = body
                damaged[place] ^= bit
                let outcome = Self.inflated(damaged, .gzip)
                // Two distances may lead to the same text, and the last bits may be unused.
                #expect(outcome.error != nil || outcome.bytes == Self.text, "byte \(place)")
                if place >= body.count - 8 { #expect(outcome.error != nil, "byte \(place)") }
            }
        }
    }

    @Test("Members of a gzip body follow each other; only a cut between them is not detected")
    func members() {
        let first = Self.deflated(Array("one".utf8), windowBits: 31)
        let body =
            first + Self.deflated([], windowBits: 31)
            + Self.deflated(Array("two".utf8), windowBits: 31)
        let empty = Self.deflated([], windowBits: 31).count
        for step in [1, 2, 5, Int.max] {
            #expect(Self.inflated(body, .gzip, step: step) == Outcome(bytes: Array("onetwo".utf8)))
        }
        for count in 0..<body.count where ![first.count, first.count + empty].contains(count) {
            #expect(Self.inflated(Array(body.prefix(count)), .gzip).error == .truncated)
        }
        let broken = first + [0x1F, 0x8B, 0x99, 0, 0, 0, 0, 0, 0, 0]
        let outcome = Self.inflated(broken, .gzip)
        guard case .corrupt = outcome.error else {
            Issue.record("a broken second member gave \(outcome)")
            return
        }
    }

    @Test(
        "Bytes after the compressed data that are not a member are ignored and counted",
        arguments: [
            [0], [0, 0, 0, 0], [0x1F, 0], [0x1F, 0x1F, 0x8B], Array("garbage".utf8), [0x8B],
        ]
            as [[UInt8]])
    func trailing(garbage: [UInt8]) {
        for (windowBits, coding) in [(31, .gzip), (15, .deflate), (-15, .deflate)]
            as [(Int32, Inflater.Coding)]
        {
            let body = Self.deflated(Self.text, windowBits: windowBits) + garbage
            for step in [1, 100, Int.max] {
                let outcome = Self.inflated(body, coding, step: step)
                #expect(outcome == Outcome(bytes: Self.text, error: nil, ignored: garbage.count))
            }
        }
    }

    @Test("Uncompressed data is an error")
    func notCompressed() {
        for text in ["<html>", "{}", "\0", "\u{1F}", "hello, world"] {
            for coding in Inflater.Coding.allCases {
                #expect(Self.inflated(Array(text.utf8), coding).error != nil, "\(text)")
            }
        }
        #expect(Self.inflated([], .gzip).error == .truncated)
        #expect(Self.inflated([], .deflate).error == .truncated)
        // A zlib header that requires a preset dictionary.
        #expect(Self.inflated([0x78, 0x20, 0, 0, 0, 1, 2, 3], .deflate).error != nil)
    }

    @Test("Every later call returns the error again")
    func errorsStay() throws {
        let inflater = Inflater(.gzip)
        for _ in 0..<3 {
            #expect(throws: InflateError.self) {
                try Self.feed([1, 2, 3], to: inflater) { _ in true }
            }
            #expect(throws: InflateError.self) { try inflater.finish() }
        }
    }

    @Test("SEC-R2 byte counts are known during a bomb, and the sink can stop it")
    func bomb() throws {
        let body = Self.deflated([UInt8](repeating: 0, count: 16 << 20), windowBits: 31, level: 9)
        #expect(body.count < 17_000)
        let inflater = Inflater(.gzip)
        var pieces = 0
        var largest = 0
        let goesOn = try Self.feed(body, to: inflater) { piece in
            pieces += 1
            largest = max(largest, piece.count)
            #expect(inflater.bytesOut <= 64 << 10 || pieces > 1)
            return !inflater.isBomb()
        }
        #expect(!goesOn && largest <= 64 << 10)
        #expect(inflater.bytesOut > 1 << 20 && inflater.bytesOut <= 2 << 20)

        let calm = Inflater(.gzip)
        try Self.feed(Self.deflated(Self.text, windowBits: 31), to: calm) { _ in !calm.isBomb() }
        try calm.finish()
        #expect(!calm.isBomb() && calm.bytesOut == Self.text.count)
    }

    @Test("Two decoders share a buffer without mixing their bodies")
    func sharedBuffer() throws {
        let buffer = InflateBuffer()
        let one = Inflater(.gzip, buffer: buffer)
        let two = Inflater(.deflate, buffer: buffer)
        let first = Self.deflated(Self.text, windowBits: 31)
        let second = Self.deflated(Self.text.reversed(), windowBits: 15)
        var outOne: [UInt8] = []
        var outTwo: [UInt8] = []
        for place in 0..<max(first.count, second.count) {
            if place < first.count {
                try Self.feed([first[place]], to: one) {
                    outOne += $0
                    return true
                }
            }
            if place < second.count {
                try Self.feed([second[place]], to: two) {
                    outTwo += $0
                    return true
                }
            }
        }
        try one.finish()
        try two.finish()
        #expect(outOne == Self.text && outTwo == Self.text.reversed())
        #expect(one.bytesIn == first.count && two.bytesIn == second.count)
    }

    @Test("Names of encodings are parsed in any case")
    func names() {
        #expect(Inflater.Coding(name: "GZip") == .gzip && Inflater.Coding(name: "x-gzip") == .gzip)
        #expect(Inflater.Coding(name: "Deflate") == .deflate)
        for name in ["", "br", "zstd", "identity", "gzip, gzip"] {
            #expect(Inflater.Coding(name: name) == nil)
        }
    }
}
