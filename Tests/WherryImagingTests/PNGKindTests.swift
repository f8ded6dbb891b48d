// Wherry: tests with kinds of PNG and JPEG that other programs write.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import WherrySystem

@testable import WherryImaging

struct PNGKindTests {
    private func decode(_ png: RawPNG, as format: PixelFormat? = nil) throws -> PixelBuffer {
        try ImageDecoder.decode(.array(png.file), as: format)
    }

    @Test("gray of 1, 2, and 4 bits spreads over black to white", arguments: [1, 2, 4])
    func lowDepths(depth: Int) throws {
        let most = (1 << depth) - 1
        let values = (0..<8).map { $0 % (most + 1) }
        var row: [UInt8] = [0]
        for start in stride(from: 0, to: 8, by: 8 / depth) {
            var byte = 0
            for value in values[start..<start + 8 / depth] { byte = byte << depth | value }
            row.append(UInt8(byte))
        }
        let png = RawPNG(width: 8, height: 1, depth: depth, colorType: 0, data: row)
        let pixels = try decode(png)
        #expect(pixels.format == .gray8)
        #expect(pixels.packedBytes == values.map { UInt8($0 * 255 / most) })
    }

    @Test("16 bit gray and color keep their brightness")
    func sixteenBits() throws {
        let gray = RawPNG(
            width: 4, height: 1, depth: 16, colorType: 0,
            data: [0, 0x00, 0x00, 0x40, 0x00, 0x80, 0x80, 0xFF, 0xFF])
        #expect(try decode(gray).packedBytes == [0, 64, 128, 255])
        let colour = RawPNG(
            width: 1, height: 1, depth: 16, colorType: 2, data: [0, 0x10, 0, 0x80, 0, 0xF0, 0])
        #expect(try decode(colour).packedBytes == [16, 128, 239])
        var options = Compression(quality: 1)
        options.format = .jpeg
        let sent = try ImageEncoder.encode(.array(gray.file), options)
        #expect(abs(Int(try ImageDecoder.decode(.bytes(sent.bytes)).packedBytes[2]) - 128) < 6)
    }

    @Test("palettes keep their colors and their transparency")
    func palettes() throws {
        let colours: [UInt8] = [255, 0, 0, 0, 255, 0, 0, 0, 255]
        var png = RawPNG(
            width: 4, height: 1, depth: 2, colorType: 3, extra: PNGLayout.chunk("PLTE", colours),
            data: [0, 0b00_01_10_01])
        #expect(try decode(png).packedBytes == [255, 0, 0, 0, 255, 0, 0, 0, 255, 0, 255, 0])
        png.extra += PNGLayout.chunk("tRNS", [255, 0])
        let pixels = try decode(png)
        #expect(pixels.format == .rgba8)
        #expect(pixels.packedBytes[7] == 0 && pixels.packedBytes[11] == 255)
        #expect(try decode(png, as: .rgb8).packedBytes[3..<6] == [255, 255, 255])
        #expect(try ImageInfo(inspecting: .array(png.file)).hasAlpha)
    }

    @Test("gray with alpha and transparent grays or colors are decoded")
    func transparency() throws {
        let both = RawPNG(width: 2, height: 1, depth: 8, colorType: 4, data: [0, 10, 0, 200, 255])
        #expect(try decode(both).packedBytes == [10, 10, 10, 0, 200, 200, 200, 255])
        #expect(try decode(both, as: .gray8).packedBytes == [255, 200])
        let gray = RawPNG(
            width: 2, height: 1, depth: 8, colorType: 0, extra: PNGLayout.chunk("tRNS", [0, 77]),
            data: [0, 77, 78])
        #expect(try decode(gray).packedBytes == [77, 77, 77, 0, 78, 78, 78, 255])
        let colour = RawPNG(
            width: 2, height: 1, depth: 8, colorType: 2,
            extra: PNGLayout.chunk("tRNS", [0, 1, 0, 2, 0, 3]), data: [0, 1, 2, 3, 4, 5, 6])
        #expect(try decode(colour).packedBytes == [1, 2, 3, 0, 4, 5, 6, 255])
        let deep = RawPNG(
            width: 2, height: 1, depth: 16, colorType: 0,
            extra: PNGLayout.chunk("tRNS", [0x80, 0x01]), data: [0, 0x80, 0x01, 0x80, 0x02])
        #expect(try decode(deep).packedBytes == [128, 128, 128, 0, 128, 128, 128, 255])
    }

    @Test("interlaced images are decoded in order", arguments: [(8, 8), (5, 3), (1, 1), (13, 9)])
    func interlaced(width: Int, height: Int) throws {
        let png = RawPNG(
            width: width, height: height, depth: 8, colorType: 0, interlaced: true,
            data: Self.adam7(width, height) { UInt8($0 * 7 + $1 * 19) })
        let expected = (0..<height).flatMap { y in (0..<width).map { UInt8($0 * 7 + y * 19) } }
        #expect(try decode(png).packedBytes == expected)
        #expect(try ImageInfo(inspecting: .array(png.file)).isProgressive)
    }

    /// Found by a fuzzer: libpng skips such a chunk after the pixels. The chunk was then written
    /// before the pixels, where readers must not skip it.
    @Test("an unknown critical chunk is not copied into a re-encoded image")
    func unknownCritical() throws {
        var png = try Pictures.png(Pictures.pattern(.rgb8, 8, 8))
        png.insert(contentsOf: PNGLayout.chunk("IhIS", []), at: png.count - 12)
        var options = Compression()
        options.maxWidth = 4
        let made = try ImageEncoder.encode(.array(png), options)
        #expect(try ImageDecoder.decode(.bytes(made.bytes)).width == 4)
        #expect(!made.bytes.array.contains("IhIS"))
    }

    @Test("SEC-R10 a text that decompresses to megabytes is not decompressed")
    func textBomb() throws {
        let plain = try Pictures.png(Pictures.pattern(.rgb8, 8, 8))
        // Only 60 KB here: the damaged compressed data shows whether it is decompressed.
        let text = PNGLayout.chunk(
            "zTXt", Array("Comment\0\0".utf8) + [UInt8](repeating: 9, count: 60_000))
        let png = Pictures.inserting(chunks: text, into: plain)
        var options = Compression(quality: 0.5)
        options.format = .jpeg
        #expect(try ImageEncoder.encode(.array(png), options).bytes.count < 10_000)
        #expect(try ImageEncoder.encode(.array(png), Compression()).bytes.array == plain)
    }

    @Test("CMYK and Adobe's inverted YCCK become the same RGB")
    func cmyk() throws {
        for text in [Self.plainCMYK, Self.adobeYCCK] {
            let jpeg = [UInt8](try #require(Data(base64Encoded: text)))
            let row = try ImageDecoder.decode(.array(jpeg)).copyRow(3)
            for (x, wanted) in [(2, [0, 255, 255]), (12, [127, 0, 0])] {
                for i in 0..<3 { #expect(abs(Int(row[x * 3 + i]) - wanted[i]) < 8) }
            }
            var options = Compression(quality: 0.9)
            options.neverLarger = false
            let sent = try ImageEncoder.encode(.array(jpeg), options)
            #expect(try ImageInfo(inspecting: .bytes(sent.bytes)).components == 3)
            options.maxWidth = 8
            let small = try ImageEncoder.encode(.array(jpeg), options)
            #expect((small.width, small.height) == (8, 4))
            #expect(try ImageDecoder.decode(.array(jpeg), as: .rgba8).copyRow(0)[3] == 255)
            // At ratio 1, the file is sent unchanged, because it already is a JPEG.
            #expect(try ImageEncoder.encode(.array(jpeg), Compression()).bytes.array == jpeg)
        }
    }

    @Test(
        "files written by cjpeg are read",
        .enabled(if: Tool.exists("cjpeg"), "cjpeg is not installed"))
    func foreignJPEG() throws {
        let pixels = try Pictures.pattern(.rgb8, 67, 41)
        let ppm = Array("P6 67 41 255\n".utf8) + pixels.packedBytes
        for arguments in [
            ["-quality", "95"], ["-progressive"], ["-sample", "2x1"], ["-sample", "1x2"],
            ["-restart", "1"], ["-rgb"], ["-grayscale"], ["-optimize", "-sample", "4x1"],
        ] {
            let jpeg = try Tool.run("cjpeg", arguments, input: ppm)
            let gray = try ImageDecoder.decode(.pixels(pixels), as: .gray8)
            let seen = try ImageDecoder.decode(.array(jpeg), as: .gray8)
            #expect(psnr(gray, seen) > 28, "\(arguments)")
            let sent = try ImageEncoder.encode(.array(jpeg), Compression(quality: 0.7))
            #expect(psnr(gray, try ImageDecoder.decode(.bytes(sent.bytes), as: .gray8)) > 26)
        }
        let arithmetic = try Tool.run("cjpeg", ["-arithmetic"], input: ppm)
        #expect(
            failure { _ = try ImageDecoder.decode(.array(arithmetic)) }?.reason
                == "unsupported_image")
    }

    @Test(
        "djpeg reads Wherry's files", .enabled(if: Tool.exists("djpeg"), "djpeg is not installed"))
    func readByOthers() throws {
        for progressive in [false, true] {
            let jpeg = try Pictures.jpeg(67, 41) { $0.progressive = progressive }
            let sent = try ImageEncoder.encode(.array(jpeg), Compression(quality: 0.5)).bytes
            let ppm = try Tool.run("djpeg", ["-strict"], input: sent.array)
            #expect(ppm.starts(with: Array("P6\n67 41\n255\n".utf8)))
            let ours = try ImageDecoder.decode(.bytes(sent)).packedBytes
            #expect(Array(ppm.suffix(ours.count)) == ours)
        }
    }

    /// Returns the filter bytes and samples of an interlaced 8-bit gray image.
    static func adam7(_ width: Int, _ height: Int, _ value: (Int, Int) -> UInt8) -> [UInt8] {
        let passes = [
            (0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2),
            (0, 1, 1, 2),
        ]
        var data: [UInt8] = []
        for (x0, y0, dx, dy) in passes where x0 < width {
            for y in stride(from: y0, to: height, by: dy) {
                data.append(0)
                for x in stride(from: x0, to: width, by: dx) { data.append(value(x, y)) }
            }
        }
        return data
    }

    /// A 16x8 image: cyan ink on the left; magenta and yellow with half black on the right.
    static let plainCMYK = """
        /9j/2wBDAAIBAQEBAQIBAQECAgICAgQDAgICAgUEBAMEBgUGBgYFBgYGBwkIBgcJBwYGCAsICQoKCgoKBggLDAsK\
        DAkKCgr/wAAUCAAIABAEQxEATREAWREASxEA/8QAFQABAQAAAAAAAAAAAAAAAAAACgn/xAAUEAEAAAAAAAAAAAAA\
        AAAAAAAA/9oADgRDAE0AWQBLAAA/AL+D/j/j/gBn+H+EAP/Z
        """
    static let adobeYCCK = """
        /9j/7gAOQWRvYmUAZAAAAAAC/9sAQwACAQEBAQECAQEBAgICAgIEAwICAgIFBAQDBAYFBgYGBQYGBgcJCAYHCQcG\
        BggLCAkKCgoKCgYICwwLCgwJCgoK/9sAQwECAgICAgIFAwMFCgcGBwoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoK\
        CgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoK/8AAFAgACAAQBAERAAIRAQMRAQQRAP/EABYAAQEBAAAAAAAAAAAAAAAA\
        AAkICv/EABQQAQAAAAAAAAAAAAAAAAAAAAD/xAAWAQEBAQAAAAAAAAAAAAAAAAAJCAr/xAAUEQEAAAAAAAAAAAAA\
        AAAAAAAA/9oADgQBAAIRAxEEAAA/AIvSmfw/hnCsMAbP+//Z
        """
}

/// Programs that tests use if they are installed.
enum Tool {
    static func exists(_ name: String) -> Bool { path(name) != nil }

    static func path(_ name: String) -> String? {
        (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin").split(separator: ":")
            .map { "\($0)/\(name)" }.first { access($0, X_OK) == 0 }
    }

    static func run(_ name: String, _ arguments: [String], input: [UInt8]) throws -> [UInt8] {
        try Pictures.withFile(input) { file in
            let process = Process()
            process.executableURL = URL(fileURLWithPath: try #require(path(name)))
            process.arguments = arguments + [file]
            let output = Pipe()
            process.standardOutput = output
            try process.run()
            let bytes = output.fileHandleForReading.readDataToEndOfFile()
            process.waitUntilExit()
            #expect(process.terminationStatus == 0)
            return [UInt8](bytes)
        }
    }
}
