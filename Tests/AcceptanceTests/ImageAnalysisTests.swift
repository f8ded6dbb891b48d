// Wherry: acceptance tests of hashes, comparisons, and metadata of images
// SPDX-License-Identifier: Apache-2.0

import Testing
import Wherry
import WherrySystem

@Suite struct ImageAnalysisTests {
    /// Returns bright and dark rectangles, different for each seed.
    private func picture(_ seed: UInt32, width: Int = 160, height: Int = 120) throws -> Image {
        var state = seed
        func next(_ limit: Int) -> Int {
            state = state &* 1_664_525 &+ 1_013_904_223
            return Int(state >> 8) % limit
        }
        var bytes = [UInt8](repeating: 128, count: width * height * 3)
        for _ in 0..<12 {
            let (left, top) = (next(width), next(height))
            let (right, bottom) = (
                min(width, left + 10 + next(width / 2)), min(height, top + 10 + next(height / 2))
            )
            let color = (0..<3).map { _ in UInt8(next(256)) }
            for y in top..<bottom {
                for x in left..<right {
                    for c in 0..<3 { bytes[(y * width + x) * 3 + c] = color[c] }
                }
            }
        }
        return try .pixels(bytes, .rgb8, width: width, height: height)
    }

    private func jpeg(_ image: Image, _ quality: Double, maxWidth: Int? = nil) throws -> Image {
        var compression = Compression(quality: quality, type: "jpg")
        compression.maxWidth = maxWidth
        return try image.compressed(compression).image
    }

    @Test("I5 a JPEG has a target similarity, and the smallest one has fewer bytes")
    func targets() throws {
        let image = try picture(3)
        var compression = Compression(quality: 1, type: "jpg")
        compression.targetSSIM = 0.95
        let plain = try image.compressed(compression)
        compression.smallest = true
        let small = try image.compressed(compression)
        #expect(compression.targetSSIM == 0.95 && compression.smallest)
        for made in [plain, small] {
            #expect(try image.compared(with: made.image).ssim >= 0.95)
            #expect((1...5).contains(made.encodings))
        }
        #expect(small.bytes.count < plain.bytes.count)
        compression.targetSSIM = 1
        let error = #expect(throws: WherryError.self) { try image.compressed(compression) }
        #expect(error?.code == .argument)
    }

    @Test("I7 copies of an image are found among others")
    func copies() throws {
        let originals = try (1...4).map { try picture($0) }
        var images = originals
        images.append(try jpeg(originals[2], 0.5))
        images.append(try jpeg(originals[0], 0.8, maxWidth: 100))
        for kind in [Image.Hash.Kind.difference, .perceptual] {
            let hashes = try images.map { try $0.hash(kind) }
            #expect(Image.Hash.groups(of: hashes, within: 6) == [[0, 5], [2, 4]])
            #expect(hashes[2].distance(to: hashes[4]) <= 6)
            #expect(hashes[2].distance(to: hashes[1]) > 6)
            #expect(Image.Hash(bits: hashes[0].bits) == hashes[0])
            #expect(hashes[0].description.count == 16)
        }
    }

    @Test("I7 a hash follows the limits of the compression")
    func limits() throws {
        var compression = Compression()
        compression.maxPixels = 100
        let image = try picture(1)
        let error = #expect(throws: WherryError.self) { try image.hash(.perceptual, compression) }
        #expect(error?.code == .image)
    }

    @Test("I5 a copy is compared with its original")
    func comparison() throws {
        let original = try picture(5)
        let fine = try original.compared(with: jpeg(original, 0.95))
        let coarse = try original.compared(with: jpeg(original, 0.1))
        #expect(coarse.ssim < fine.ssim && fine.ssim < 1)
        #expect(coarse.psnr < fine.psnr && fine.psnr < .infinity)
        let same = try original.compared(with: original)
        #expect(same.ssim == 1 && same.psnr == .infinity)
        let error = #expect(throws: WherryError.self) {
            try original.compared(with: picture(5, width: 120, height: 160))
        }
        #expect(error?.code == .argument && error?.reason == "bad_parameters")
    }

    @Test("I6 a photograph reports its camera, and other images report nothing")
    func photograph() throws {
        let bytes = try jpeg(picture(6), 0.9).compressed().bytes
        let plain = try Image.bytes(bytes).info()
        #expect(plain.takenAt == nil && plain.make == nil && plain.model == nil)
        #expect(plain.position == nil && plain.altitude == nil)
        // A main directory with the model "Acme 1".
        var segment = Array("Exif\0\0MM\0".utf8) + [42, 0, 0, 0, 8, 0, 1, 0x01, 0x10, 0, 2]
        segment += [0, 0, 0, 7, 0, 0, 0, 26, 0, 0, 0, 0] + Array("Acme 1\0".utf8)
        let head: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE1, 0, UInt8(segment.count + 2)]
        let rest = bytes.withUnsafeBytes { Array($0.dropFirst(2)) }
        let info = try Image.bytes(Bytes(head + segment + rest)).info()
        #expect(info.model == "Acme 1" && info.make == nil && info.hasEXIF)
    }

    @Test("I6 texts of EXIF are set and removed, and errors tell the reason")
    func edited() throws {
        let original = try jpeg(picture(6), 0.9)
        var compression = Compression(quality: 0.5)
        compression.texts = [
            .copyright: "© 2026 Ada", .artist: "Ada", .takenAt: "2026-11-28T20:15:30+01:00",
        ]
        #expect(compression.texts[.artist] == "Ada" && compression.texts.count == 3)
        let made = try original.compressed(compression)
        let info = try made.image.info()
        #expect(info.copyright == "© 2026 Ada" && info.artist == "Ada")
        #expect(info.takenAt == "2026-11-28T20:15:30+01:00" && info.description == nil)

        var removal = Compression()
        removal.metadata = .all
        removal.texts = [.artist: ""]
        removal.locationDecimals = 2
        let left = try made.image.compressed(removal).image.info()
        #expect(left.artist == nil && left.copyright == "© 2026 Ada")

        removal.texts = [.takenAt: "yesterday"]
        let error = #expect(throws: WherryError.self) { try original.compressed(removal) }
        #expect(error?.code == .argument && error?.reason == "bad_parameters")
        removal.texts = [.description: String(repeating: "x", count: 70_000)]
        let limit = #expect(throws: WherryError.self) { try original.compressed(removal) }
        #expect(limit?.code == .image && limit?.reason == "image_too_large")
    }
}
