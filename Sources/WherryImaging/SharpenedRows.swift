// Wherry: sharpening of rows.
// SPDX-License-Identifier: Apache-2.0

internal import CImageCodecs
import Glibc

/// Rows sharpened by an unsharp mask of luma. Holds three rows of luma and two of the source.
///
/// The mask is the difference between the luma of a pixel and the mean of its 3x3 neighborhood, weighted by
/// 1 2 1, 2 4 2, 1 2 1. A percentage of it is added to red, green, and blue, or to Y of YCbCr, so that colors
/// keep their chroma. Pixels outside the image repeat its edges. Alpha stays as it is, and weights the
/// neighbors, so that colors of transparent pixels do not bleed.
final class SharpenedRows: RowSource {
    var pixels: cimage_pixels { source.pixels }
    var width: Int { source.width }
    var height: Int { source.height }
    private let source: any RowSource
    private let amount: Int32
    /// The source rows that were read last.
    private let raw: RowMemory
    /// A ring of rows of luma, in 1/256 and multiplied by alpha, with a repeated sample at each end.
    private let luma: RowMemory
    /// The same for alpha; empty without alpha.
    private let alpha: RowMemory
    /// Sums of three rows of luma and of alpha.
    private let lumaSums: RowMemory
    private let alphaSums: RowMemory
    private var pulled = 0
    private var next = 0

    private static let rawRows = 2
    private static let ringRows = 3
    /// The sum of the weights of a neighborhood.
    private static let weights: Int32 = 16
    /// Makes dividends positive, since division rounds toward zero. No pixel changes by more.
    private static let bias = 1_300

    /// - Parameter amount: The percentage of the mask, 1...500.
    init(_ source: any RowSource, amount: Int) throws(ImagingError) {
        precondition((1...Compression.maxSharpen).contains(amount))
        self.source = source
        self.amount = Int32(amount)
        let lane = (source.width + 2) * MemoryLayout<Int32>.stride
        let alphaLane = source.hasAlpha ? lane : 0
        raw = try RowMemory(source.rowBytes * Self.rawRows)
        luma = try RowMemory(lane * Self.ringRows)
        alpha = try RowMemory(alphaLane * Self.ringRows)
        lumaSums = try RowMemory(lane)
        alphaSums = try RowMemory(alphaLane)
    }

    func read(
        into rows: UnsafeMutableRawPointer, stride: Int, count: Int
    ) throws(ImagingError) -> Int {
        let end = min(height, next + count)
        for y in next..<end {
            while pulled < min(height, y + 2) { try pull() }
            sharpen(y, into: (rows + (y - next) * stride).assumingMemoryBound(to: UInt8.self))
        }
        defer { next = end }
        return end - next
    }

    private func rawRow(_ y: Int) -> UnsafeMutablePointer<UInt8> {
        (raw.base + y % Self.rawRows * source.rowBytes).assumingMemoryBound(to: UInt8.self)
    }

    private func samples(_ memory: RowMemory, _ y: Int) -> UnsafeMutablePointer<Int32> {
        memory.base.assumingMemoryBound(to: Int32.self) + y % Self.ringRows * (width + 2)
    }

    // MARK: Luma

    /// Reads a row of the source, and computes its luma.
    private func pull() throws(ImagingError) {
        let row = rawRow(pulled)
        guard try source.read(into: row, stride: source.rowBytes, count: 1) == 1 else {
            throw .truncated("The image has fewer rows than its header declares.")
        }
        let out = samples(luma, pulled)
        let count = width
        switch pixels {
        case CIMAGE_GRAY8:
            for x in 0..<count { out[x &+ 1] = Int32(row[x]) &<< 8 }
        case CIMAGE_YCBCR8:
            for x in 0..<count { out[x &+ 1] = Int32(row[3 &* x]) &<< 8 }
        case CIMAGE_RGB8:
            for x in 0..<count {
                out[x &+ 1] = Self.luma(row[3 &* x], row[3 &* x &+ 1], row[3 &* x &+ 2])
            }
        default:
            let opacity = samples(alpha, pulled)
            for x in 0..<count {
                let weight = Int32(row[4 &* x &+ 3])
                opacity[x &+ 1] = weight
                out[x &+ 1] = weight &* luma(row + 4 &* x)
            }
            Self.repeatEnds(opacity, count)
        }
        Self.repeatEnds(out, count)
        pulled += 1
    }

    private static func repeatEnds(_ samples: UnsafeMutablePointer<Int32>, _ count: Int) {
        samples[0] = samples[1]
        samples[count + 1] = samples[count]
    }

    /// Returns 0.299 red + 0.587 green + 0.114 blue, in 1/256.
    @inline(__always)
    private static func luma(_ red: UInt8, _ green: UInt8, _ blue: UInt8) -> Int32 {
        (19_595 &* Int32(red) &+ 38_470 &* Int32(green) &+ 7_471 &* Int32(blue) &+ 128) &>> 8
    }

    /// Returns the luma of a pixel with alpha.
    @inline(__always)
    private func luma(_ pixel: UnsafePointer<UInt8>) -> Int32 {
        pixels == CIMAGE_BGRA8
            ? Self.luma(pixel[2], pixel[1], pixel[0]) : Self.luma(pixel[0], pixel[1], pixel[2])
    }

    // MARK: Sharpening

    private func sharpen(_ y: Int, into out: UnsafeMutablePointer<UInt8>) {
        let row = rawRow(y)
        let sums = addRows(luma, y, into: lumaSums)
        let center = samples(luma, y)
        switch pixels {
        case CIMAGE_GRAY8:
            for x in 0..<width { out[x] = Self.sum(row[x], change(x, center, sums)) }
        case CIMAGE_YCBCR8:
            for x in 0..<width {
                out[3 &* x] = Self.sum(row[3 &* x], change(x, center, sums))
                out[3 &* x &+ 1] = row[3 &* x &+ 1]
                out[3 &* x &+ 2] = row[3 &* x &+ 2]
            }
        case CIMAGE_RGB8:
            for x in 0..<width {
                let change = change(x, center, sums)
                out[3 &* x] = Self.sum(row[3 &* x], change)
                out[3 &* x &+ 1] = Self.sum(row[3 &* x &+ 1], change)
                out[3 &* x &+ 2] = Self.sum(row[3 &* x &+ 2], change)
            }
        default:
            let opacity = addRows(alpha, y, into: alphaSums)
            for x in 0..<width {
                let pixel = row + 4 &* x
                let change = change(x, pixel, sums, opacity)
                for channel in 0..<3 {
                    out[4 &* x &+ channel] = Self.sum(pixel[channel], change)
                }
                out[4 &* x &+ 3] = pixel[3]
            }
        }
    }

    /// Adds the rows around row `y` with the weights 1 2 1.
    private func addRows(
        _ ring: RowMemory, _ y: Int, into memory: RowMemory
    ) -> UnsafeMutablePointer<Int32> {
        let above = samples(ring, max(0, y - 1))
        let center = samples(ring, y)
        let below = samples(ring, min(height - 1, y + 1))
        let sums = memory.base.assumingMemoryBound(to: Int32.self)
        for x in 0..<width &+ 2 { sums[x] = above[x] &+ 2 &* center[x] &+ below[x] }
        return sums
    }

    /// Returns the sum of the neighborhood of column `x`.
    @inline(__always)
    private func neighborhood(_ x: Int, _ sums: UnsafeMutablePointer<Int32>) -> Int32 {
        sums[x] &+ 2 &* sums[x &+ 1] &+ sums[x &+ 2]
    }

    /// Returns the change of an opaque pixel, rounded to the nearest integer, halves up.
    @inline(__always)
    private func change(
        _ x: Int, _ center: UnsafeMutablePointer<Int32>, _ sums: UnsafeMutablePointer<Int32>
    ) -> Int32 {
        // At most 500 * 16 * 255 * 256, so that the sum fits into 32 bits.
        let mask = amount &* (Self.weights &* center[x &+ 1] &- neighborhood(x, sums))
        let divisor: UInt32 = 100 * 16 * 256
        let dividend =
            UInt32(bitPattern: mask) &+ divisor / 2 &+ UInt32(Self.bias) &* divisor
        return Int32(bitPattern: dividend / divisor) &- Int32(Self.bias)
    }

    /// Returns the change of a pixel with alpha; 0 if it is transparent.
    @inline(__always)
    private func change(
        _ x: Int, _ pixel: UnsafePointer<UInt8>, _ sums: UnsafeMutablePointer<Int32>,
        _ opacity: UnsafeMutablePointer<Int32>
    ) -> Int32 {
        guard pixel[3] > 0 else { return 0 }
        let weight = Int(neighborhood(x, opacity))
        let mask = Int(amount) &* (Int(luma(pixel)) &* weight &- Int(neighborhood(x, sums)))
        let divisor = 100 &* 256 &* weight
        return Int32(
            truncatingIfNeeded: (mask &+ divisor / 2 &+ Self.bias &* divisor) / divisor
                &- Self.bias)
    }

    @inline(__always)
    private static func sum(_ sample: UInt8, _ change: Int32) -> UInt8 {
        UInt8(truncatingIfNeeded: max(0, min(255, Int32(sample) &+ change)))
    }
}
