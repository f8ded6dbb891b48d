// Wherry: tests of the search for a quality.
// SPDX-License-Identifier: Apache-2.0

import Testing
import WherrySystem

@testable import WherryImaging

@Suite struct QualitySearchTests {
    @Test("I5 a target SSIM is reached in at most five encodings", arguments: [false, true])
    func similarity(smallest: Bool) throws {
        for (width, height) in [(400, 300), (61, 47)] {
            let source = ImageSource.pixels(try SmallestTests.scene(.rgb8, width, height))
            for target in [0.8, 0.9, 0.95, 0.98] {
                var options = Compression()
                options.format = .jpeg
                options.subsampling = .s420
                options.smallest = smallest
                options.targetSSIM = target
                let made = try ImageEncoder.encode(source, options)
                let ssim = try ImageComparison(source, .bytes(made.bytes)).ssim
                #expect(ssim >= target && (1...5).contains(made.encodings))
                #expect(ssim < 0.999)
            }
        }
    }

    @Test("I5 the target is the similarity to the resized source")
    func resized() throws {
        let png = try Pictures.png(SmallestTests.scene(.rgb8, 400, 300))
        var options = Compression()
        options.maxWidth = 150
        let resized = try ImageEncoder.encode(.array(png), options)
        options.format = .jpeg
        options.targetSSIM = 0.93
        let made = try ImageEncoder.encode(.array(png), options)
        let ssim = try ImageComparison(.bytes(resized.bytes), .bytes(made.bytes)).ssim
        #expect(made.width == 150 && ssim >= 0.93 && ssim < 0.94)
    }

    /// The qualities and similarities of an image that is already a JPEG, as measured.
    private static let recompressed: [[Int: Double]] = [
        // Smooth, quality 92: a copy of the same quality is equal.
        curve([
            (1, 0.7484), (10, 0.8995), (20, 0.9557), (30, 0.9727), (40, 0.9797), (50, 0.9841),
            (60, 0.9872), (70, 0.9902), (80, 0.993), (85, 0.995), (91, 0.9987), (92, 1),
            (93, 0.9989), (97, 0.9994), (100, 1),
        ]),
        // With noise: flat, and then steep.
        curve([
            (1, 0.7206), (10, 0.826), (20, 0.8689), (30, 0.8833), (40, 0.89), (50, 0.8941),
            (60, 0.898), (70, 0.9056), (75, 0.9146), (80, 0.9207), (83, 0.9324), (85, 0.9791),
            (88, 0.9946), (92, 0.9925), (95, 0.9972), (99, 1), (100, 1),
        ]),
    ]

    /// Interpolates between points.
    private static func curve(_ points: [(quality: Int, ssim: Double)]) -> [Int: Double] {
        var all = [points[0].quality: points[0].ssim]
        for (low, high) in zip(points, points.dropFirst()) {
            for quality in (low.quality + 1)...high.quality {
                let part = Double(quality - low.quality) / Double(high.quality - low.quality)
                all[quality] = low.ssim + part * (high.ssim - low.ssim)
            }
        }
        return all
    }

    @Test("I5 a JPEG that is compressed again gets a quality close to the lowest one")
    func again() throws {
        for curve in Self.recompressed {
            for target in [0.8, 0.85, 0.9, 0.95, 0.97, 0.98, 0.985, 0.99] {
                var search = QualitySearch(.ssim(target), in: 1...100)
                var best = 0
                while let quality = search.next {
                    if search.record(quality, ssim: try #require(curve[quality])) { best = quality }
                }
                let lowest = try #require(curve.filter { $0.value >= target }.keys.min())
                #expect(search.count <= 5 && (lowest...lowest + 8).contains(best), "\(target)")
            }
        }
    }

    @Test("I5 a JPEG of quality 1 is re-encoded for a target, rotated or not", arguments: [1, 6])
    func jpeg(orientation: Int) throws {
        var options = Compression(quality: 0.95)
        options.format = .jpeg
        let plain = try ImageEncoder.encode(
            .pixels(SmallestTests.scene(.rgb8, 320, 240)), options)
        let source = ImageSource.array(
            Pictures.inserting(
                Pictures.exifSegment(orientation: orientation), into: Array(plain.bytes)))
        options.quality = 1
        options.targetSSIM = 0.9
        options.neverLarger = false
        let made = try ImageEncoder.encode(source, options)
        let ssim = try ImageComparison(source, .bytes(made.bytes)).ssim
        #expect(ssim >= 0.9 && (1...5).contains(made.encodings))
        #expect(made.way == .whole)
    }

    @Test("I5 the quality limits a search, and the limit in bytes has priority")
    func priorities() throws {
        let source = ImageSource.pixels(try SmallestTests.scene(.rgb8, 200, 150))
        var options = Compression(quality: 0.4)
        options.format = .jpeg
        options.targetSSIM = 0.999
        let limited = try ImageEncoder.encode(source, options)
        #expect(limited.quality == 40 && limited.encodings <= 5)

        options.quality = 1
        options.targetSSIM = 0.98
        options.maxBytes = limited.bytes.count
        let small = try ImageEncoder.encode(source, options)
        #expect(small.bytes.count <= limited.bytes.count && small.encodings <= 10)

        options = Compression()
        options.targetSSIM = 0.5
        let png = try ImageEncoder.encode(
            .array(
                Pictures.png(
                    .init(
                        copying: [1, 2, 3], format: .rgb8, width: 1, height: 1))), options)
        #expect(png.format == .png && png.way == .untouched && png.encodings == 0)
        for wrong in [0, 1, -1, 2, Double.nan] {
            options.targetSSIM = wrong
            #expect(
                failure { _ = try ImageEncoder.encode(source, options) }?.reason
                    == "bad_parameters")
        }
    }

    @Test("I5 a limit in bytes is reached in at most five encodings")
    func bytes() throws {
        let source = ImageSource.pixels(try SmallestTests.scene(.rgb8, 400, 300))
        var options = Compression()
        options.format = .jpeg
        let full = try ImageEncoder.encode(source, options).bytes.count
        for part in [2, 3, 5, 8, 12, 30] {
            options.maxBytes = full / part
            let made = try ImageEncoder.encode(source, options)
            #expect(made.bytes.count <= full / part)
            #expect(made.bytes.count > full / part / 2)
            #expect(made.encodings <= 5)
        }
    }

    @Test("I5 any search ends after five encodings with the best result")
    func anyCurve() {
        for steepness in [0.1, 0.5, 1, 2, 5] {
            for ceiling in [1, 2, 30, 31, 75, 100] {
                for step in 0...20 {
                    let limit = Int(1000 * (1 + steepness * Double(step) * 5))
                    var search = QualitySearch(.bytes(limit), in: min(30, ceiling)...ceiling)
                    var best: Int?
                    var tried: [Int] = []
                    while let quality = search.next {
                        #expect((1...ceiling).contains(quality) && !tried.contains(quality))
                        tried.append(quality)
                        let bytes = Int(1000 * (1 + steepness * Double(quality)))
                        if search.record(quality, bytes: bytes) { best = max(best ?? 0, quality) }
                    }
                    #expect(tried.count <= QualitySearch.most && !tried.isEmpty)
                    // If the lowest quality fits, a quality was found.
                    let lowest = 1000 * (1 + steepness * Double(min(30, ceiling)))
                    #expect((best != nil) == (Int(lowest) <= limit))
                }
            }
        }
    }
}
