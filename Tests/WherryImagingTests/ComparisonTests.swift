// Wherry: the similarity of two images.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import WherrySystem

@testable import WherryImaging

@Suite struct ComparisonTests {
    private func compare(_ a: PixelBuffer, _ b: PixelBuffer) throws -> ImageComparison {
        try ImageComparison(.pixels(a), .pixels(b))
    }

    /// Returns pixels that differ from `pixels` by random noise.
    private func noisy(_ pixels: PixelBuffer, _ most: Int) throws -> PixelBuffer {
        let bytes = pixels.packedBytes.map { UInt8(clamping: Int($0) + .random(in: -most...most)) }
        return try PixelBuffer(
            copying: bytes, format: pixels.format, width: pixels.width, height: pixels.height)
    }

    @Test("I5 equal images have a similarity of 1 and an infinite ratio")
    func equal() throws {
        for format in PixelFormat.allCases {
            for (width, height) in [(1, 1), (64, 48), (5, 30), (30, 5), (11, 11), (10, 12)] {
                let pixels = try Pictures.pattern(format, width, height)
                let found = try compare(pixels, pixels)
                #expect(found.ssim == 1 && found.psnr == .infinity, "\(format) \(width)x\(height)")
            }
        }
    }

    @Test("I5 the values are those of the definitions")
    func definitions() throws {
        for (width, height) in [(40, 30), (11, 11), (12, 25), (7, 30), (30, 4), (1, 1), (3, 2)] {
            let a = try Pictures.pattern(.rgb8, width, height)
            for most in [1, 20, 255] {
                let b = try noisy(a, most)
                let found = try compare(a, b)
                #expect(abs(found.ssim - slowSimilarity(a, b)) < 1e-9)
                if a.packedBytes != b.packedBytes { #expect(abs(found.psnr - psnr(a, b)) < 1e-9) }
                let swapped = try compare(b, a)
                #expect(abs(swapped.ssim - found.ssim) < 1e-12 && swapped.psnr == found.psnr)
            }
        }
    }

    /// SSIM from its definition, one window at a time.
    private func slowSimilarity(_ a: PixelBuffer, _ b: PixelBuffer) -> Double {
        let (first, second) = (grays(a), grays(b))
        let (across, down) = (weights(min(11, a.width)), weights(min(11, a.height)))
        var sum = 0.0
        var count = 0.0
        for top in 0...a.height - down.count {
            for left in 0...a.width - across.count {
                func average(_ value: (Double, Double) -> Double) -> Double {
                    var sum = 0.0
                    for (y, v) in down.enumerated() {
                        for (x, u) in across.enumerated() {
                            let at = (top + y) * a.width + left + x
                            sum += u * v * value(first[at], second[at])
                        }
                    }
                    return sum
                }
                let (meanA, meanB) = (average { a, _ in a }, average { _, b in b })
                let varianceA = average { a, _ in (a - meanA) * (a - meanA) }
                let varianceB = average { _, b in (b - meanB) * (b - meanB) }
                let covariance = average { (a: Double, b: Double) in (a - meanA) * (b - meanB) }
                let (c1, c2) = (6.5025, 58.5225)
                sum +=
                    (2 * meanA * meanB + c1) * (2 * covariance + c2)
                    / ((meanA * meanA + meanB * meanB + c1) * (varianceA + varianceB + c2))
                count += 1
            }
        }
        return sum / count
    }

    private func grays(_ pixels: PixelBuffer) -> [Double] {
        let bytes = pixels.packedBytes
        return stride(from: 0, to: bytes.count, by: 3).map { at in
            let sum =
                19_595 * Int(bytes[at]) + 38_470 * Int(bytes[at + 1]) + 7_471 * Int(bytes[at + 2])
            return Double((sum + 32_768) >> 16)
        }
    }

    private func weights(_ count: Int) -> [Double] {
        let values = (0..<count).map {
            let distance = (Double($0) - Double(count - 1) / 2) / 1.5
            return exp(-distance * distance / 2)
        }
        return values.map { $0 / values.reduce(0, +) }
    }

    @Test("I5 a better quality is more similar")
    func quality() throws {
        let pixels = try Pictures.pattern(.rgb8, 160, 120)
        var last = ImageComparison(ssim: 0, psnr: 0)
        for quality in [0.1, 0.4, 0.7, 0.95] {
            var compression = Compression(quality: quality)
            compression.format = .jpeg
            compression.subsampling = .s444
            let jpeg = try ImageEncoder.encode(.pixels(pixels), compression).bytes
            let found = try ImageComparison(.pixels(pixels), .bytes(jpeg))
            #expect(found.ssim > last.ssim && found.psnr > last.psnr)
            last = found
        }
        #expect(last.ssim > 0.95 && last.ssim < 1)
    }

    @Test("I5 upright images are compared, and alpha is blended with the background")
    func orientation() throws {
        let upright = try Pictures.pattern(.rgb8, 60, 40)
        let rows = try Turning.upright(
            BufferedRows(upright), orientation: 8, maxMemory: .max)
        let stored = try PixelBuffer(format: .rgb8, width: 40, height: 60, maxMemory: .max)
        let isComplete = try rows.readAll(
            into: stored.base, stride: stored.stride, count: stored.height)
        #expect(isComplete)
        let chunk = PNGLayout.chunk("eXIf", Pictures.exif(orientation: 6, gps: false))
        let png = Pictures.inserting(chunks: chunk, into: try Pictures.png(stored))
        #expect(try ImageComparison(.pixels(upright), .array(png)).psnr == .infinity)
        var keeping = Compression()
        keeping.orientation = .keep
        #expect(try ImageComparison(.pixels(stored), .array(png), keeping).psnr == .infinity)

        let clear = try PixelBuffer(
            copying: [255, 0, 0, 0], format: .rgba8, width: 1, height: 1)
        let blue = try PixelBuffer(copying: [0, 0, 255], format: .rgb8, width: 1, height: 1)
        var onBlue = Compression()
        onBlue.background = 0x0000FF
        #expect(try ImageComparison(.pixels(clear), .pixels(blue), onBlue).psnr == .infinity)
        #expect(try compare(clear, blue).psnr < 10)
    }

    @Test("I5 an error says which image failed, and images of different sizes are refused")
    func errors() throws {
        let good = try Pictures.jpeg(64, 48)
        let bad = Array(good[..<(good.count / 2)])
        func failure(
            _ a: [UInt8], _ b: [UInt8], _ change: (inout Compression) -> Void = { _ in }
        ) -> ImagingError? {
            var compression = Compression()
            change(&compression)
            do throws(ImagingError) {
                _ = try ImageComparison(.array(a), .array(b), compression)
                return nil
            } catch {
                return error
            }
        }
        #expect(failure(good, good) == nil)
        #expect(failure(bad, good)?.message.hasPrefix("First image: ") == true)
        #expect(failure(good, bad)?.message.hasPrefix("Second image: ") == true)
        let sizes = failure(good, try Pictures.jpeg(48, 64))
        #expect(sizes?.reason == "bad_parameters")
        #expect(sizes?.message.contains("64x48 and 48x64") == true)
        #expect(failure(good, good) { $0.maxPixels = 100 }?.reason == "too_large")
        #expect(failure(good, good) { $0.maxMemory = 1_000 }?.reason == "memory_limit")
    }
}
