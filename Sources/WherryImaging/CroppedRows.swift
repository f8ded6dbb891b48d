// Wherry: cropping and padding of rows.
// SPDX-License-Identifier: Apache-2.0

internal import CImageCodecs
import Glibc

/// A rectangle of an image. Holds a band of its rows.
///
/// Reads the source to its end, so that damage anywhere in an image is an error.
final class CroppedRows: RowSource {
    var pixels: cimage_pixels { source.pixels }
    let width: Int
    let height: Int
    private let source: any RowSource
    private let left: Int
    private let top: Int
    private let memory: RowMemory
    private var next = 0
    private static let band = 16

    /// - Parameters:
    ///   - columns: Within the width of `source`, and not empty.
    ///   - rows: Within the height of `source`, and not empty.
    init(
        _ source: any RowSource, columns: Range<Int>, rows: Range<Int>
    ) throws(ImagingError) {
        precondition(columns.lowerBound >= 0 && columns.upperBound <= source.width)
        precondition(rows.lowerBound >= 0 && rows.upperBound <= source.height)
        self.source = source
        (left, width) = (columns.lowerBound, columns.count)
        (top, height) = (rows.lowerBound, rows.count)
        memory = try RowMemory(source.rowBytes * Self.band)
    }

    func read(
        into rows: UnsafeMutableRawPointer, stride: Int, count: Int
    ) throws(ImagingError) -> Int {
        if next == 0 { try skip(top) }
        let wanted = min(height - next, count)
        guard wanted > 0 else { return 0 }
        let got: Int
        if width == source.width {
            got = try source.read(into: rows, stride: stride, count: wanted)
        } else {
            let step = source.rowBytes
            let size = bytesPerPixel
            got = try source.read(into: memory.base, stride: step, count: min(wanted, Self.band))
            for y in 0..<got {
                memcpy(rows + y * stride, memory.base + (y * step + left * size), width * size)
            }
        }
        next += got
        if next == height { try skip(source.height - top - height) }
        return got
    }

    private func skip(_ count: Int) throws(ImagingError) {
        var left = count
        while left > 0 {
            let got = try source.read(
                into: memory.base, stride: source.rowBytes, count: min(left, Self.band))
            guard got > 0 else {
                throw .truncated("The image has fewer rows than its header declares.")
            }
            left -= got
        }
    }
}

/// An image in the center of a larger area. Holds one row of the area.
final class PaddedRows: RowSource {
    var pixels: cimage_pixels { source.pixels }
    let width: Int
    let height: Int
    private let source: any RowSource
    private let left: Int
    private let top: Int
    private let background: RowMemory
    private var next = 0

    /// - Parameters:
    ///   - width: At least the width of `source`.
    ///   - height: At least the height of `source`.
    ///   - color: As 0xRRGGBB; `nil` for transparent pixels, or black without alpha.
    init(
        _ source: any RowSource, width: Int, height: Int, color: UInt32?
    ) throws(ImagingError) {
        precondition(width >= source.width && height >= source.height)
        self.source = source
        self.width = width
        self.height = height
        left = (width - source.width) / 2
        top = (height - source.height) / 2
        let pixel = Self.pixel(source.pixels, color)
        background = try RowMemory(width * pixel.count)
        let bytes = background.base.assumingMemoryBound(to: UInt8.self)
        for x in 0..<width {
            for (i, byte) in pixel.enumerated() { bytes[x * pixel.count + i] = byte }
        }
    }

    /// Returns the bytes of a pixel with a color.
    private static func pixel(_ format: cimage_pixels, _ color: UInt32?) -> [UInt8] {
        let value = Int(color ?? 0)
        let (red, green, blue) = (value >> 16 & 255, value >> 8 & 255, value & 255)
        let alpha: UInt8 = color == nil ? 0 : 255
        let light = UInt8((19_595 * red + 38_470 * green + 7_471 * blue + 32_768) >> 16)
        switch format {
        case CIMAGE_GRAY8: return [light]
        case CIMAGE_RGBA8: return [UInt8(red), UInt8(green), UInt8(blue), alpha]
        case CIMAGE_BGRA8: return [UInt8(blue), UInt8(green), UInt8(red), alpha]
        case CIMAGE_YCBCR8:
            // As libjpeg converts it.
            let cb = (-11_059 * red - 21_709 * green + 32_768 * blue + 8_388_608 + 32_767) >> 16
            let cr = (32_768 * red - 27_439 * green - 5_329 * blue + 8_388_608 + 32_767) >> 16
            return [light, UInt8(clamping: cb), UInt8(clamping: cr)]
        default: return [UInt8(red), UInt8(green), UInt8(blue)]
        }
    }

    func read(
        into rows: UnsafeMutableRawPointer, stride: Int, count: Int
    ) throws(ImagingError) -> Int {
        let wanted = min(height - next, count)
        guard wanted > 0 else { return 0 }
        let isInside = next >= top && next < top + source.height
        let end = isInside ? top + source.height : (next < top ? top : height)
        var got = min(wanted, end - next)
        let size = bytesPerPixel
        if isInside {
            got = try source.read(into: rows + left * size, stride: stride, count: got)
            guard got > 0 else {
                throw .truncated("The image has fewer rows than its header declares.")
            }
        }
        let right = left + source.width
        for y in 0..<got {
            let row = rows + y * stride
            if isInside {
                memcpy(row, background.base, left * size)
                memcpy(row + right * size, background.base, (width - right) * size)
            } else {
                memcpy(row, background.base, width * size)
            }
        }
        next += got
        return got
    }
}
