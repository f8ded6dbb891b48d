// Wherry: downscaling of rows, a band at a time.
// SPDX-License-Identifier: Apache-2.0

internal import CImageCodecs
import Glibc

/// The source samples of each output sample along one axis, with their weights.
struct ResamplingWeights {
    /// The number of weights for each output: a multiple of four, padded with zeros.
    let taps: Int
    /// The first source sample of each output; never decreases.
    private(set) var first: [Int32]
    /// `taps` weights for each output.
    private(set) var values: [Float]

    /// The number of lobes on each side of the filter's center.
    static let lobes = 3.0

    /// Computes a Lanczos filter with three lobes, widened by the scale to prevent aliasing.
    ///
    /// - Parameter part: The part of the source that becomes the output; by default, the source. The
    ///   filter also uses samples next to it.
    init(from source: Int, to target: Int, part: ResizeGeometry.Span? = nil) {
        let part = part ?? .all(source)
        let step = part.length / Double(target)
        let scale = max(1, step)
        let reach = Self.lobes * scale
        let most = Int((2 * reach).rounded(.up)) + 1
        taps = (min(most, source) + 3) / 4 * 4
        first = []
        values = []
        first.reserveCapacity(target)
        values.reserveCapacity(target * taps)
        for output in 0..<target {
            let center = part.start + (Double(output) + 0.5) * step
            let low = max(0, Int((center - reach).rounded(.down)))
            let high = min(source, low + taps, Int((center + reach).rounded(.up)))
            var row = (low..<high).map { Self.lanczos((Double($0) + 0.5 - center) / scale) }
            let sum = row.reduce(0, +)
            row += [Double](repeating: 0, count: taps - row.count)
            first.append(Int32(low))
            values.append(contentsOf: row.lazy.map { Float($0 / sum) })
        }
    }

    private static func lanczos(_ x: Double) -> Double {
        if abs(x) < 1e-9 { return 1 }
        if abs(x) >= lobes { return 0 }
        let angle = Double.pi * x
        return lobes * sin(angle) * sin(angle / lobes) / (angle * angle)
    }
}

/// The rows of a downscaled image. Holds the source rows of one output row.
///
/// Colors are weighted by alpha, so that colors of transparent pixels do not bleed.
final class ResampledRows: RowSource {
    let width: Int
    let height: Int
    let pixels: cimage_pixels
    private let source: any RowSource
    private let across: ResamplingWeights
    private let down: ResamplingWeights
    private let channels: Int
    /// The number of floats in a row of one plane, with zeros at the end for the widest filter.
    private let lane: Int
    private let ringRows: Int
    private let ring: RowMemory
    private let line: RowMemory
    private let raw: RowMemory
    private var pushed = 0
    private var next = 0

    /// - Parameters:
    ///   - columns: The part of each row that is downscaled; `nil` for all columns.
    ///   - lines: The part of each column that is downscaled; `nil` for all rows.
    init(
        _ source: any RowSource, width: Int, height: Int, columns: ResizeGeometry.Span? = nil,
        lines: ResizeGeometry.Span? = nil, maxMemory: Int
    ) throws(ImagingError) {
        self.source = source
        self.width = width
        self.height = height
        pixels = source.pixels
        channels = source.bytesPerPixel
        across = ResamplingWeights(from: source.width, to: width, part: columns)
        down = ResamplingWeights(from: source.height, to: height, part: lines)
        lane = (source.width + across.taps + 15) / 16 * 16
        ringRows = down.taps
        let needed = ringRows * channels * lane * 4
        guard needed <= maxMemory else { throw .memoryLimit(needed: needed, allowed: maxMemory) }
        ring = try RowMemory(needed)
        line = try RowMemory(channels * lane * 4)
        raw = try RowMemory(source.rowBytes)
        memset(ring.base, 0, ring.count)
        memset(line.base, 0, line.count)
    }

    func read(
        into rows: UnsafeMutableRawPointer, stride: Int, count: Int
    ) throws(ImagingError) -> Int {
        let end = min(height, next + count)
        for y in next..<end {
            let first = Int(down.first[y])
            try push(until: min(source.height, first + down.taps))
            blend(y, first)
            store(rows + (y - next) * stride)
        }
        // The filter of a part may need fewer rows than the source has.
        if end == height { try push(until: source.height) }
        defer { next = end }
        return end - next
    }

    /// Reads at most `count` of the source rows that the next row needs; returns whether it has them all.
    func advance(_ count: Int) throws(ImagingError) -> Bool {
        guard next < height else { return true }
        let needed = min(source.height, Int(down.first[next]) + down.taps)
        try push(until: min(needed, pushed + count))
        return pushed >= needed
    }

    private func ringRow(_ row: Int, _ channel: Int) -> UnsafeMutablePointer<Float> {
        (ring.base + ((row % ringRows) * channels + channel) * lane * 4)
            .assumingMemoryBound(to: Float.self)
    }

    /// Reads source rows into the ring, one plane per channel.
    private func push(until end: Int) throws(ImagingError) {
        while pushed < end {
            guard try source.read(into: raw.base, stride: raw.count, count: 1) == 1 else {
                throw .truncated("The image has fewer rows than its header declares.")
            }
            let bytes = raw.base.assumingMemoryBound(to: UInt8.self)
            let columns = source.width
            switch channels {
            case 1:
                let plane = ringRow(pushed, 0)
                for x in 0..<columns { plane[x] = Float(bytes[x]) }
            case 3:
                let (a, b, c) = (ringRow(pushed, 0), ringRow(pushed, 1), ringRow(pushed, 2))
                for x in 0..<columns {
                    a[x] = Float(bytes[3 &* x])
                    b[x] = Float(bytes[3 &* x &+ 1])
                    c[x] = Float(bytes[3 &* x &+ 2])
                }
            default:
                let (a, b, c) = (ringRow(pushed, 0), ringRow(pushed, 1), ringRow(pushed, 2))
                let alphas = ringRow(pushed, 3)
                for x in 0..<columns {
                    let alpha = Float(bytes[4 &* x &+ 3])
                    a[x] = Float(bytes[4 &* x]) * alpha
                    b[x] = Float(bytes[4 &* x &+ 1]) * alpha
                    c[x] = Float(bytes[4 &* x &+ 2]) * alpha
                    alphas[x] = alpha
                }
            }
            pushed += 1
        }
    }

    /// Writes the weighted sum of source rows to `line`.
    private func blend(_ y: Int, _ first: Int) {
        let count = min(down.taps, source.height - first)
        let bytes = lane &* 4
        down.values.withUnsafeBufferPointer { all in
            let weights = all.baseAddress! + y &* down.taps
            withUnsafeTemporaryAllocation(of: UnsafeRawPointer.self, capacity: count) { rows in
                for channel in 0..<channels {
                    for k in 0..<count {
                        rows[k] = UnsafeRawPointer(ringRow(first &+ k, channel))
                    }
                    let out = line.base + channel &* bytes
                    var x = 0
                    while x < bytes {
                        var a = SIMD4<Float>(repeating: 0)
                        var b = a
                        var c = a
                        var d = a
                        for k in 0..<count {
                            let from = rows[k] + x
                            let weight = SIMD4<Float>(repeating: weights[k])
                            a += weight * from.load(as: SIMD4<Float>.self)
                            b += weight * from.load(fromByteOffset: 16, as: SIMD4<Float>.self)
                            c += weight * from.load(fromByteOffset: 32, as: SIMD4<Float>.self)
                            d += weight * from.load(fromByteOffset: 48, as: SIMD4<Float>.self)
                        }
                        out.storeBytes(of: a, toByteOffset: x, as: SIMD4<Float>.self)
                        out.storeBytes(of: b, toByteOffset: x &+ 16, as: SIMD4<Float>.self)
                        out.storeBytes(of: c, toByteOffset: x &+ 32, as: SIMD4<Float>.self)
                        out.storeBytes(of: d, toByteOffset: x &+ 48, as: SIMD4<Float>.self)
                        x &+= 64
                    }
                }
            }
        }
    }

    /// Writes the weighted sums along `line` as bytes.
    private func store(_ row: UnsafeMutableRawPointer) {
        let out = row.assumingMemoryBound(to: UInt8.self)
        across.values.withUnsafeBytes { values in
            across.first.withUnsafeBufferPointer { first in
                let kernel = Kernel(
                    values: values.baseAddress!, first: first.baseAddress!,
                    bytes: across.taps &* 4)
                if channels == 4 { return storeWithAlpha(out, kernel) }
                for channel in 0..<channels {
                    kernel.store(
                        plane: line.base + channel &* lane &* 4, to: out + channel,
                        step: channels, count: width)
                }
            }
        }
    }

    private func storeWithAlpha(_ out: UnsafeMutablePointer<UInt8>, _ kernel: Kernel) {
        for x in 0..<width {
            let alpha = kernel.sum(line.base + 3 &* lane &* 4, x)
            out[x &* 4 &+ 3] = Kernel.byte(alpha)
            for channel in 0..<3 {
                let sum = kernel.sum(line.base + channel &* lane &* 4, x)
                out[x &* 4 &+ channel] = alpha < 0.5 ? 0 : Kernel.byte(sum / alpha)
            }
        }
    }

    /// The horizontal weights, applied in place.
    private struct Kernel {
        let values: UnsafeRawPointer
        let first: UnsafePointer<Int32>
        let bytes: Int

        @inline(__always)
        func sum(_ plane: UnsafeRawPointer, _ x: Int) -> Float {
            let from = plane + Int(first[x]) &* 4
            let weights = values + x &* bytes
            var sum = SIMD4<Float>(repeating: 0)
            var k = 0
            while k < bytes {
                sum +=
                    from.loadUnaligned(fromByteOffset: k, as: SIMD4<Float>.self)
                    * weights.loadUnaligned(fromByteOffset: k, as: SIMD4<Float>.self)
                k &+= 16
            }
            let pairs = sum.lowHalf + sum.highHalf
            return pairs.x + pairs.y
        }

        func store(
            plane: UnsafeRawPointer, to out: UnsafeMutablePointer<UInt8>, step: Int, count: Int
        ) {
            var at = 0
            for x in 0..<count {
                out[at] = Self.byte(sum(plane, x))
                at &+= step
            }
        }

        /// Rounds to the nearest of 0...255, without the checks of a conversion.
        @inline(__always)
        static func byte(_ value: Float) -> UInt8 {
            // Adding 1.5 * 2^23 shifts the fraction out of the mantissa, which then holds the
            // integer.
            let bits = Int32(truncatingIfNeeded: (value + 12_582_912).bitPattern &- 0x4B40_0000)
            return UInt8(truncatingIfNeeded: max(0, min(255, bits)))
        }
    }
}
