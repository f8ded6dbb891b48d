// Wherry: tests of several images from one decoding.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import WherrySystem

@testable import WherryImaging

@Suite struct SeveralSizesTests {
    private func options(
        _ quality: Double, _ width: Int?, _ height: Int? = nil,
        _ change: (inout Compression) -> Void = { _ in }
    ) -> Compression {
        var options = Compression(quality: quality)
        options.maxWidth = width
        options.maxHeight = height
        change(&options)
        return options
    }

    /// Sizes, modes, and formats that need decoded rows.
    private var several: [Compression] {
        [
            options(0.8, 160), options(0.8, 20, 20) { $0.resizeMode = .crop },
            options(0.6, 77, 90) { $0.resizeMode = .pad },
            options(0.9, 150) { $0.progressive = true },
            options(0.9, 100) { $0.maxBytes = 1_500 }, options(0.9, 33) { $0.orientation = .keep },
            options(0.9, 128, 64) { $0.resizeMode = .crop }, options(0.8, 160),
        ]
    }

    /// Returns a JPEG of waves. Filters agree on them, unlike on edges.
    private func waves(_ width: Int, _ height: Int) throws -> [UInt8] {
        var bytes: [UInt8] = []
        for y in 0..<height {
            for x in 0..<width {
                for c in 0..<3 {
                    let wave = sin(Double(x) / Double(23 + 5 * c) + Double(y) / Double(41 - 4 * c))
                    bytes.append(UInt8(128 + 100 * wave))
                }
            }
        }
        let pixels = try PixelBuffer(copying: bytes, format: .rgb8, width: width, height: height)
        return try ImageEncoder.encode(.pixels(pixels), Compression(quality: 0.95, type: "jpg"))
            .bytes.array
    }

    private func similarity(_ a: EncodedImage, _ b: EncodedImage) throws -> Double {
        try ImageComparison(.bytes(a.bytes), .bytes(b.bytes)).ssim
    }

    @Test("I4 several sizes of a JPEG come from one decoding", arguments: 1...8)
    func jpegs(orientation: Int) throws {
        let jpeg = ImageSource.array(
            Pictures.inserting(
                Pictures.exifSegment(orientation: orientation),
                into: try waves(400, 300)))
        for format in [nil, ImageFormat.png] {
            var compressions = several
            // One PNG makes all others start from RGB.
            if let format { compressions[0].format = format }
            let made = try ImageEncoder.encodeAll(jpeg, compressions)
            #expect(made.decodings == 1 && made.images.count == compressions.count)
            for (compression, image) in zip(compressions, made.images) {
                let alone = try ImageEncoder.encode(jpeg, compression)
                #expect((image.width, image.height) == (alone.width, alone.height))
                #expect(image.format == alone.format)
                if compression.maxBytes == nil {
                    #expect(image.way == alone.way && image.quality == alone.quality)
                    #expect(try similarity(image, alone) >= 0.98)
                } else {
                    #expect(image.bytes.count <= 1_500)
                }
            }
        }
    }

    @Test("I4 the largest size equals that of a separate call, byte for byte")
    func largest() throws {
        let jpeg = ImageSource.array(try Pictures.jpeg(400, 300, quality: 0.95))
        let compressions = [options(0.8, 40), options(0.8, 180), options(0.8, 90)]
        let made = try ImageEncoder.encode(jpeg, compressions)
        #expect(made[1].bytes == (try ImageEncoder.encode(jpeg, compressions[1])).bytes)
        let one = try ImageEncoder.encode(jpeg, [compressions[0]])
        #expect(one[0].bytes == (try ImageEncoder.encode(jpeg, compressions[0])).bytes)
    }

    @Test("I4 several sizes of a PNG or of pixels equal those of separate calls, byte for byte")
    func exact() throws {
        for format in PixelFormat.allCases {
            let pixels = try Pictures.pattern(format, 200, 130)
            for source in [ImageSource.pixels(pixels), .array(try Pictures.png(pixels))] {
                var compressions = several
                compressions[1].format = .jpeg
                compressions[2].format = .jpeg
                let made = try ImageEncoder.encode(source, compressions)
                for (compression, image) in zip(compressions, made) {
                    let alone = try ImageEncoder.encode(source, compression)
                    #expect(image.bytes == alone.bytes && image.way == alone.way)
                }
            }
        }
    }

    @Test("I4 images that need no decoding are sent as by separate calls")
    func withoutDecoding() throws {
        let plain = try Pictures.jpeg(64, 48)
        let source = ImageSource.array(plain)
        let made = try ImageEncoder.encodeAll(
            source,
            [
                Compression(), options(0.3, nil) { $0.subsampling = .s444 },
                options(0.8, 9_999) { $0.subsampling = .s444 },
            ])
        #expect(made.decodings == 0)
        #expect(made.images[0].way == .untouched && made.images[0].bytes.array == plain)
        #expect(made.images[1].way == .recoded)
        let mixed = try ImageEncoder.encodeAll(source, [options(0.8, 20), Compression()])
        #expect(mixed.decodings == 1 && mixed.images[1].bytes.array == plain)
        #expect(mixed.images[0].width == 20)
        #expect(try ImageEncoder.encode(source, []).isEmpty)
    }

    @Test("I4 several sizes hold few rows in memory")
    func memory() throws {
        var options = Compression(quality: 0.5)
        options.optimize = false
        let jpeg = try Pipeline(
            compression: options, limits: Limits(options), format: .jpeg, width: 4_000,
            height: 3_000
        ).encode(StripedRows(width: 4_000, height: 3_000)).bytes
        options.maxMemory = 1_500_000
        options.deadline = nil
        let sizes = [2_000, 1_000, 500, 100, 20]
        let compressions = sizes.map { size in
            var one = options
            one.maxWidth = size
            return one
        }
        let made = try ImageEncoder.encode(.bytes(jpeg), compressions)
        #expect(made.map(\.width) == sizes && made.allSatisfy { $0.way == .streamed })
    }

    @Test("I4 an error names the compression, and a damaged image fails as a whole")
    func errors() throws {
        let jpeg = try Pictures.jpeg(200, 150)
        let bad = failure {
            _ = try ImageEncoder.encode(
                .array(jpeg), [options(0.8, 20), options(0.8, 20) { $0.resizeMode = .pad }])
        }
        #expect(bad?.reason == "bad_parameters")
        #expect(bad?.message.hasPrefix("Compression 2 of 2: ") == true)
        let narrow = failure {
            _ = try ImageEncoder.encode(
                .array(jpeg), [options(0.8, 90) { $0.maxBytes = 60 }, options(0.8, 20)])
        }
        #expect(narrow?.reason == "does_not_fit")
        #expect(narrow?.message.hasPrefix("Compression 1 of 2: ") == true)
        let cut = failure {
            _ = try ImageEncoder.encode(
                .array(Array(jpeg[..<(jpeg.count / 2)])), [options(0.8, 90), options(0.8, 20)])
        }
        #expect(cut?.kind == .image)
        let small = failure {
            _ = try ImageEncoder.encode(
                .array(jpeg), [options(0.8, 90), options(0.8, 20) { $0.maxPixels = 100 }])
        }
        #expect(small?.reason == "too_large")
    }
}
