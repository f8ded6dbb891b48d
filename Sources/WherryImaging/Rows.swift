// Wherry: sources and transformations of rows.
// SPDX-License-Identifier: Apache-2.0

internal import CImageCodecs
import Glibc

/// The rows of pixels in memory.
final class BufferedRows: RowSource {
    private let buffer: PixelBuffer
    private var next = 0

    init(_ buffer: PixelBuffer) { self.buffer = buffer }

    var pixels: cimage_pixels { buffer.format.codec }
    var width: Int { buffer.width }
    var height: Int { buffer.height }

    func read(
        into rows: UnsafeMutableRawPointer, stride: Int, count: Int
    ) throws(ImagingError) -> Int {
        let end = min(height, next + count)
        for y in next..<end {
            memcpy(rows + (y - next) * stride, buffer.row(y), buffer.rowBytes)
        }
        defer { next = end }
        return end - next
    }
}

/// All rows of an image, for repeated reading.
final class KeptRows {
    let width: Int
    let height: Int
    let pixels: cimage_pixels
    let rowBytes: Int
    let memory: RowMemory
    private let source: any RowSource
    private var filled = 0

    /// Reserves the memory, to be filled by `read`.
    init(reserving source: any RowSource, maxMemory: Int) throws(ImagingError) {
        let needed = source.rowBytes * source.height
        guard needed <= maxMemory else { throw .memoryLimit(needed: needed, allowed: maxMemory) }
        memory = try RowMemory(needed)
        width = source.width
        height = source.height
        pixels = source.pixels
        rowBytes = source.rowBytes
        self.source = source
    }

    /// Reads all rows.
    convenience init(_ source: any RowSource, maxMemory: Int) throws(ImagingError) {
        try self.init(reserving: source, maxMemory: maxMemory)
        while try read(height) {}
    }

    /// Reads at most `count` rows; returns `false` if there were none left.
    func read(_ count: Int) throws(ImagingError) -> Bool {
        let wanted = min(count, height - filled)
        guard wanted > 0 else { return false }
        let got = try source.read(
            into: memory.base + filled * rowBytes, stride: rowBytes, count: wanted)
        guard got > 0 else {
            throw .truncated("The image has fewer rows than its header declares.")
        }
        filled += got
        return true
    }

    /// Returns a source that starts at the first row.
    func reader() -> any RowSource { Reader(self) }

    private final class Reader: RowSource {
        var pixels: cimage_pixels { kept.pixels }
        var width: Int { kept.width }
        var height: Int { kept.height }
        private let kept: KeptRows
        private var next = 0

        init(_ kept: KeptRows) { self.kept = kept }

        func read(
            into rows: UnsafeMutableRawPointer, stride: Int, count: Int
        ) throws(ImagingError) -> Int {
            let end = min(height, next + count)
            for y in next..<end {
                memcpy(
                    rows + (y - next) * stride, kept.memory.base + y * kept.rowBytes,
                    kept.rowBytes)
            }
            defer { next = end }
            return end - next
        }
    }
}

/// Blends rows with a background color. Colors of fully transparent pixels have no effect.
final class FlattenedRows: RowSource {
    let pixels = CIMAGE_RGB8
    var width: Int { source.width }
    var height: Int { source.height }
    private let source: any RowSource
    private let background: (Int, Int, Int)
    private let memory: RowMemory
    private static let band = 16

    init(_ source: any RowSource, background: UInt32) throws(ImagingError) {
        self.source = source
        self.background = (
            Int(background >> 16 & 255), Int(background >> 8 & 255), Int(background & 255)
        )
        memory = try RowMemory(source.rowBytes * Self.band)
    }

    func read(
        into rows: UnsafeMutableRawPointer, stride: Int, count: Int
    ) throws(ImagingError) -> Int {
        let step = source.rowBytes
        let got = try source.read(into: memory.base, stride: step, count: min(count, Self.band))
        let isBGR = source.pixels == CIMAGE_BGRA8
        for y in 0..<got {
            flatten(memory.base + y * step, rows + y * stride, isBGR)
        }
        return got
    }

    private func flatten(
        _ from: UnsafeMutableRawPointer, _ to: UnsafeMutableRawPointer, _ isBGR: Bool
    ) {
        let from = from.assumingMemoryBound(to: UInt8.self)
        let to = to.assumingMemoryBound(to: UInt8.self)
        let red = isBGR ? 2 : 0
        let blue = 2 - red
        for x in 0..<width {
            let pixel = from + x &* 4
            let out = to + x &* 3
            let alpha = Int(pixel[3])
            out[0] = Self.mix(Int(pixel[red]), background.0, alpha)
            out[1] = Self.mix(Int(pixel[1]), background.1, alpha)
            out[2] = Self.mix(Int(pixel[blue]), background.2, alpha)
        }
    }

    @inline(__always)
    private static func mix(_ over: Int, _ under: Int, _ alpha: Int) -> UInt8 {
        UInt8(truncatingIfNeeded: (over &* alpha &+ under &* (255 &- alpha) &+ 127) / 255)
    }
}

/// Turns rows upright from an EXIF orientation.
enum Turning {
    /// Returns the rows of `source` turned upright. Orientation 2 streams; 3...8 hold the image.
    static func upright(
        _ source: any RowSource, orientation: Int, maxMemory: Int
    ) throws(ImagingError) -> any RowSource {
        switch orientation {
        case 2: return MirroredRows(source)
        case 3...8: return TurnedRows(try KeptRows(source, maxMemory: maxMemory), orientation)
        default: return source
        }
    }

    /// Returns the rows of an image in memory turned upright.
    static func upright(_ kept: KeptRows, orientation: Int) -> any RowSource {
        switch orientation {
        case 2: MirroredRows(kept.reader())
        case 3...8: TurnedRows(kept, orientation)
        default: kept.reader()
        }
    }
}

/// Mirrors each row.
final class MirroredRows: RowSource {
    var pixels: cimage_pixels { source.pixels }
    var width: Int { source.width }
    var height: Int { source.height }
    private let source: any RowSource

    init(_ source: any RowSource) { self.source = source }

    func read(
        into rows: UnsafeMutableRawPointer, stride: Int, count: Int
    ) throws(ImagingError) -> Int {
        let got = try source.read(into: rows, stride: stride, count: count)
        let size = bytesPerPixel
        for y in 0..<got {
            let row = (rows + y * stride).assumingMemoryBound(to: UInt8.self)
            var left = 0
            var right = (width - 1) * size
            while left < right {
                for i in 0..<size { swap(&row[left + i], &row[right + i]) }
                left += size
                right -= size
            }
        }
        return got
    }
}

/// An image held as a whole and read in another order.
final class TurnedRows: RowSource {
    let pixels: cimage_pixels
    let width: Int
    let height: Int
    private let memory: RowMemory
    private let size: Int
    /// The source distance in bytes between neighboring output pixels, along a row and down a
    /// column.
    private let along: Int
    private let down: Int
    private let origin: Int
    private var next = 0

    init(_ source: KeptRows, _ orientation: Int) {
        let row = source.rowBytes
        let columns = source.width
        let lines = source.height
        memory = source.memory
        pixels = source.pixels
        size = cimage_pixel_bytes(source.pixels)
        width = orientation >= 5 ? lines : columns
        height = orientation >= 5 ? columns : lines
        let right = (columns - 1) * size
        let bottom = (lines - 1) * row
        switch orientation {
        case 3: (origin, along, down) = (bottom + right, -size, -row)
        case 4: (origin, along, down) = (bottom, size, -row)
        case 5: (origin, along, down) = (0, row, size)
        case 6: (origin, along, down) = (bottom, -row, size)
        case 7: (origin, along, down) = (bottom + right, -row, -size)
        default: (origin, along, down) = (right, row, -size)
        }
    }

    func read(
        into rows: UnsafeMutableRawPointer, stride: Int, count: Int
    ) throws(ImagingError) -> Int {
        let end = min(height, next + count)
        // The outer loop runs over columns, so that the few rows of a band share cache lines of the
        // source.
        for x in 0..<width {
            for y in next..<end {
                let from = memory.base + (origin + x * along + y * down)
                let to = rows + ((y - next) * stride + x * size)
                switch size {
                case 1: to.copyMemory(from: from, byteCount: 1)
                case 3: to.copyMemory(from: from, byteCount: 3)
                default: to.copyMemory(from: from, byteCount: 4)
                }
            }
        }
        defer { next = end }
        return end - next
    }
}
