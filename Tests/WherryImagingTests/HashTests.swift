// Wherry: perceptual hashes of images.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import WherrySystem

@testable import WherryImaging

@Suite struct HashTests {
    private static let kinds = ImageHash.Kind.allCases

    private func hashes(_ source: ImageSource, keeping: Bool = false) throws -> [String] {
        var compression = Compression()
        if keeping { compression.orientation = .keep }
        return try ImageHash.hashes(of: source, Self.kinds, compression).map(\.description)
    }

    // The values are those of imagehash 4.3.2 with Pillow 13.0 and SciPy 1.17; test_hashes.py
    // compares many more images.
    @Test("I7 hashes equal those of imagehash")
    func equalToImagehash() throws {
        for known in Self.known {
            let pixels = try Pictures.pattern(known.format, known.width, known.height)
            let found = try hashes(.pixels(pixels))
            #expect(found == [known.difference, known.perceptual], "\(known)")
            #expect(try hashes(.array(Pictures.png(pixels))) == found, "\(known)")
        }
    }

    private struct Known {
        let format: PixelFormat
        let width: Int
        let height: Int
        let difference: String
        let perceptual: String
    }

    private static let known = [
        Known(
            format: .gray8, width: 1, height: 1, difference: "0000000000000000",
            perceptual: "0000000000000000"),
        Known(
            format: .gray8, width: 64, height: 48, difference: "ffffffffffffffff",
            perceptual: "880008000800a200"),
        Known(
            format: .gray8, width: 9, height: 8, difference: "ffffffffffffffff",
            perceptual: "aa7a7d2a806ad5aa"),
        Known(
            format: .gray8, width: 32, height: 32, difference: "ffffffffffffffff",
            perceptual: "aa0aaa0aff0aff0a"),
        Known(
            format: .gray8, width: 300, height: 7, difference: "ffffffffffffffff",
            perceptual: "a07a752ad52ad5aa"),
        Known(
            format: .gray8, width: 5, height: 211, difference: "ffffffffffffffff",
            perceptual: "a56ad56ad52a552a"),
        Known(
            format: .gray8, width: 640, height: 480, difference: "ffffffffffffffff",
            perceptual: "8000000000000000"),
        Known(
            format: .rgb8, width: 1, height: 1, difference: "0000000000000000",
            perceptual: "8000000000000000"),
        Known(
            format: .rgb8, width: 64, height: 48, difference: "bdffffbd7affff5a",
            perceptual: "8222db22ff02b47f"),
        Known(
            format: .rgb8, width: 9, height: 8, difference: "ffffffffffffffff",
            perceptual: "aa5da812d83e25e7"),
        Known(
            format: .rgb8, width: 32, height: 32, difference: "e7e7bdbde7e7bdbd",
            perceptual: "aa25dd0d9152eb72"),
        Known(
            format: .rgb8, width: 300, height: 7, difference: "ffffffffffffffff",
            perceptual: "806bc22fb42bdae5"),
        Known(
            format: .rgb8, width: 5, height: 211, difference: "ffffffffffffffff",
            perceptual: "ad2b4c38574f2723"),
        Known(
            format: .rgb8, width: 640, height: 480, difference: "ffffffffffffffff",
            perceptual: "aa16860db22fce5e"),
        Known(
            format: .rgba8, width: 1, height: 1, difference: "0000000000000000",
            perceptual: "8000000000000000"),
        Known(
            format: .rgba8, width: 64, height: 48, difference: "bdffffbd7affff5a",
            perceptual: "8222db22ff02b47f"),
        Known(
            format: .rgba8, width: 9, height: 8, difference: "ffffffffffffffff",
            perceptual: "aa5da812d83e25e7"),
        Known(
            format: .rgba8, width: 32, height: 32, difference: "e7e7bdbde7e7bdbd",
            perceptual: "aa25dd0d9152eb72"),
        Known(
            format: .rgba8, width: 300, height: 7, difference: "ffffffffffffffff",
            perceptual: "806bc22fb42bdae5"),
        Known(
            format: .rgba8, width: 5, height: 211, difference: "ffffffffffffffff",
            perceptual: "ad2b4c38574f2723"),
        Known(
            format: .rgba8, width: 640, height: 480, difference: "ffffffffffffffff",
            perceptual: "aa16860db22fce5e"),
    ]

    @Test("I7 a transform has the bits of SciPy")
    func transform() {
        // A ramp is antisymmetric: the even coefficients are zero but for rounding.
        let ramp = CosineTransform.transform((0..<32).map { Double($0 * 8 + 3) })
        #expect(
            Array(ramp[..<8]) == [
                8128, -3318.7580873158226, 0, -367.55567951037295, 0, -131.44195663562294, 0,
                -66.36739561845214,
            ])
        #expect(ramp[31] == -0.3934887726154557)
        let flat = CosineTransform.transform([Double](repeating: 7, count: 32))
        #expect(flat == [448] + [Double](repeating: 0, count: 31))
    }

    @Test(
        "I7 the hash of a turned image is that of the upright one, unless the orientation is kept")
    func orientation() throws {
        let upright = try Pictures.pattern(.rgb8, 90, 60)
        let options = try hashes(.pixels(upright))
        for orientation in 1...8 {
            let stored = try turned(upright, orientation)
            let chunk = PNGLayout.chunk(
                "eXIf", Pictures.exif(orientation: orientation, gps: false))
            let png = Pictures.inserting(chunks: chunk, into: try Pictures.png(stored))
            #expect(try hashes(.array(png)) == options)
            #expect(try hashes(.array(png), keeping: true) == hashes(.pixels(stored)))
        }
    }

    /// Returns the stored pixels of an image that `orientation` turns into `upright`.
    private func turned(_ upright: PixelBuffer, _ orientation: Int) throws -> PixelBuffer {
        // 6 and 8 undo each other; the others undo themselves.
        let inverse = orientation == 6 ? 8 : orientation == 8 ? 6 : orientation
        let rows = try Turning.upright(
            BufferedRows(upright), orientation: inverse, maxMemory: .max)
        let stored = try PixelBuffer(
            format: .rgb8, width: rows.width, height: rows.height, maxMemory: .max)
        let isComplete = try rows.readAll(
            into: stored.base, stride: stored.stride, count: stored.height)
        #expect(isComplete)
        return stored
    }

    @Test("I7 resized and recompressed copies have similar hashes")
    func similar() throws {
        let photo = ImageSource.pixels(try landscape(400, 300))
        let original = try ImageHash.hashes(of: photo, Self.kinds)
        var small = Compression(quality: 0.3)
        small.format = .jpeg
        small.maxWidth = 160
        let copy = try ImageEncoder.encode(photo, small).bytes
        let hashes = try ImageHash.hashes(of: .bytes(copy), Self.kinds)
        for (a, b) in zip(original, hashes) { #expect(a.distance(to: b) <= 6) }
        #expect(original[0].distance(to: original[0]) == 0)
        #expect(ImageHash(bits: 0).distance(to: ImageHash(bits: .max)) == 64)
    }

    /// Returns smooth waves without symmetry. In a symmetric image, rounding decides on many bits.
    private func landscape(_ width: Int, _ height: Int) throws -> PixelBuffer {
        var bytes: [UInt8] = []
        for y in 0..<height {
            for x in 0..<width {
                let (u, v) = (Double(x) / Double(width), Double(y) / Double(height))
                for (a, b) in [(7.0, 3.0), (4.0, 9.0), (11.0, 5.0)] {
                    bytes.append(
                        UInt8(128 + 60 * sin(a * u + b * v * v) + 60 * cos(b * u * u - a * v)))
                }
            }
        }
        return try PixelBuffer(copying: bytes, format: .rgb8, width: width, height: height)
    }

    @Test("I7 limits apply, and an animated PNG has the hash of its default image")
    func limits() throws {
        var compression = Compression()
        compression.maxPixels = 100
        let photo = try ImageSource.array(Pictures.jpeg(64, 48))
        #expect(throws: ImagingError.self) {
            try ImageHash.hashes(of: photo, Self.kinds, compression)
        }
        let pixels = try Pictures.pattern(.gray8, 20, 20)
        let control = PNGLayout.chunk("acTL", [0, 0, 0, 1, 0, 0, 0, 0])
        let png = Pictures.inserting(chunks: control, into: try Pictures.png(pixels))
        #expect(try hashes(.array(png)) == hashes(.pixels(pixels)))
    }

    @Test("I7 damaged images fail, and never crash")
    func damaged() throws {
        let files = try [
            Pictures.jpeg(40, 30), Pictures.png(Pictures.pattern(.rgba8, 40, 30)),
        ]
        var generator = SystemRandomNumberGenerator()
        for file in files {
            for length in stride(from: 0, to: file.count, by: 37) {
                #expect(throws: ImagingError.self) {
                    try hashes(.array(Array(file[..<length])))
                }
            }
            for _ in 0..<400 {
                var changed = file
                for _ in 0..<Int.random(in: 1...4, using: &generator) {
                    changed[Int.random(in: 0..<file.count, using: &generator)] =
                        UInt8.random(in: 0...255, using: &generator)
                }
                do throws(ImagingError) {
                    _ = try ImageHash.hashes(of: .array(changed), Self.kinds)
                } catch {
                    #expect(!error.message.isEmpty)
                }
            }
        }
    }

    @Test("I7 groups equal those of comparing all pairs")
    func groups() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<60 {
            var hashes = (0..<40).map { _ in ImageHash(bits: .random(in: 0...3, using: &generator))
            }
            for _ in 0..<40 {
                var bits = hashes.randomElement(using: &generator)!.bits
                for _ in 0..<3 { bits ^= 1 << UInt64.random(in: 0..<64, using: &generator) }
                hashes.append(ImageHash(bits: bits))
            }
            let distance = Int.random(in: 0...4, using: &generator)
            #expect(
                ImageHash.groups(of: hashes, within: distance) == slowGroups(hashes, distance))
        }
        #expect(ImageHash.groups(of: [], within: 4).isEmpty)
        #expect(ImageHash.groups(of: [ImageHash(bits: 1)], within: 64).isEmpty)
    }

    private func slowGroups(_ hashes: [ImageHash], _ distance: Int) -> [[Int]] {
        var labels = Array(hashes.indices)
        for a in hashes.indices {
            for b in hashes.indices where hashes[a].distance(to: hashes[b]) <= distance {
                let (keep, drop) = (labels[a], labels[b])
                for index in labels.indices where labels[index] == drop { labels[index] = keep }
            }
        }
        return Dictionary(grouping: hashes.indices) { labels[$0] }.values
            .filter { $0.count > 1 }.map { $0.sorted() }.sorted { $0[0] < $1[0] }
    }
}
