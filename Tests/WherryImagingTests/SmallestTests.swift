// Wherry: tests of the search for the smallest JPEG.
// SPDX-License-Identifier: Apache-2.0

import Testing
import WherrySystem

@testable import WherryImaging

@Suite struct SmallestTests {
    /// Waves, edges, and noise, which have the mix of frequencies of a photograph.
    static func scene(_ format: PixelFormat, _ width: Int, _ height: Int) throws -> PixelBuffer {
        var state: UInt32 = 7
        var bytes: [UInt8] = []
        for y in 0..<height {
            for x in 0..<width {
                state = state &* 1_664_525 &+ 1_013_904_223
                let noise = Int(state >> 28) - 8
                let edge = (x / 37 + y / 53) % 3 * 40
                let wave = abs((x * 3 + y * 2) % 240 - 120) / 2
                for channel in 0..<format.bytesPerPixel {
                    let value = 40 + edge + wave * (channel + 1) / 2 + noise
                    bytes.append(channel == 3 ? 255 : UInt8(clamping: value))
                }
            }
        }
        return try PixelBuffer(copying: bytes, format: format, width: width, height: height)
    }

    private func encode(
        _ source: ImageSource, _ quality: Double, _ change: (inout Compression) -> Void = { _ in }
    ) throws -> EncodedImage {
        var options = Compression(quality: quality)
        options.format = .jpeg
        change(&options)
        return try ImageEncoder.encode(source, options)
    }

    /// The bytes of the coarsest progressive JPEG that is as similar to `source` as `made`.
    private func bytesOfEqual(
        _ source: ImageSource, _ made: EncodedImage, _ subsampling: Compression.Subsampling
    ) throws -> Int {
        let wanted = try ImageComparison(source, .bytes(made.bytes)).ssim
        for quality in 1...100 {
            let plain = try encode(source, Double(quality) / 100) {
                $0.progressive = true
                $0.optimize = true
                $0.subsampling = subsampling
            }
            let ssim = try ImageComparison(source, .bytes(plain.bytes)).ssim
            if ssim >= wanted { return plain.bytes.count }
        }
        return .max
    }

    @Test(
        "I5 the smallest JPEG has fewer bytes than a progressive one with the same SSIM",
        arguments: [0.4, 0.6, 0.8], [Compression.Subsampling.s420, .s444])
    func smaller(quality: Double, subsampling: Compression.Subsampling) throws {
        for format in [PixelFormat.rgb8, .gray8] {
            let source = ImageSource.pixels(try Self.scene(format, 160, 120))
            let small = try encode(source, quality) {
                $0.smallest = true
                $0.subsampling = subsampling
            }
            #expect(small.quality == Int(quality * 100) && small.way == .whole)
            let equal = try bytesOfEqual(source, small, subsampling)
            #expect(Double(small.bytes.count) < 0.95 * Double(equal))
        }
    }

    @Test(
        "I5 the smallest JPEG of any size and pixel format resembles its source",
        arguments: PixelFormat.allCases, Compression.Subsampling.allCases)
    func sizes(format: PixelFormat, subsampling: Compression.Subsampling) throws {
        for (width, height) in [(1, 1), (7, 9), (16, 16), (17, 33), (100, 1), (1, 100), (65, 31)] {
            let source = ImageSource.pixels(try Self.scene(format, width, height))
            for quality in [0.05, 0.5, 0.95, 1] {
                let small = try encode(source, quality) {
                    $0.smallest = true
                    $0.subsampling = subsampling
                }
                let plain = try encode(source, quality) { $0.subsampling = subsampling }
                let made = try ImageDecoder.decode(.bytes(small.bytes), as: .rgb8)
                #expect((made.width, made.height) == (width, height))
                let likeness = try ImageComparison(source, .bytes(small.bytes)).psnr
                let usual = try ImageComparison(source, .bytes(plain.bytes)).psnr
                #expect(likeness > min(usual, 32) - 3)
            }
        }
    }

    @Test("I5 the smallest JPEG is the same in each run, also among several sizes")
    func deterministic() throws {
        let source = ImageSource.pixels(try Self.scene(.rgb8, 200, 150))
        var options = Compression(quality: 0.7)
        options.format = .jpeg
        options.smallest = true
        let first = try ImageEncoder.encode(source, options)
        let second = try ImageEncoder.encode(source, options)
        let several = try ImageEncoder.encode(source, [options, options])
        #expect(first.bytes == second.bytes)
        #expect(several.map(\.bytes) == [first.bytes, first.bytes])
    }

    @Test("I5 a JPEG becomes smaller from its coefficients", arguments: [false, true])
    func recoded(isProgressive: Bool) throws {
        let pixels = ImageSource.pixels(try Self.scene(.rgb8, 320, 200))
        let source = try encode(pixels, 0.85) { $0.progressive = isProgressive }
        let small = try encode(.bytes(source.bytes), 0.6) { $0.smallest = true }
        #expect(small.way == .recoded)
        let equal = try bytesOfEqual(.bytes(source.bytes), small, .automatic)
        #expect(Double(small.bytes.count) < 0.95 * Double(equal))
        #expect(try ImageInfo(inspecting: .bytes(small.bytes)).isProgressive)
    }

    @Test("I5 a tiny image gets one scan unless it must be progressive")
    func scans() throws {
        let source = ImageSource.pixels(try Self.scene(.rgb8, 16, 16))
        let free = try encode(source, 0.7) { $0.smallest = true }
        let progressive = try encode(source, 0.7) {
            $0.smallest = true
            $0.progressive = true
        }
        #expect(try !ImageInfo(inspecting: .bytes(free.bytes)).isProgressive)
        #expect(try ImageInfo(inspecting: .bytes(progressive.bytes)).isProgressive)
        #expect(free.bytes.count < progressive.bytes.count)
    }

    @Test("I5 the coefficients count as memory, and the deadline holds")
    func limits() throws {
        let pixels = ImageSource.pixels(try Self.scene(.rgb8, 640, 480))
        let jpeg = ImageSource.bytes(try encode(pixels, 0.9).bytes)
        for source in [pixels, jpeg] {
            let memory = failure {
                _ = try encode(source, 0.5) {
                    $0.smallest = true
                    $0.maxMemory = 400_000
                }
            }
            #expect(memory?.reason == "memory_limit")
            let late = failure {
                _ = try encode(source, 0.5) {
                    $0.smallest = true
                    $0.deadline = .nanoseconds(1)
                }
            }
            #expect(late?.reason == "deadline")
        }
    }
}
