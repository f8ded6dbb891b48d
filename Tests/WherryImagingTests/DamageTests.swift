// Wherry: tests with truncated, damaged and malicious image files.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import WherrySystem

@testable import WherryImaging

struct DamageTests {
    /// Returns the reason why encoding the bytes fails; nil if it succeeds.
    private func reason(
        _ bytes: [UInt8], _ change: (inout Compression) -> Void = { _ in }
    ) -> String? {
        var options = Compression(quality: 0.5)
        options.format = .jpeg
        change(&options)
        return failure { _ = try ImageEncoder.encode(.array(bytes), options) }?.reason
    }

    @Test("a JPEG cut at any byte is an error and never a gray image")
    func cutJPEG() throws {
        let jpeg = try Pictures.jpeg(40, 30)
        let progressive = try Pictures.jpeg(40, 30) { $0.progressive = true }
        for file in [jpeg, progressive] {
            for end in 0..<file.count {
                let cut = Array(file[..<end])
                let word = reason(cut)
                #expect(
                    ["truncated", "bad_image"].contains(word ?? "none"), "\(end): \(word ?? "")")
                let whole = failure { _ = try ImageEncoder.encode(.array(cut), Compression()) }
                #expect(whole?.kind == .image)
            }
            #expect(reason(file) == nil)
        }
        #expect(reason(Array(jpeg.dropLast(2))) == "truncated")
        try Pictures.withFile(Array(jpeg.dropLast(40))) { path in
            let error = failure {
                _ = try ImageEncoder.encode(.file(path: path), Compression(quality: 0.5))
            }
            #expect(error?.reason == "truncated")
        }
    }

    @Test("a PNG cut at any byte is an error")
    func cutPNG() throws {
        let plain = try Pictures.png(Pictures.pattern(.rgb8, 20, 10))
        for end in 0..<plain.count {
            let cut = Array(plain[..<end])
            #expect(["truncated", "bad_image"].contains(reason(cut) ?? "none"), "cut at \(end)")
            let whole = failure { _ = try ImageEncoder.encode(.array(cut), Compression()) }
            #expect(whole?.kind == .image)
        }
    }

    @Test("SEC-R9 damaged data is an error: libjpeg's warnings count, a PNG's checksums too")
    func damaged() throws {
        var jpeg = try Pictures.jpeg(200, 150, quality: 1)
        let middle = jpeg.count / 2
        for at in middle..<middle + 40 { jpeg[at] = 0xFF }
        #expect(reason(jpeg) == "bad_image")
        var png = try Pictures.png(Pictures.pattern(.rgb8, 40, 30))
        png[png.count / 2] ^= 0x55
        #expect(reason(png) == "bad_image")
        #expect(reason(Array("This is text, no picture.".utf8)) == "bad_image")
        #expect(reason([]) == "truncated")
        #expect(reason(Array("II*\0 and more of it".utf8)) == "unsupported_image")
    }

    @Test("U21 SEC-R8 dimensions are checked in the header alone", arguments: [60_000, 1_000_000])
    func bombs(side: Int) throws {
        let bomb = RawPNG(width: side, height: side, depth: 8, colorType: 2, data: [0]).file
        #expect(bomb.count < 200)
        #expect(reason(bomb) == "too_large")
        #expect(
            failure { _ = try ImageDecoder.decode(.array(bomb)) }?.reason == "too_large")
        #expect(try ImageInfo(inspecting: .array(bomb)).width == side)

        var jpeg = try Pictures.jpeg(16, 16)
        let frame = try #require(jpeg.indices.first { jpeg[$0] == 0xFF && jpeg[$0 + 1] == 0xC0 })
        jpeg.replaceSubrange(frame + 5..<frame + 9, with: [0xFF, 0xDC, 0xFF, 0xDC])
        #expect(reason(jpeg) == "too_large")
        #expect(reason(try Pictures.jpeg(20, 10)) { $0.maxPixels = 199 } == "too_large")
        #expect(reason(try Pictures.jpeg(20, 10)) { $0.maxPixels = 200 } == nil)
    }

    @Test("SEC-R9 a JPEG of hundreds of scans is refused")
    func scans() throws {
        #expect(reason(Self.manyScans(20)) == nil)
        #expect(reason(Self.manyScans(99)) == nil)
        #expect(reason(Self.manyScans(101)) == "too_many_scans")
        #expect(reason(Self.manyScans(370)) == "too_many_scans")
    }

    @Test("data that must be held completely stays within max_memory")
    func memory() throws {
        let progressive = try Pictures.jpeg(400, 400) { $0.progressive = true }
        #expect(reason(progressive) { $0.maxMemory = 100_000 } == "memory_limit")
        #expect(reason(progressive) { $0.maxMemory = 2_000_000 } == nil)
        let turned = Pictures.inserting(
            Pictures.exifSegment(orientation: 6), into: try Pictures.jpeg(400, 400))
        #expect(reason(turned) { $0.maxMemory = 100_000 } == "memory_limit")
        let interlaced = RawPNG(
            width: 8, height: 8, depth: 8, colorType: 0, interlaced: true,
            data: PNGKindTests.adam7(8, 8) { _, _ in 7 }
        ).file
        #expect(reason(interlaced) { $0.maxMemory = 63 } == "memory_limit")
    }

    @Test("U21 a 100 megapixel JPEG passes with 1 MB of working memory")
    func large() throws {
        var options = Compression(quality: 0.5)
        options.maxMemory = 1_000_000
        let pipeline = Pipeline(
            compression: options, limits: Limits(options), format: .jpeg, width: 10_000,
            height: 10_000)
        let jpeg = try pipeline.encode(StripedRows(width: 10_000, height: 10_000)).bytes
        options.quality = 0.3
        options.neverLarger = false
        try Pictures.withFile(jpeg.array) { path in
            let sent = try ImageEncoder.encode(.file(path: path), options)
            #expect(sent.way == .recoded && sent.width == 10_000)
            #expect(sent.bytes.count < jpeg.count)
        }
    }

    @Test("SEC-R9 the time for an image is limited")
    func deadline() throws {
        let jpeg = try Pictures.jpeg(300, 200)
        let progressive = try Pictures.jpeg(300, 200) { $0.progressive = true }
        let png = try Pictures.png(Pictures.pattern(.rgba8, 300, 200))
        for file in [jpeg, progressive, png] {
            #expect(reason(file) { $0.deadline = .nanoseconds(1) } == "deadline")
            #expect(reason(file) { $0.deadline = nil } == nil)
        }
    }

    @Test("12 bit and lossless coding are clear errors")
    func unsupported() throws {
        let jpeg = try Pictures.jpeg(16, 16)
        let frame = try #require(jpeg.indices.first { jpeg[$0] == 0xFF && jpeg[$0 + 1] == 0xC0 })
        var twelve = jpeg
        twelve[frame + 4] = 12
        #expect(reason(twelve) == "unsupported_image")
        var lossless = jpeg
        lossless[frame + 1] = 0xC3
        #expect(reason(lossless) == "unsupported_image")
    }

    @Test("an animated PNG is kept unchanged or refused")
    func animated() throws {
        let png = Pictures.inserting(
            chunks: PNGLayout.chunk("acTL", [0, 0, 0, 2, 0, 0, 0, 0]),
            into: try Pictures.png(Pictures.pattern(.rgb8, 8, 8)))
        #expect(try ImageInfo(inspecting: .array(png)).isAnimated)
        #expect(try ImageEncoder.encode(.array(png), Compression()).bytes.array == png)
        #expect(reason(png) == "animated")
        #expect(
            reason(png) {
                $0.format = .keep
                $0.maxWidth = 4
            } == "animated")
        #expect(failure { _ = try ImageDecoder.decode(.array(png)) }?.reason == "animated")
    }

    @Test("an unreadable file reports the reason")
    func files() throws {
        func error(_ path: String) -> ImagingError? {
            failure { _ = try ImageEncoder.encode(.file(path: path), Compression()) }
        }
        let missing = error("/nowhere/at all.jpg")
        #expect(missing?.kind == .file && missing?.systemCode == ENOENT)
        #expect(error("/")?.systemCode == EISDIR)
        #expect(error("/dev/null")?.kind == .file)
        #expect(error("a\0b")?.kind == .argument)
    }

    @Test("the codecs print nothing")
    func silence() throws {
        let path = FileManager.default.temporaryDirectory
            .appendingPathComponent("wherry-stderr-\(UUID().uuidString)").path
        let saved = dup(2)
        let file = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
        try #require(saved >= 0 && file >= 0)
        defer { unlink(path) }
        dup2(file, 2)
        var jpeg = try Pictures.jpeg(64, 64)
        for at in jpeg.count - 60..<jpeg.count - 40 { jpeg[at] = 0xFF }
        var png = try Pictures.png(Pictures.pattern(.rgb8, 8, 8))
        png = Pictures.inserting(chunks: PNGLayout.chunk("gAMA", [0, 0, 0, 0]), into: png)
        png[png.count - 14] ^= 1
        let words = [reason(jpeg), reason(png)]
        dup2(saved, 2)
        close(saved)
        close(file)
        #expect(words == ["bad_image", "bad_image"])
        // Other tests may also print, but not these words.
        let printed = try String(contentsOfFile: path, encoding: .utf8)
        #expect(!printed.contains("JPEG data:") && !printed.contains("libpng"))
    }

    @Test("I8 SEC-R11 randomly changed bytes never crash, and decoded images have their size")
    func noise() throws {
        let sources = [
            try Pictures.jpeg(24, 17), try Pictures.jpeg(24, 17) { $0.progressive = true },
            Pictures.inserting(
                Pictures.exifSegment(orientation: 7), into: try Pictures.jpeg(24, 17)),
            try Pictures.png(Pictures.pattern(.rgba8, 24, 17)),
        ]
        var random = SystemRandomNumberGenerator()
        var options = Compression(quality: 0.5)
        options.maxPixels = 1 << 20
        options.metadata = .noGPS
        for round in 0..<600 {
            var bytes = sources[round % sources.count]
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] =
                    UInt8.random(in: 0...255, using: &random)
            }
            options.maxWidth = round % 3 == 0 ? 9 : nil
            options.quality = round % 2 == 0 ? 1 : 0.5
            do throws(ImagingError) {
                let sent = try ImageEncoder.encode(.array(bytes), options)
                #expect(sent.bytes.count > 0 && sent.width > 0)
            } catch {
                #expect(error.kind != .memory && error.kind != .argument && !error.message.isEmpty)
            }
        }
    }

    // A rotated image is re-encoded with the quantization tables of its file. libjpeg divides by
    // eight times their entries in 16 bits, so entries of 0 and 8192 crashed the process.
    @Test(
        "quantization tables that are unsuitable as divisors never crash",
        arguments: [0, 8192, 65535])
    func impossibleTables(entry: Int) throws {
        let turned = Pictures.inserting(
            Pictures.exifSegment(orientation: 7), into: try Pictures.jpeg(24, 17))
        var bytes = Array(turned[..<2])
        var at = 2
        while turned[at + 1] != 0xDA {
            let count = Int(turned[at + 2]) << 8 | Int(turned[at + 3])
            var segment = Array(turned[at..<at + 2 + count])
            if turned[at + 1] == 0xDB {
                // Replace a table of 8-bit entries by one of 16-bit entries.
                let slot = segment[4] & 15
                let entries = segment[5..<69].enumerated().flatMap { (place, value) -> [UInt8] in
                    let number = place == 5 ? entry : Int(value)
                    return [UInt8(number >> 8), UInt8(number & 255)]
                }
                segment = Pictures.segment(0xDB, [0x10 | slot] + entries)
            }
            bytes += segment
            at += 2 + count
        }
        bytes += turned[at...]

        for quality in [1, 0.5] {
            let error = failure {
                let sent = try ImageEncoder.encode(.array(bytes), Compression(quality: quality))
                #expect(sent.width == 17 && sent.height == 24)
            }
            #expect(error == nil || error?.kind == .image)
        }
    }

    /// Returns an empty 8x8 gray progressive JPEG with `count` valid scans.
    static func manyScans(_ count: Int) -> [UInt8] {
        var all: [UInt8] = [0xFF, 0xD8]
        all += Pictures.segment(0xDB, [0] + [UInt8](repeating: 1, count: 64))
        all += Pictures.segment(0xC2, [8, 0, 8, 0, 8, 1, 1, 0x11, 0])
        let oneCode: [UInt8] = [1] + [UInt8](repeating: 0, count: 15) + [0]
        all += Pictures.segment(0xC4, [0x00] + oneCode) + Pictures.segment(0xC4, [0x10] + oneCode)
        func scan(_ low: UInt8, _ high: UInt8, _ bits: UInt8) -> [UInt8] {
            Pictures.segment(0xDA, [1, 1, 0, low, high, bits]) + [0x7F]
        }
        all += scan(0, 0, 0)
        var scans = 1
        for bits in [0x05, 0x54, 0x43, 0x32, 0x21, 0x10] as [UInt8] {
            for coefficient in 1...63 as ClosedRange<UInt8> where scans < count {
                all += scan(coefficient, coefficient, bits)
                scans += 1
            }
        }
        return all + [0xFF, 0xD9]
    }
}

/// Rows of stripes, generated as they are read.
final class StripedRows: RowSource {
    let pixels = PixelFormat.rgb8.codec
    let width: Int
    let height: Int
    private var next = 0

    init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }

    func read(
        into rows: UnsafeMutableRawPointer, stride: Int, count: Int
    ) throws(ImagingError) -> Int {
        let end = min(height, next + count)
        for y in next..<end {
            memset(rows + (y - next) * stride, Int32((y / 5) % 256), width * 3)
        }
        defer { next = end }
        return end - next
    }
}
