// Wherry: tests of decoding while the bytes arrive
// SPDX-License-Identifier: Apache-2.0

import Testing
import WherrySystem

@testable import WherryImaging

@Suite struct PreviewTests {
    /// The offsets after the headers of all scans, at which the scan before is complete.
    static func scans(_ jpeg: [UInt8]) throws -> [Int] {
        let layout = try JPEGLayout(ImageInput(Bytes(jpeg)), whole: true)
        return layout.segments.filter { $0.code == 0xDA }.map { segment in
            let start = segment.range.lowerBound
            return start + 2 + Int(jpeg[start + 2]) << 8 + Int(jpeg[start + 3])
        }
    }

    /// Feeds an image in pieces of `step` bytes. Returns all previews.
    private func feed(
        _ bytes: [UInt8], step: Int, as format: PixelFormat? = nil,
        _ compression: Compression = Compression()
    ) throws -> [DecodedPreview] {
        let decoder = PreviewDecoder(as: format, compression)
        var previews: [DecodedPreview] = []
        for start in stride(from: 0, to: bytes.count, by: step) {
            let piece = Bytes(bytes[start..<min(bytes.count, start + step)])
            if let preview = try decoder.decode([piece]) { previews.append(preview) }
        }
        return previews
    }

    @Test("I2 each scan of a JPEG gives a preview, which becomes more similar")
    func scans() throws {
        let jpeg = try Pictures.jpeg(163, 120) { $0.progressive = true }
        let whole = try ImageDecoder.decode(.array(jpeg))
        let ends = try Self.scans(jpeg)
        try #require(ends.count > 5)
        let decoder = PreviewDecoder()
        var start = 0
        var similarities: [Double] = []
        for (index, end) in ends.enumerated() {
            let preview = try decoder.decode([Bytes(jpeg[start..<end])])
            start = end
            // The first scan has begun, but none is complete.
            guard index > 0 else {
                #expect(preview == nil)
                continue
            }
            let found = try #require(preview)
            #expect(found.pass == index && found.pixels.format == .rgb8)
            #expect((found.pixels.width, found.pixels.height) == (163, 120))
            similarities.append(psnr(found.pixels, whole))
        }
        #expect(try #require(similarities.first) > 15)
        #expect(try #require(similarities.last) > #require(similarities.first) + 5)
        // The complete image gives no preview.
        #expect(try decoder.decode([Bytes(jpeg[start...])]) == nil)
        #expect(decoder.isEnded)
    }

    @Test("I2 each pass of an interlaced PNG gives a preview", arguments: [(1, 5000), (7, 64)])
    func passes(step: Int, side: Int) throws {
        let pixels = try Pictures.pattern(.rgba8, min(side, 90), 61)
        let png = RawPNG.interlaced(pixels, colorType: 6)
        let previews = try feed(png, step: step)
        #expect(previews.map(\.pass) == Array(1...6))
        for preview in previews {
            #expect((preview.pixels.width, preview.pixels.height) == (min(side, 90), 61))
            #expect(preview.pixels.format == .rgba8)
            // The first pixel is there from the first pass, and is repeated.
            #expect(preview.pixels.copyRow(0)[0..<4] == pixels.copyRow(0)[0..<4])
        }
        let first = try #require(previews.first).pixels
        #expect(first.copyRow(3)[12..<16] == pixels.copyRow(0)[0..<4])
    }

    @Test("I2 a preview has the size, orientation, and format of the image", arguments: 1...8)
    func geometry(orientation: Int) throws {
        let jpeg = Pictures.inserting(
            Pictures.exifSegment(orientation: orientation),
            into: try Pictures.jpeg(160, 100, quality: 0.95) { $0.progressive = true })
        let exif = PNGLayout.chunk("eXIf", Pictures.exif(orientation: orientation, gps: false))
        let png = RawPNG.interlaced(
            try Pictures.pattern(.rgb8, 160, 100), colorType: 2, extra: exif)
        let boxes: [(Compression.ResizeMode, Int?, Int?)] = [
            (.fit, nil, nil), (.fit, 50, 50), (.crop, 33, 90), (.pad, 64, 64),
        ]
        for image in [jpeg, png] {
            for (mode, width, height) in boxes {
                var options = Compression()
                options.resizeMode = mode
                options.maxWidth = width
                options.maxHeight = height
                let whole = try ImageDecoder.decode(.array(image), as: .bgra8, options)
                let previews = try feed(image, step: 37, as: .bgra8, options)
                #expect(previews.count >= 5)
                for preview in previews {
                    let pixels = preview.pixels
                    #expect((pixels.width, pixels.height) == (whole.width, whole.height))
                    #expect(pixels.format == .bgra8)
                }
                let last = try #require(previews.last).pixels
                #expect(psnr(last, whole) > 25, "\(mode) \(orientation)")
            }
        }
    }

    @Test("I2 scans that arrive together give one preview")
    func together() throws {
        let jpeg = try Pictures.jpeg(64, 48) { $0.progressive = true }
        let ends = try Self.scans(jpeg)
        let decoder = PreviewDecoder()
        let pieces = [Bytes(jpeg[..<40]), Bytes(jpeg[40..<ends[3]])]
        #expect(try decoder.decode(pieces)?.pass == 3)
        #expect(try decoder.decode([]) == nil)
        #expect(try decoder.decode([Bytes(jpeg[ends[3]..<ends[4]])])?.pass == 4)
    }

    @Test("I2 other images give no previews")
    func others() throws {
        let baseline = try Pictures.jpeg(64, 48)
        let png = try Pictures.png(Pictures.pattern(.rgb8, 40, 30))
        for bytes in [baseline, png, Array("<html><body>Please log in</body></html>".utf8), [7]] {
            #expect(try feed(bytes, step: 100).isEmpty)
        }
        let decoder = PreviewDecoder()
        _ = try decoder.decode([Bytes(baseline)])
        #expect(decoder.isEnded)
    }

    @Test(
        "I2 metadata before the pixels do not change the previews of a PNG",
        arguments: [1, 7, 5000])
    func metadata(step: Int) throws {
        let pixels = try Pictures.pattern(.rgb8, 40, 30)
        let key = PNGLayout.chunk("tRNS", [0, 1, 0, 2, 0, 3])
        let plain = try feed(RawPNG.interlaced(pixels, colorType: 2, extra: key), step: step)
        let text = PNGLayout.chunk(
            "tEXt", Array("Comment\0".utf8) + [UInt8](repeating: 65, count: 9000))
        let private_ = PNGLayout.chunk("prVt", [])
        let gamma = PNGLayout.chunk("gAMA", [0, 1, 0, 0])
        let extra = text + private_ + gamma + key + text
        let previews = try feed(RawPNG.interlaced(pixels, colorType: 2, extra: extra), step: step)
        #expect(previews.count == plain.count && previews.count >= 5 || step == 5000)
        for (a, b) in zip(previews, plain) where a.pass == b.pass {
            #expect(a.pixels.format == .rgba8)
            #expect(a.pixels.packedBytes == b.pixels.packedBytes)
        }
    }

    @Test("I2 a header of more than a megabyte ends the previews")
    func longHeaders() throws {
        let pixels = try Pictures.pattern(.rgb8, 40, 30)
        let text = PNGLayout.chunk("iTXt", [UInt8](repeating: 65, count: 3 << 20))
        let png = RawPNG.interlaced(pixels, colorType: 2, extra: text)
        let comment: [UInt8] = [0xFF, 0xFE, 0xFF, 0xFF] + [UInt8](repeating: 65, count: 65_533)
        let jpeg = try Pictures.jpeg(64, 48) { $0.progressive = true }
        let long = jpeg[..<2] + [[UInt8]](repeating: comment, count: 40).joined() + jpeg[2...]
        for image in [png, Array(long)] {
            let decoder = PreviewDecoder()
            for start in stride(from: 0, to: 1_200_000, by: 20_000) {
                #expect(try decoder.decode([Bytes(image[start..<start + 20_000])]) == nil)
            }
            #expect(decoder.isEnded)
        }
        let palette = PNGLayout.chunk("PLTE", [UInt8](repeating: 1, count: 100_000))
        #expect(throws: ImagingError.self) {
            _ = try feed(RawPNG.interlaced(pixels, colorType: 2, extra: palette), step: 999)
        }
        let plain = PreviewDecoder()
        _ = try plain.decode([Bytes(Pictures.png(pixels)[..<29])])
        #expect(plain.isEnded)
    }

    @Test("I2 damaged images, scan bombs, and limits end the previews with an error")
    func limits() throws {
        func reason(
            _ bytes: [UInt8], _ change: (inout Compression) -> Void = { _ in }
        ) throws -> String? {
            var options = Compression()
            change(&options)
            let error = #expect(throws: ImagingError.self) {
                _ = try feed(bytes, step: 50, options)
            }
            return error?.reason
        }
        #expect(try reason(DamageTests.manyScans(101)) == "too_many_scans")
        #expect(try feed(DamageTests.manyScans(100), step: 9).count > 5)
        let jpeg = try Pictures.jpeg(300, 200) { $0.progressive = true }
        #expect(try reason(jpeg) { $0.maxPixels = 59_999 } == "too_large")
        #expect(try reason(jpeg) { $0.maxMemory = 100_000 } == "memory_limit")
        #expect(try reason(jpeg) { $0.deadline = .nanoseconds(1) } == "deadline")
        let png = RawPNG.interlaced(try Pictures.pattern(.rgb8, 60, 60), colorType: 2)
        #expect(try reason(png) { $0.maxPixels = 3599 } == "too_large")
        #expect(try reason(png) { $0.maxMemory = 10_000 } == "memory_limit")
        var damaged = png
        damaged[200] ^= 1
        #expect(try reason(damaged) == "bad_image")
        let animated = RawPNG.interlaced(
            try Pictures.pattern(.rgb8, 60, 60), colorType: 2,
            extra: PNGLayout.chunk("acTL", [0, 0, 0, 1, 0, 0, 0, 0]))
        #expect(try reason(animated) == "animated")
    }

    @Test("I2 no damage crashes the decoder")
    func damage() throws {
        let jpeg = try Pictures.jpeg(40, 33) { $0.progressive = true }
        let png = RawPNG.interlaced(try Pictures.pattern(.rgb8, 20, 20), colorType: 2)
        for image in [jpeg, png] {
            for place in stride(from: 0, to: image.count, by: 5) {
                var bytes = image
                bytes[place] = ~bytes[place]
                let decoder = PreviewDecoder()
                do throws(ImagingError) {
                    for start in stride(from: 0, to: bytes.count, by: 90) {
                        let end = min(bytes.count, start + 90)
                        _ = try decoder.decode([Bytes(bytes[start..<end])])
                    }
                } catch {
                    #expect(decoder.isEnded && !error.reason.isEmpty)
                    #expect(try decoder.decode([Bytes(image)]) == nil)
                }
            }
        }
    }
}
