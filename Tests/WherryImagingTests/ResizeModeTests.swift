// Wherry: tests of cropping and padding to a box.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import WherrySystem

@testable import WherryImaging

@Suite struct ResizeModeTests {
    private typealias Size = ResizeGeometry.Size

    private func options(
        _ mode: Compression.ResizeMode, _ width: Int, _ height: Int, _ format: ImageFormat = .png
    ) -> Compression {
        var options = Compression()
        options.resizeMode = mode
        options.maxWidth = width
        options.maxHeight = height
        options.format = format
        return options
    }

    private func pixels(
        _ source: ImageSource, _ options: Compression, as format: PixelFormat? = nil
    ) throws -> PixelBuffer {
        let made = try ImageEncoder.encode(source, options)
        let pixels = try ImageDecoder.decode(.bytes(made.bytes), as: format)
        if options.orientation == .apply {
            #expect((pixels.width, pixels.height) == (made.width, made.height))
        }
        return pixels
    }

    private func pixel(_ pixels: PixelBuffer, _ x: Int, _ y: Int) -> [UInt8] {
        let size = pixels.format.bytesPerPixel
        return Array(pixels.copyRow(y)[x * size..<(x + 1) * size])
    }

    @Test("I4 crop covers the box, pad has its size, and no image grows")
    func geometry() {
        func sizes(
            _ width: Int, _ height: Int, _ box: (Int, Int), _ mode: Compression.ResizeMode
        ) -> [Int] {
            let found = ResizeGeometry(width, height, in: box, mode)
            return [found.scaled, found.content, found.target].flatMap { [$0.width, $0.height] }
        }
        #expect(sizes(4000, 3000, (256, 256), .crop) == [342, 256, 256, 256, 256, 256])
        #expect(sizes(3000, 4000, (256, 256), .crop) == [256, 342, 256, 256, 256, 256])
        #expect(sizes(4000, 3000, (400, 300), .crop) == [400, 300, 400, 300, 400, 300])
        #expect(sizes(200, 100, (256, 256), .crop) == [200, 100, 100, 100, 100, 100])
        #expect(sizes(1000, 100, (256, 256), .crop) == [1000, 100, 100, 100, 100, 100])
        #expect(sizes(10, 10, (.max, 1), .crop) == [10, 10, 10, 1, 10, 1])
        #expect(sizes(10, 10, (.max, .max), .crop) == [10, 10, 10, 10, 10, 10])
        #expect(sizes(65_500, 65_500, (1, .max), .crop) == [65_500, 65_500, 1, 65_500, 1, 65_500])
        #expect(sizes(4000, 3000, (256, 256), .pad) == [256, 192, 256, 192, 256, 256])
        #expect(sizes(100, 50, (256, 300), .pad) == [100, 50, 100, 50, 256, 300])
        #expect(sizes(4000, 3000, (256, 256), .fit) == [256, 192, 256, 192, 256, 192])
        for _ in 0..<2_000 {
            let (width, height) = (Int.random(in: 1...500), Int.random(in: 1...500))
            let box = (Int.random(in: 1...500), Int.random(in: 1...500))
            let found = ResizeGeometry(width, height, in: box, .crop)
            let (scaled, content) = (found.scaled, found.content)
            #expect(scaled.width <= width && scaled.height <= height)
            #expect(content.width <= scaled.width && content.height <= scaled.height)
            #expect(content.width <= box.0 && content.height <= box.1)
            #expect(content.width >= 1 && content.height >= 1)
            if width >= box.0, height >= box.1 {
                #expect(content == Size(width: box.0, height: box.1))
            }
            // One side loses nothing.
            #expect(content.width == scaled.width || content.height == scaled.height)
        }
    }

    /// Returns a PNG that shows `upright` with an EXIF orientation.
    private func stored(_ upright: PixelBuffer, orientation: Int) throws -> [UInt8] {
        let back = orientation == 6 ? 8 : orientation == 8 ? 6 : orientation
        let rows = try Turning.upright(BufferedRows(upright), orientation: back, maxMemory: .max)
        let turned = try PixelBuffer(
            format: upright.format, width: rows.width, height: rows.height, maxMemory: .max)
        let isComplete = try rows.readAll(
            into: turned.base, stride: turned.stride, count: turned.height)
        #expect(isComplete)
        let exif = PNGLayout.chunk("eXIf", Pictures.exif(orientation: orientation, gps: false))
        return Pictures.inserting(chunks: exif, into: try Pictures.png(turned))
    }

    @Test("I4 the box is that of the upright image", arguments: 1...8)
    func orientations(orientation: Int) throws {
        let upright = try Pictures.pattern(.rgb8, 61, 44)
        let png = try stored(upright, orientation: orientation)
        for mode in [Compression.ResizeMode.crop, .pad] {
            // Odd differences; scaled and not.
            for box in [(200, 101), (100, 201), (20, 13), (13, 20), (61, 31), (30, 44)] {
                let options = options(mode, box.0, box.1)
                let found = try pixels(ImageSource.array(png), options)
                let expected = try pixels(.pixels(upright), options)
                #expect((found.width, found.height) == (expected.width, expected.height))
                let isEqual = found.packedBytes == expected.packedBytes
                // The order of rounding differs if a scaled image is turned.
                #expect(isEqual || psnr(found, expected) > 45, "\(mode) \(box)")
                var kept = options
                kept.orientation = .keep
                let turned = try pixels(ImageSource.array(png), kept)
                #expect((turned.width, turned.height) == (expected.width, expected.height))
            }
        }
    }

    @Test("I4 the results of fit stay as they are", arguments: PixelFormat.allCases)
    func stable(format: PixelFormat) throws {
        let image = try Pictures.pattern(format, 150, 91)
        let hashes = try [20, 77, 149].map { width in
            // FNV-1a of the pixels, which do not depend on zlib.
            try pixels(.pixels(image), options(.fit, width, 90), as: format).packedBytes
                .reduce(0xCBF2_9CE4_8422_2325 as UInt64) {
                    ($0 ^ UInt64($1)) &* 0x100_0000_01B3
                }
        }
        let known: [PixelFormat: [UInt64]] = [
            .gray8: [
                6_327_211_082_374_431_567, 4_508_917_305_361_620_959, 12_708_110_729_319_762_881,
            ],
            .rgb8: [
                13_123_546_729_011_300_061, 6_685_591_497_801_574_564, 13_031_186_148_740_294_630,
            ],
            .rgba8: [
                4_937_734_632_844_615_027, 3_756_770_826_279_403_260, 10_941_246_562_937_177_713,
            ],
            .bgra8: [
                2_866_603_227_013_207_879, 6_332_860_999_292_160_156, 9_062_719_868_612_623_109,
            ],
        ]
        #expect(hashes == known[format])
    }

    @Test("I4 a smaller image is only cropped, at its center", arguments: PixelFormat.allCases)
    func cropped(format: PixelFormat) throws {
        let image = try Pictures.pattern(format, 50, 31)
        let found = try pixels(.pixels(image), options(.crop, 100, 100), as: format)
        #expect((found.width, found.height) == (31, 31))
        let size = format.bytesPerPixel
        for y in 0..<31 {
            #expect(found.copyRow(y) == Array(image.copyRow(y)[9 * size..<40 * size]))
        }
        let tall = try pixels(.pixels(image), options(.crop, 50, 10), as: format)
        #expect((tall.width, tall.height) == (50, 10))
        #expect(tall.copyRow(0) == image.copyRow(10) && tall.copyRow(9) == image.copyRow(19))
    }

    @Test("I4 the center of a scaled image is cut out", arguments: PixelFormat.allCases)
    func center(format: PixelFormat) throws {
        // A ramp, whose scaled and cropped form can be computed.
        var bytes: [UInt8] = []
        for y in 0..<90 {
            for x in 0..<120 {
                let values = [x * 2, y * 2, 128, 255].map { UInt8($0) }
                bytes += format == .gray8 ? [values[0]] : Array(values[..<format.bytesPerPixel])
            }
        }
        let ramp = try PixelBuffer(copying: bytes, format: format, width: 120, height: 90)
        for (width, height) in [(30, 30), (40, 20), (17, 29), (31, 7)] {
            let found = try pixels(.pixels(ramp), options(.crop, width, height), as: format)
            #expect((found.width, found.height) == (width, height))
            let step = min(120 / Double(width), 90 / Double(height))
            for y in 1..<height - 1 {
                for x in 1..<width - 1 {
                    let across = 59.5 + (Double(x) - Double(width - 1) / 2) * step
                    let down = 44.5 + (Double(y) - Double(height - 1) / 2) * step
                    let pixel = pixel(found, x, y)
                    // The filter ends at the edges of the image.
                    guard (10...109).contains(across), (10...79).contains(down) else { continue }
                    #expect(abs(Double(pixel[0]) - across * 2) < 1.5)
                    if format != .gray8 { #expect(abs(Double(pixel[1]) - down * 2) < 1.5) }
                }
            }
        }
    }

    @Test("I4 a JPEG is cropped after the scaled decoding, in each orientation", arguments: 1...8)
    func jpegs(orientation: Int) throws {
        let jpeg = Pictures.inserting(
            Pictures.exifSegment(orientation: orientation),
            into: try Pictures.jpeg(320, 200, quality: 0.95))
        let upright = try ImageDecoder.decode(ImageSource.array(jpeg))
        for (width, height) in [(100, 100), (40, 25), (25, 40), (33, 90), (300, 20)] {
            for mode in [Compression.ResizeMode.crop, .pad] {
                var options = options(mode, width, height, .jpeg)
                options.quality = 0.95
                // The decoder scales fine patterns of color in another way.
                let found = try pixels(ImageSource.array(jpeg), options, as: .gray8)
                let expected = try pixels(
                    .pixels(upright), self.options(mode, width, height), as: .gray8)
                let isCovered = upright.width >= width && upright.height >= height
                if mode == .pad || isCovered {
                    #expect((found.width, found.height) == (width, height))
                }
                #expect(psnr(expected, found) > 24, "\(mode) \(width)x\(height)")
            }
        }
    }

    @Test("I4 padding is transparent, or has the background")
    func padding() throws {
        let clear = try Pictures.pattern(.rgba8, 20, 10)
        var options = options(.pad, 31, 31)
        let open = try pixels(.pixels(clear), options)
        #expect(pixel(open, 0, 0) == [0, 0, 0, 0] && pixel(open, 30, 30) == [0, 0, 0, 0])
        #expect(pixel(open, 4, 15) == [0, 0, 0, 0] && pixel(open, 25, 15) == [0, 0, 0, 0])
        for y in 0..<10 {
            #expect(Array(open.copyRow(10 + y)[20..<100]) == clear.copyRow(y))
        }
        options.background = 0x10_20_30
        for format in [PixelFormat.rgba8, .bgra8] {
            let image = try Pictures.pattern(format, 20, 10)
            let solid = try pixels(.pixels(image), options, as: .rgba8)
            #expect(pixel(solid, 0, 0) == [16, 32, 48, 255])
            #expect(pixel(solid, 30, 15) == [16, 32, 48, 255])
        }
        let rgb = try pixels(.pixels(try Pictures.pattern(.rgb8, 20, 10)), options)
        #expect(rgb.format == .rgb8 && pixel(rgb, 0, 0) == [16, 32, 48])
        // A gray image stays gray only on gray.
        let gray = try Pictures.pattern(.gray8, 20, 10)
        let colored = try pixels(.pixels(gray), options)
        #expect(colored.format == .rgb8 && pixel(colored, 0, 0) == [16, 32, 48])
        options.background = 0x80_80_80
        let plain = try pixels(.pixels(gray), options)
        #expect(plain.format == .gray8 && pixel(plain, 0, 0) == [128])
        let white = try pixels(.pixels(gray), self.options(.pad, 31, 31, .jpeg))
        #expect(white.format == .gray8 && pixel(white, 0, 0)[0] >= 254)
    }

    @Test("I4 the padding of a JPEG has the background", arguments: [0xFF_FFFF, 0x20_C0_40, 0])
    func paddedJPEG(color: Int) throws {
        for jpeg in [
            try Pictures.jpeg(64, 16),
            try ImageEncoder.encode(
                .pixels(Pictures.pattern(.gray8, 64, 16)), Compression(quality: 0.9, type: "jpg")
            ).bytes.array,
        ] {
            for side in [64, 40] {
                var options = options(.pad, side, side, .jpeg)
                options.quality = 0.95
                options.background = UInt32(color)
                let found = try pixels(ImageSource.array(jpeg), options, as: .rgb8)
                #expect((found.width, found.height) == (side, side))
                for (x, y) in [(0, 0), (side - 1, 0), (side / 2, 3), (side - 1, side - 1)] {
                    for (c, byte) in pixel(found, x, y).enumerated() {
                        #expect(abs(Int(byte) - (color >> (16 - 8 * c) & 255)) <= 2)
                    }
                }
            }
        }
    }

    @Test("I4 a color profile of gray is dropped with a colored background")
    func profiles() throws {
        var profile = [UInt8](repeating: 0, count: 132)
        profile.replaceSubrange(16..<20, with: Array("GRAY".utf8))
        profile[3] = 132
        let segment = Pictures.segment(0xE2, Array("ICC_PROFILE\0".utf8) + [1, 1] + profile)
        let gray = try ImageEncoder.encode(
            .pixels(Pictures.pattern(.gray8, 64, 16)), Compression(quality: 0.9, type: "jpg")
        ).bytes.array
        let jpeg = Pictures.inserting(segment, into: gray)
        var options = options(.pad, 64, 64, .jpeg)
        let white = try ImageEncoder.encode(ImageSource.array(jpeg), options).bytes
        #expect(try ImageInfo(inspecting: .bytes(white)).hasICC)
        options.background = 0xFF_0000
        let red = try ImageEncoder.encode(ImageSource.array(jpeg), options).bytes
        #expect(try !ImageInfo(inspecting: .bytes(red)).hasICC)
    }

    @Test("I4 an image that already has the size of the box is sent unchanged")
    func unchanged() throws {
        let jpeg = try Pictures.jpeg(64, 48)
        for mode in Compression.ResizeMode.allCases {
            let made = try ImageEncoder.encode(
                ImageSource.array(jpeg), options(mode, 64, 48, .keep))
            #expect(made.way == .untouched && made.bytes.array == jpeg)
        }
    }

    @Test("I4 at quality 1, a cropped JPEG of the same scale keeps its quantization")
    func quantization() throws {
        let jpeg = try Pictures.jpeg(128, 96, quality: 0.5)
        let options = options(.crop, 96, 96, .jpeg)
        let made = try ImageEncoder.encode(ImageSource.array(jpeg), options)
        #expect((made.width, made.height) == (96, 96))
        #expect(made.quality == nil && made.bytes.count < jpeg.count)
        // The cut is at a block, so the same coefficients of brightness result.
        let found = try ImageDecoder.decode(.bytes(made.bytes), as: .gray8)
        let original = try ImageDecoder.decode(ImageSource.array(jpeg))
        let expected = try pixels(.pixels(original), self.options(.crop, 96, 96), as: .gray8)
        #expect(psnr(found, expected) > 38)
    }

    @Test("I4 cropping and padding hold few rows in memory")
    func memory() throws {
        var options = Compression(quality: 0.5)
        options.optimize = false
        let jpeg = try Pipeline(
            compression: options, limits: Limits(options), format: .jpeg, width: 4_000,
            height: 3_000
        ).encode(StripedRows(width: 4_000, height: 3_000)).bytes
        for mode in Compression.ResizeMode.allCases {
            for (width, height) in [(1_000, 1_000), (500, 2_000), (3_500, 3_500)] {
                var options = self.options(mode, width, height, .jpeg)
                options.quality = 0.5
                options.optimize = false
                options.maxMemory = 1_000_000
                options.deadline = nil
                let made = try ImageEncoder.encode(.bytes(jpeg), options)
                #expect(made.way == .streamed)
                if mode == .pad { #expect((made.width, made.height) == (width, height)) }
            }
        }
    }

    @Test("I4 damage in rows that are cut off is an error")
    func damage() throws {
        let png = try Pictures.png(Pictures.pattern(.rgb8, 100, 400))
        var damaged = png
        damaged[png.count - 40] ^= 0xFF
        for box in [(100, 10), (50, 5)] {
            let options = options(.crop, box.0, box.1)
            _ = try ImageEncoder.encode(ImageSource.array(png), options)
            let error = failure {
                _ = try ImageEncoder.encode(ImageSource.array(damaged), options)
            }
            #expect(error?.kind == .image, "\(box)")
        }
    }

    @Test("I4 a box without two sides, and one that is too large, are refused")
    func refused() throws {
        let image = ImageSource.pixels(try Pictures.pattern(.rgb8, 10, 10))
        for mode in [Compression.ResizeMode.crop, .pad] {
            var half = options(mode, 5, 5)
            half.maxHeight = nil
            let error = failure { _ = try ImageEncoder.encode(image, half) }
            #expect(error?.reason == "bad_parameters")
            #expect(error?.message.contains("Set both.") == true)
        }
        for (width, height) in [(65_501, 1), (1, .max), (.max, .max), (20_000, 20_000)] {
            let error = failure {
                _ = try ImageEncoder.encode(image, options(.pad, width, height))
            }
            #expect(error?.reason == "bad_parameters")
            let made = try ImageEncoder.encode(image, options(.crop, width, height))
            #expect(made.width <= 10 && made.height <= 10)
        }
    }

    @Test("I4 a padded image fits into a number of bytes")
    func bytes() throws {
        var options = options(.pad, 300, 300, .jpeg)
        options.maxBytes = 3_000
        let made = try ImageEncoder.encode(ImageSource.array(try Pictures.jpeg(320, 240)), options)
        #expect(made.bytes.count <= 3_000 && made.width == made.height)
    }
}
