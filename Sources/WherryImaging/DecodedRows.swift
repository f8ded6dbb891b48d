// Wherry: the rows of images that are analyzed.
// SPDX-License-Identifier: Apache-2.0

internal import CImageCodecs

/// The decoded rows of images that are analyzed, not converted.
enum DecodedRows {
    /// Calls `body` with the rows of an image in `format`, upright unless the orientation is kept.
    ///
    /// With `gray8`, ignores alpha, and holds the gray rows if the image must be turned. Of 16-bit
    /// samples, uses the high bytes, as Pillow does. Of an animation, uses one frame.
    static func reading<Result>(
        _ source: ImageSource, _ compression: Compression, _ limits: Limits, as format: PixelFormat,
        _ body: (any RowSource) throws(ImagingError) -> Result
    ) throws(ImagingError) -> Result {
        let input: ImageInput
        switch source {
        case .pixels(let pixels):
            return try pixels.reading { () throws(ImagingError) in
                try limits.judge(pixels.width, pixels.height)
                return try body(convert(BufferedRows(pixels), format, compression))
            }
        case .file(let path): input = try ImageInput(path: path)
        case .bytes(let bytes): input = ImageInput(bytes)
        }
        let image = try OpenImage(input, whole: false)
        try limits.judge(image.info.width, image.info.height)
        try image.checkEnd()
        let decoder = try Decoder(image, limits)
        decoder.usesHighBytes = true
        try decoder.start()
        let rows = try convert(decoder, format, compression)
        guard compression.orientation == .apply else { return try body(rows) }
        return try body(
            Turning.upright(
                rows, orientation: image.info.orientation, maxMemory: limits.maxMemory))
    }

    /// Returns the rows in another format.
    static func convert(
        _ source: any RowSource, _ format: PixelFormat, _ compression: Compression
    ) throws(ImagingError) -> any RowSource {
        var rows = source
        if rows.hasAlpha, !format.hasAlpha, format != .gray8 {
            rows = try FlattenedRows(rows, background: compression.background)
        }
        return rows.pixels == format.codec ? rows : try ConvertedRows(rows, format)
    }
}
