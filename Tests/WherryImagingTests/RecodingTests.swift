// Wherry: tests of image processing for uploads.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import WherrySystem

@testable import WherryImaging

struct RecodingTests {
    @Test("U6 half the ratio makes a smaller file; a ratio outside 0...1 counts as 1")
    func ratio() throws {
        let pixels = ImageSource.pixels(try Pictures.pattern(.rgb8, 160, 120))
        func size(_ ratio: Double) throws -> Int {
            try ImageEncoder.encode(pixels, Compression(quality: ratio, type: "jpg")).bytes.count
        }
        let full = try size(1)
        #expect(try size(0.5) < full)
        #expect(try size(0) < size(0.5))
        #expect(try size(7) == full)
        #expect(try size(-1) == full)
        #expect(try size(.nan) == full)
        #expect(Compression(quality: 0).jpegQuality == 1)
        #expect(Compression(quality: 0.505).jpegQuality == 51)
        #expect(Compression(quality: 0.004).jpegQuality == 1)
    }

    @Test("U6 PNG ignores the ratio: the pixels stay", arguments: [0.0, 0.3, 1])
    func pngIgnoresRatio(ratio: Double) throws {
        let pixels = try Pictures.pattern(.rgba8, 33, 21)
        let png = try Pictures.png(pixels)
        let sent = try ImageEncoder.encode(.array(png), Compression(quality: ratio))
        #expect(sent.bytes.array == png)
        #expect(sent.way == .untouched)
        #expect(try ImageDecoder.decode(.bytes(sent.bytes)).packedBytes == pixels.packedBytes)
    }

    @Test("U7 at ratio 1 bytes of the requested type are sent unchanged")
    func untouched() throws {
        let jpeg = try Pictures.jpeg()
        for type in ["jpg", "JPEG", nil] {
            let sent = try ImageEncoder.encode(.array(jpeg), Compression(quality: 1, type: type))
            #expect(sent.bytes.array == jpeg)
            #expect(sent.way == .untouched)
            #expect(sent.quality == nil)
            #expect(sent.originalByteCount == jpeg.count)
        }
        try Pictures.withFile(jpeg) { path in
            let sent = try ImageEncoder.encode(.file(path: path), Compression())
            #expect(sent.bytes.array == jpeg)
        }
    }

    @Test("U8 path, bytes, and pixels of one image give the same pixels")
    func threeRoutes() throws {
        let pixels = try Pictures.pattern(.rgb8, 50, 40)
        let png = try Pictures.png(pixels)
        let fromBytes = try ImageDecoder.decode(.array(png))
        let fromFile = try Pictures.withFile(png) { try ImageDecoder.decode(.file(path: $0)) }
        #expect(fromBytes.packedBytes == pixels.packedBytes)
        #expect(fromFile.packedBytes == pixels.packedBytes)

        let options = Compression(quality: 0.7, type: "jpg")
        let encoded = try [ImageSource.pixels(pixels), .array(png)].map {
            try ImageEncoder.encode($0, options).bytes
        }
        #expect(encoded[0] == encoded[1])
    }

    @Test("U8 every raw format is accepted, with a stride too")
    func rawFormats() throws {
        for format in PixelFormat.allCases {
            let plain = try Pictures.pattern(format, 31, 17)
            let row = plain.rowBytes
            var padded: [UInt8] = []
            for y in 0..<17 { padded += plain.copyRow(y) + [UInt8](repeating: 0xAA, count: 13) }
            let strided = try PixelBuffer(
                copying: padded, format: format, width: 31, height: 17, stride: row + 13)
            for type in ["png", "jpg"] {
                let options = Compression(quality: 0.8, type: type)
                let a = try ImageEncoder.encode(.pixels(plain), options)
                let b = try ImageEncoder.encode(.pixels(strided), options)
                #expect(a.bytes == b.bytes)
            }
            let kept = try ImageEncoder.encode(.pixels(plain), Compression())
            #expect(kept.format == (format.hasAlpha ? .png : .jpeg))
            #expect(kept.originalByteCount == nil)
            if format.hasAlpha {
                let back = try ImageDecoder.decode(.bytes(kept.bytes), as: format)
                #expect(back.packedBytes == plain.packedBytes)
            }
        }
    }

    @Test("a JPEG is re-encoded from its planes and looks the same", arguments: [0.5, 0.8, 0.95])
    func recoded(quality: Double) throws {
        // 61x45 has incomplete blocks at both edges.
        for samples in [Compression.Subsampling.s420, .s422, .s444] {
            let jpeg = try Pictures.jpeg(61, 45, quality: 1) { $0.subsampling = samples }
            var options = Compression(quality: quality)
            options.subsampling = samples
            let sent = try ImageEncoder.encode(.array(jpeg), options)
            #expect(sent.way == .recoded)
            #expect(sent.bytes.count < jpeg.count)
            #expect(sent.quality == Int(quality * 100))
            let before = try ImageDecoder.decode(.array(jpeg))
            let after = try ImageDecoder.decode(.bytes(sent.bytes))
            #expect(psnr(before, after) > (quality > 0.7 ? 29 : 25))
        }
    }

    @Test("coefficients that are already in memory are requantized", arguments: [0.3, 0.6, 0.95])
    func requantised(quality: Double) throws {
        for (progressive, pixels) in [
            (true, try Pictures.pattern(.rgb8, 61, 45)),
            (false, try Pictures.pattern(.gray8, 61, 45)),
        ] {
            var first = Compression(quality: 0.98)
            first.format = .jpeg
            first.progressive = progressive
            first.subsampling = .s420
            let jpeg = try ImageEncoder.encode(.pixels(pixels), first).bytes
            var options = Compression(quality: quality)
            options.optimize = true
            options.subsampling = .s420
            let sent = try ImageEncoder.encode(.bytes(jpeg), options)
            #expect(sent.way == .recoded)
            #expect(sent.bytes.count < jpeg.count)
            // The result must be as good as encoding the pixels at that quality.
            options.optimize = false
            options.neverLarger = false
            let source = try ImageDecoder.decode(.bytes(jpeg))
            options.format = .jpeg
            let plain = try ImageEncoder.encode(.pixels(source), options)
            let theirs = psnr(source, try ImageDecoder.decode(.bytes(plain.bytes)))
            let ours = psnr(source, try ImageDecoder.decode(.bytes(sent.bytes)))
            #expect(ours > min(theirs - 0.5, 45))
        }
    }

    /// Found by a fuzzer: coefficients of -1024 were written, which have no Huffman code.
    @Test("coefficients beyond the 8 bit range give a readable JPEG")
    func largeCoefficients() throws {
        var noise: [UInt8] = []
        for index in 0..<64 * 48 * 3 { noise.append(index * 7919 % 13 < 6 ? 0 : 255) }
        let pixels = try PixelBuffer(copying: noise, format: .rgb8, width: 64, height: 48)
        var options = Compression(quality: 0.95)
        options.format = .jpeg
        options.progressive = true
        options.subsampling = .s420
        var jpeg = try ImageEncoder.encode(.pixels(pixels), options).bytes.array
        // Set all quantization values to the maximum, so that every coefficient is far too large.
        for at in 0..<jpeg.count - 68 where jpeg[at] == 0xFF && jpeg[at + 1] == 0xDB {
            let length = Int(jpeg[at + 2]) << 8 | Int(jpeg[at + 3])
            for place in at + 5..<at + 2 + length where (place - at - 4) % 65 != 0 {
                jpeg[place] = 255
            }
        }
        options.progressive = false
        options.neverLarger = false
        for optimize in [false, true] {
            options.quality = 0.99
            options.optimize = optimize
            let made = try ImageEncoder.encode(.array(jpeg), options)
            #expect(made.way == .recoded)
            #expect(try ImageDecoder.decode(.bytes(made.bytes)).width == 64)
        }
    }

    @Test("changed subsampling converts through rows without changing colors")
    func changedSampling() throws {
        let jpeg = try Pictures.jpeg(61, 45, quality: 1) { $0.subsampling = .s444 }
        let sent = try ImageEncoder.encode(.array(jpeg), Compression(quality: 0.8))
        #expect(sent.way == .streamed)
        let before = try ImageDecoder.decode(.array(jpeg), as: .gray8)
        #expect(psnr(before, try ImageDecoder.decode(.bytes(sent.bytes), as: .gray8)) > 32)
    }

    @Test("gray stays gray", arguments: [ImageFormat.jpeg, .png])
    func gray(format: ImageFormat) throws {
        let pixels = try Pictures.pattern(.gray8, 40, 30)
        var options = Compression(quality: 0.9)
        options.format = format
        let first = try ImageEncoder.encode(.pixels(pixels), options)
        #expect(try ImageInfo(inspecting: .bytes(first.bytes)).components == 1)
        var second = Compression(quality: 0.5)
        second.format = .jpeg
        let sent = try ImageEncoder.encode(.bytes(first.bytes), second)
        #expect(try ImageInfo(inspecting: .bytes(sent.bytes)).components == 1)
        #expect(psnr(pixels, try ImageDecoder.decode(.bytes(sent.bytes))) > 34)
    }

    @Test("the original is sent if the re-encoded image would be larger")
    func neverLarger() throws {
        let exif = Pictures.exifSegment(orientation: 1)
        let plain = try Pictures.jpeg(quality: 0.1)
        let jpeg = Pictures.inserting(exif, into: plain)
        var options = Compression(quality: 0.99)
        let sent = try ImageEncoder.encode(.array(jpeg), options)
        #expect(sent.bytes.array == plain)
        #expect(sent.way == .stripped)
        options.neverLarger = false
        let ours = try ImageEncoder.encode(.array(jpeg), options)
        #expect(ours.bytes.count > plain.count)
    }

    @Test("alpha is blended onto the background, and hidden colors do not show through")
    func alpha() throws {
        let bytes: [UInt8] = (0..<64).flatMap { _ in [255, 0, 0, 0] as [UInt8] }
        let hidden = try PixelBuffer(copying: bytes, format: .rgba8, width: 8, height: 8)
        let png = try Pictures.png(hidden)
        var options = Compression(quality: 0.9, type: "jpg")
        for (background, expected) in [(0xFFFFFF, [255, 255, 255]), (0x2040C0, [32, 64, 192])] {
            options.background = UInt32(background)
            for source in [ImageSource.pixels(hidden), .array(png)] {
                let sent = try ImageEncoder.encode(source, options)
                let row = try ImageDecoder.decode(.bytes(sent.bytes), as: .rgb8).copyRow(4)
                for (value, wanted) in zip(row, expected) { #expect(abs(Int(value) - wanted) < 4) }
            }
        }
    }

    @Test("progressive and optimized JPEG decode to the same pixels")
    func progressive() throws {
        let base = try Pictures.jpeg(70, 50)
        let progressive = try Pictures.jpeg(70, 50) { $0.progressive = true }
        let optimised = try Pictures.jpeg(70, 50) { $0.optimize = true }
        #expect(optimised.count < base.count)
        #expect(try ImageInfo(inspecting: .array(progressive)).isProgressive)
        let pixels = try ImageDecoder.decode(.array(base)).packedBytes
        #expect(try ImageDecoder.decode(.array(progressive)).packedBytes == pixels)
        #expect(try ImageDecoder.decode(.array(optimised)).packedBytes == pixels)
    }

    @Test("an unsupported option is refused, not ignored")
    func refused() throws {
        let jpeg = try Pictures.jpeg()
        for format in [ImageFormat.gif, .tiff, .webp] {
            var options = Compression()
            options.format = format
            let error = failure { _ = try ImageEncoder.encode(.array(jpeg), options) }
            #expect(error?.reason == "unsupported_option")
        }
        var options = Compression()
        options.maxWidth = 0
        #expect(
            failure { _ = try ImageEncoder.encode(.array(jpeg), options) }?.reason
                == "bad_parameters")
    }

    @Test("many threads encode at once with equal results")
    func threads() async throws {
        let jpeg = try Pictures.jpeg(200, 150, quality: 1)
        let expected = try ImageEncoder.encode(.array(jpeg), Compression(quality: 0.5)).bytes
        try await withThrowingTaskGroup(of: Bytes.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    try ImageEncoder.encode(.array(jpeg), Compression(quality: 0.5)).bytes
                }
            }
            for try await bytes in group { #expect(bytes == expected) }
        }
    }
}
