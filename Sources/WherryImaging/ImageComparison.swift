// Wherry: the similarity of two images.
// SPDX-License-Identifier: Apache-2.0

internal import CImageCodecs
import Glibc
internal import WherrySystem

/// The similarity of two images of the same size.
package struct ImageComparison: Hashable, Sendable {
    /// The mean structural similarity of the gray images, 1 for equal images.
    package let ssim: Double
    /// The peak signal-to-noise ratio of the RGB images in decibels; infinite for equal images.
    package let psnr: Double
}

extension ImageComparison {
    /// Compares two images, each upright unless the orientation is kept. Decodes a few rows of both at
    /// a time.
    ///
    /// Blends alpha with the background. SSIM follows Wang et al. (2004): a Gaussian window of 11x11
    /// pixels with a standard deviation of 1.5, at every position inside the image. Along a side of
    /// fewer than 11 pixels, the window is as long as the side.
    ///
    /// - Parameter compression: Only `background`, `orientation`, `maxPixels`, `maxMemory` and
    ///   `deadline` apply, the limits to each image.
    /// - Throws: `bad_parameters` for different sizes, and the errors of decoding, whose messages say
    ///   which image failed.
    package init(
        _ first: ImageSource, _ second: ImageSource, _ compression: Compression = Compression()
    ) throws(ImagingError) {
        try compression.validate()
        let limits = Limits(compression)
        var reading = Place.first
        do throws(ImagingError) {
            self = try DecodedRows.reading(first, compression, limits, as: .rgb8) {
                a throws(ImagingError) in
                reading = .second
                return try DecodedRows.reading(second, compression, limits, as: .rgb8) {
                    b throws(ImagingError) in
                    reading = .both
                    return try ImageComparison(a, b, limits, &reading)
                }
            }
        } catch {
            throw reading == .both ? error : error.prefixed("\(reading.rawValue) image: ")
        }
    }

    /// Returns the SSIM of RGB or gray rows and an encoded image of the same size, as it is stored.
    static func ssim(
        _ rows: any RowSource, _ encoded: Bytes, _ limits: Limits
    ) throws(ImagingError) -> Double {
        var stored = Compression()
        stored.orientation = .keep
        let first = try DecodedRows.convert(rows, .rgb8, stored)
        return try DecodedRows.reading(.bytes(encoded), stored, limits, as: .rgb8) {
            second throws(ImagingError) in
            var reading = Place.both
            return try ImageComparison(first, second, limits, &reading).ssim
        }
    }

    /// The image that is read.
    private enum Place: String {
        case first = "First"
        case second = "Second"
        case both
    }

    private init(
        _ first: any RowSource, _ second: any RowSource, _ limits: Limits,
        _ reading: inout Place
    ) throws(ImagingError) {
        guard first.width == second.width, first.height == second.height else {
            throw .badParameters(
                "The images have different sizes, \(first.width)x\(first.height) and "
                    + "\(second.width)x\(second.height) pixels. Resize one of them first.")
        }
        let (width, height) = (first.width, first.height)
        var similarity = try StructuralSimilarity(
            width: width, height: height, maxMemory: limits.maxMemory)
        let stride = first.rowBytes
        let a = try RowMemory(stride)
        let b = try RowMemory(stride)
        var squares: UInt64 = 0
        for y in 0..<height {
            if y % 16 == 0 { try limits.checkDeadline() }
            for (source, memory, place) in [(first, a, Place.first), (second, b, .second)] {
                reading = place
                guard try source.readAll(into: memory.base, stride: stride, count: 1) else {
                    throw .truncated("The image has fewer rows than its header declares.")
                }
            }
            reading = .both
            let rowA = a.base.assumingMemoryBound(to: UInt8.self)
            let rowB = b.base.assumingMemoryBound(to: UInt8.self)
            squares += Self.squares(rowA, rowB, stride)
            similarity.add(rowA, rowB)
        }
        ssim = similarity.mean
        let error = Double(squares) / (Double(stride) * Double(height))
        psnr = squares == 0 ? .infinity : 10 * log10(255 * 255 / error)
    }

    /// The sum of the squared differences of two rows.
    private static func squares(
        _ a: UnsafePointer<UInt8>, _ b: UnsafePointer<UInt8>, _ count: Int
    ) -> UInt64 {
        var sum: UInt64 = 0
        for i in 0..<count {
            let difference = Int32(a[i]) &- Int32(b[i])
            sum &+= UInt64(truncatingIfNeeded: difference &* difference)
        }
        return sum
    }
}

/// Computes the mean structural similarity of two images, row by row.
private struct StructuralSimilarity {
    /// The averages of a window: of both images, of the sum of their squares, and of their product.
    private static let planes = 4
    private static let longest = 11

    private let width: Int
    private let across: [Double]
    private let down: [Double]
    /// The number of windows in a row.
    private let columns: Int
    /// The samples of the current row in each plane.
    private var samples: [Double]
    /// The horizontal averages of the last rows, `planes * columns` each.
    private var ring: [Double]
    private var window: [Double]
    private var added = 0
    private var sum = 0.0
    private var count = 0

    init(width: Int, height: Int, maxMemory: Int) throws(ImagingError) {
        self.width = width
        across = Self.weights(min(width, Self.longest))
        down = Self.weights(min(height, Self.longest))
        columns = width - across.count + 1
        let needed =
            MemoryLayout<Double>.stride * Self.planes * (width + columns * (down.count + 1))
        guard needed <= maxMemory else { throw .memoryLimit(needed: needed, allowed: maxMemory) }
        samples = [Double](repeating: 0, count: Self.planes * width)
        ring = [Double](repeating: 0, count: Self.planes * columns * down.count)
        window = [Double](repeating: 0, count: Self.planes * columns)
    }

    private static func weights(_ count: Int) -> [Double] {
        let middle = Double(count - 1) / 2
        let values = (0..<count).map { index -> Double in
            let distance = (Double(index) - middle) / 1.5
            return exp(-0.5 * distance * distance)
        }
        let sum = values.reduce(0, +)
        return values.map { $0 / sum }
    }

    var mean: Double { sum / Double(count) }

    /// Adds the next RGB row of both images.
    mutating func add(_ a: UnsafePointer<UInt8>, _ b: UnsafePointer<UInt8>) {
        samples.withUnsafeMutableBufferPointer { out in
            let (plane0, plane1) = (out.baseAddress!, out.baseAddress! + width)
            let (plane2, plane3) = (plane1 + width, plane1 + 2 * width)
            for x in 0..<width {
                let first = Double(Self.gray(a + 3 &* x))
                let second = Double(Self.gray(b + 3 &* x))
                plane0[x] = first
                plane1[x] = second
                plane2[x] = first * first + second * second
                plane3[x] = first * second
            }
        }
        let lane = Self.planes * columns
        let start = added % down.count * lane
        samples.withUnsafeBufferPointer { from in
            ring.withUnsafeMutableBufferPointer { to in
                for plane in 0..<Self.planes {
                    let out = to.baseAddress! + start + plane * columns
                    out.update(repeating: 0, count: columns)
                    for (tap, weight) in across.enumerated() {
                        let row = from.baseAddress! + plane * width + tap
                        for x in 0..<columns { out[x] += weight * row[x] }
                    }
                }
            }
        }
        added += 1
        if added >= down.count { finishRow(lane) }
    }

    /// Adds the windows whose last row was added.
    private mutating func finishRow(_ lane: Int) {
        window.withUnsafeMutableBufferPointer { out in
            out.update(repeating: 0)
            ring.withUnsafeBufferPointer { rows in
                for (tap, weight) in down.enumerated() {
                    let row = rows.baseAddress! + (added + tap) % down.count * lane
                    for x in 0..<lane { out[x] += weight * row[x] }
                }
            }
        }
        let c1 = (0.01 * 255) * (0.01 * 255)
        let c2 = (0.03 * 255) * (0.03 * 255)
        sum += window.withUnsafeBufferPointer { means in
            var sum = 0.0
            let (plane0, plane1) = (means.baseAddress!, means.baseAddress! + columns)
            let (plane2, plane3) = (plane1 + columns, plane1 + 2 * columns)
            for x in 0..<columns {
                let (a, b) = (plane0[x], plane1[x])
                let squares = a * a + b * b
                let variances = plane2[x] - squares
                let covariance = plane3[x] - a * b
                sum +=
                    (2 * a * b + c1) * (2 * covariance + c2) / ((squares + c1) * (variances + c2))
            }
            return sum
        }
        count += columns
    }

    @inline(__always)
    private static func gray(_ pixel: UnsafePointer<UInt8>) -> Int32 {
        (19_595 &* Int32(pixel[0]) &+ 38_470 &* Int32(pixel[1]) &+ 7_471 &* Int32(pixel[2])
            &+ 32_768) >> 16
    }
}
