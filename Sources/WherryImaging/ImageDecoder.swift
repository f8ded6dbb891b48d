// Wherry: decoding of images to pixels.
// SPDX-License-Identifier: Apache-2.0

internal import CImageCodecs

/// Decodes images. Stateless and thread-safe.
package enum ImageDecoder {
    /// Returns the upright pixels of an image.
    ///
    /// - Parameters:
    ///   - format: The pixel format; `nil` selects gray8, rgb8 or rgba8, whichever loses nothing
    ///     but bit depth above 8 bits. Removing alpha blends the image with the compression's
    ///     background. Removing color computes 0.299 red + 0.587 green + 0.114 blue.
    ///   - compression: Only `maxWidth`, `maxHeight`, `resizeMode`, `sharpen`, `background`,
    ///     `orientation`, `animated`, `maxPixels`, `maxMemory` and `deadline` apply. A JPEG is decoded at the
    ///     smallest scale that suffices for the size.
    package static func decode(
        _ source: ImageSource, as format: PixelFormat? = nil,
        _ compression: Compression = Compression()
    ) throws(ImagingError) -> PixelBuffer {
        try compression.validate()
        let limits = Limits(compression)
        switch source {
        case .pixels(let pixels):
            return try pixels.reading { () throws(ImagingError) in
                try limits.judge(pixels.width, pixels.height)
                let pipeline = pipeline(compression, limits, pixels.width, pixels.height)
                let rows = try pipeline.finished(pipeline.sizedRows(BufferedRows(pixels)))
                return try decode(rows, as: format, compression, limits)
            }
        case .file(let path):
            let rows = try open(ImageInput(path: path), compression, limits)
            return try decode(rows, as: format, compression, limits)
        case .bytes(let bytes):
            let rows = try open(ImageInput(bytes), compression, limits)
            return try decode(rows, as: format, compression, limits)
        }
    }

    /// Returns the pixels of all rows.
    static func decode(
        _ source: any RowSource, as format: PixelFormat?, _ compression: Compression,
        _ limits: Limits
    ) throws(ImagingError) -> PixelBuffer {
        var rows = source
        let natural = PixelFormat(rawValue: UInt8(truncatingIfNeeded: rows.pixels.rawValue))
        let wanted = format ?? natural ?? .rgb8
        if rows.hasAlpha, !wanted.hasAlpha {
            rows = try FlattenedRows(rows, background: compression.background)
        }
        let buffer = try PixelBuffer(
            format: wanted, width: rows.width, height: rows.height, maxMemory: limits.maxMemory)
        if rows.pixels != wanted.codec { rows = try ConvertedRows(rows, wanted) }
        guard try rows.readAll(into: buffer.base, stride: buffer.stride, count: buffer.height)
        else { throw .truncated("The image has fewer rows than its header declares.") }
        return buffer
    }

    private static func open(
        _ input: ImageInput, _ compression: Compression, _ limits: Limits
    ) throws(ImagingError) -> any RowSource {
        let image = try OpenImage(input, whole: false)
        try limits.judge(image.info.width, image.info.height)
        try image.checkEnd()
        try image.checkFrames(compression.animated, wanted: "decode")
        let decoder = try Decoder(image, limits)
        let pipeline = pipeline(image.info, compression, limits)
        try start(decoder, pipeline, image.info.format)
        return try rows(decoder, pipeline)
    }

    /// Starts a decoder at the smallest scale that suffices.
    static func start(
        _ decoder: Decoder, _ pipeline: Pipeline, _ format: ImageFormat
    ) throws(ImagingError) {
        try decoder.start(eighths: format == .jpeg ? pipeline.eighths(of: decoder.header) : 8)
    }

    /// Returns the upright, resized, sharpened, and padded rows of a decoder.
    static func rows(
        _ decoder: Decoder, _ pipeline: Pipeline
    ) throws(ImagingError) -> any RowSource {
        let upright = try Turning.upright(
            pipeline.sizedRows(decoder), orientation: pipeline.orientation,
            maxMemory: pipeline.limits.maxMemory)
        return try pipeline.finished(upright)
    }

    /// Returns the pipeline for an encoded image.
    static func pipeline(
        _ info: ImageInfo, _ compression: Compression, _ limits: Limits
    ) -> Pipeline {
        let turns = compression.orientation == .apply && info.orientation != 1
        var pipeline = Self.pipeline(
            compression, limits, info.uprightSize.width, info.uprightSize.height)
        pipeline.orientation = turns ? info.orientation : 1
        pipeline.swapsSides = !turns && info.orientation >= 5
        return pipeline
    }

    /// Returns a pipeline that resizes without removing alpha.
    private static func pipeline(
        _ compression: Compression, _ limits: Limits, _ width: Int, _ height: Int
    ) -> Pipeline {
        Pipeline(
            compression: compression, limits: limits, format: .png, width: width, height: height)
    }
}

/// Converts rows to another pixel format. Blends alpha with the background before removing it.
final class ConvertedRows: RowSource {
    let pixels: cimage_pixels
    var width: Int { source.width }
    var height: Int { source.height }
    private let source: any RowSource
    private let memory: RowMemory
    private static let band = 16

    init(_ source: any RowSource, _ format: PixelFormat) throws(ImagingError) {
        self.source = source
        pixels = format.codec
        memory = try RowMemory(source.rowBytes * Self.band)
    }

    func read(
        into rows: UnsafeMutableRawPointer, stride: Int, count: Int
    ) throws(ImagingError) -> Int {
        let step = source.rowBytes
        let got = try source.read(into: memory.base, stride: step, count: min(count, Self.band))
        let size = source.bytesPerPixel
        let outSize = bytesPerPixel
        let fromRed = source.pixels == CIMAGE_BGRA8 ? 2 : 0
        let toRed = pixels == CIMAGE_BGRA8 ? 2 : 0
        for y in 0..<got {
            let from = (memory.base + y * step).assumingMemoryBound(to: UInt8.self)
            let to = (rows + y * stride).assumingMemoryBound(to: UInt8.self)
            if outSize == 1, size > 1 {
                Self.gray(from, to, width, size, isBGR: fromRed == 2)
                continue
            }
            for x in 0..<width {
                let pixel = from + x * size
                let out = to + x * outSize
                let isGray = size == 1
                let red = pixel[isGray ? 0 : fromRed]
                let green = pixel[isGray ? 0 : 1]
                let blue = pixel[isGray ? 0 : 2 - fromRed]
                out[toRed] = red
                out[1] = green
                out[2 - toRed] = blue
                if outSize == 4 { out[3] = size == 4 ? pixel[3] : 255 }
            }
        }
        return got
    }

    /// Converts a row of pixels of `size` bytes to gray; ignores alpha.
    private static func gray(
        _ from: UnsafePointer<UInt8>, _ to: UnsafeMutablePointer<UInt8>, _ width: Int, _ size: Int,
        isBGR: Bool
    ) {
        let red: Int32 = isBGR ? 7_471 : 19_595
        let blue: Int32 = isBGR ? 19_595 : 7_471
        for x in 0..<width {
            let pixel = from + x &* size
            let light =
                red &* Int32(pixel[0]) &+ 38_470 &* Int32(pixel[1]) &+ blue &* Int32(pixel[2])
            to[x] = UInt8(truncatingIfNeeded: (light &+ 32_768) >> 16)
        }
    }
}
