// Wherry: tests of scaling images, to a size in pixels or in bytes.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import WherrySystem

@testable import WherryImaging

struct SizeTests {
    @Test("U19 the aspect ratio is kept, and no image grows")
    func fit() {
        #expect(ResizeGeometry.fit(4000, 3000, 1600, 1600) == (1600, 1200))
        #expect(ResizeGeometry.fit(3000, 4000, 1600, 1600) == (1200, 1600))
        #expect(ResizeGeometry.fit(4000, 3000, .max, 600) == (800, 600))
        #expect(ResizeGeometry.fit(100, 50, 200, 200) == (100, 50))
        #expect(ResizeGeometry.fit(65_500, 1, 10, .max) == (10, 1))
        #expect(ResizeGeometry.fit(1, 65_500, .max, 10) == (1, 10))
    }

    @Test("U19 a scaled image looks like the original", arguments: PixelFormat.allCases)
    func smaller(format: PixelFormat) throws {
        // A smooth image, whose scaled form can be computed.
        var bytes: [UInt8] = []
        for y in 0..<90 {
            for x in 0..<120 {
                let values = [x * 2, y * 2, 128, 255].map { UInt8($0) }
                bytes += format == .gray8 ? [values[0]] : Array(values[..<format.bytesPerPixel])
            }
        }
        let pixels = try PixelBuffer(copying: bytes, format: format, width: 120, height: 90)
        var options = Compression()
        options.format = .png
        options.maxWidth = 40
        let sent = try ImageEncoder.encode(.pixels(pixels), options)
        #expect((sent.width, sent.height) == (40, 30))
        let small = try ImageDecoder.decode(.bytes(sent.bytes), as: format)
        for y in 2..<28 {
            let row = small.copyRow(y)
            for x in 2..<38 {
                let pixel = row[x * format.bytesPerPixel..<(x + 1) * format.bytesPerPixel]
                #expect(abs(Int(pixel.first!) - (x * 3 + 1) * 2) <= 1)
                if format != .gray8 {
                    #expect(abs(Int(pixel[pixel.startIndex + 1]) - (y * 3 + 1) * 2) <= 1)
                    #expect(abs(Int(pixel[pixel.startIndex + 2]) - 128) <= 1)
                }
            }
        }
    }

    @Test(
        "U19 JPEGs shrink by any factor, rotated or not", arguments: [1, 6], [7, 20, 33, 63])
    func jpegs(orientation: Int, side: Int) throws {
        let plain = try Pictures.jpeg(128, 96, quality: 0.95)
        let jpeg = Pictures.inserting(Pictures.exifSegment(orientation: orientation), into: plain)
        var options = Compression(quality: 0.95)
        options.maxWidth = side
        options.maxHeight = side
        let sent = try ImageEncoder.encode(.array(jpeg), options)
        #expect(max(sent.width, sent.height) == side)
        #expect((sent.width > sent.height) == (orientation == 1))
        // Compare with the fully decoded image, scaled without the decoder's help.
        var png = options
        png.format = .png
        let full = try ImageDecoder.decode(.array(jpeg))
        let slow = try ImageEncoder.encode(.pixels(full), png)
        let expected = try ImageDecoder.decode(.bytes(slow.bytes), as: .gray8)
        let seen = try ImageDecoder.decode(.bytes(sent.bytes), as: .gray8)
        #expect(psnr(expected, seen) > 24)
    }

    @Test("hidden colors do not bleed into a scaled image")
    func bleeding() throws {
        var bytes: [UInt8] = []
        for i in 0..<32 * 32 { bytes += i % 32 < 16 ? [255, 0, 0, 0] : [0, 0, 255, 255] }
        let pixels = try PixelBuffer(copying: bytes, format: .rgba8, width: 32, height: 32)
        var options = Compression()
        options.maxWidth = 9
        let sent = try ImageEncoder.encode(.pixels(pixels), options)
        let row = try ImageDecoder.decode(.bytes(sent.bytes), as: .rgba8).copyRow(4)
        for x in 0..<9 where row[x * 4 + 3] > 20 { #expect(row[x * 4] < 8 && row[x * 4 + 2] > 240) }
        #expect(row[3] == 0 && row[35] == 255)
    }

    @Test("kept orientation: the limits are those of the upright image")
    func keptOrientation() throws {
        let jpeg = Pictures.inserting(
            Pictures.exifSegment(orientation: 6), into: try Pictures.jpeg(80, 40))
        var options = Compression(quality: 0.9)
        options.orientation = .keep
        options.maxWidth = 20
        let sent = try ImageEncoder.encode(.array(jpeg), options)
        #expect((sent.width, sent.height) == (40, 20))
        #expect(try ImageInfo(inspecting: .bytes(sent.bytes)).uprightSize == (20, 40))
    }

    @Test("U19 an image is fitted into a number of bytes, by quality and then by size")
    func bytes() throws {
        let source = try Pictures.jpeg(320, 240, quality: 1)
        var options = Compression()
        for most in [source.count, source.count / 2, 9_000, 3_000, 1_200] {
            options.maxBytes = most
            let sent = try ImageEncoder.encode(.array(source), options)
            #expect(sent.bytes.count <= most)
            #expect(sent.bytes.count > most / 4)
            #expect((sent.way == .untouched) == (most == source.count))
            let back = try ImageDecoder.decode(.bytes(sent.bytes))
            #expect((back.width, back.height) == (sent.width, sent.height))
            if let quality = sent.quality, sent.width == 320, quality < 100 {
                // A slightly higher quality must not fit.
                var more = Compression(quality: Double(quality + 2) / 100)
                more.maxBytes = source.count
                let next = try ImageEncoder.encode(.array(source), more)
                #expect(next.bytes.count > most)
            }
        }
        options.maxBytes = 100
        #expect(
            failure { _ = try ImageEncoder.encode(.array(source), options) }?.reason
                == "does_not_fit")
        let png = try Pictures.png(Pictures.pattern(.rgb8, 200, 100))
        options.maxBytes = 2_000
        let sent = try ImageEncoder.encode(.array(png), options)
        #expect(sent.format == .png && sent.bytes.count <= 2_000)
    }

    @Test("the weights of a resampler sum to one and stay within the picture")
    func weights() {
        for (source, target) in [(4000, 1600), (7, 3), (3, 1), (1, 1), (65_500, 2), (100, 99)] {
            let weights = ResamplingWeights(from: source, to: target)
            for output in 0..<target {
                let row = weights.values[output * weights.taps..<(output + 1) * weights.taps]
                #expect(abs(row.reduce(0, +) - 1) < 1e-3)
                let reach = row.lastIndex { $0 != 0 }! - row.startIndex
                #expect(Int(weights.first[output]) + reach < source)
            }
        }
    }
}
