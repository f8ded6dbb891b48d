// Wherry: resizing, turning and flattening of rows for an encoder.
// SPDX-License-Identifier: Apache-2.0

internal import CImageCodecs
internal import WherrySystem

/// The steps between decoded rows and encoded bytes.
struct Pipeline {
    struct Result {
        let bytes: Bytes
        let width: Int
        let height: Int
        let quality: Int?
        let way: EncodedImage.Way
        /// The number of times that the image was encoded.
        var encodings = 1
    }

    let compression: Compression
    let limits: Limits
    /// `jpeg` or `png`.
    let format: ImageFormat
    /// The sizes of the upright image.
    let geometry: ResizeGeometry

    /// The EXIF orientation of the source.
    var orientation = 1
    /// Whether the stored rows are the columns of the upright image, and stay so.
    var swapsSides = false
    /// Whether the source is held in memory as a whole anyway.
    var holdsWhole = false
    /// The APPn and COM segments for a JPEG.
    var segments: [UInt8] = []
    /// The profile and chunks for a PNG.
    var profile: [UInt8] = []
    var chunks: [UInt8] = []
    /// The started decoder whose quantization the new JPEG uses.
    var tablesFrom: Decoder?
    private var density: (unit: UInt8, x: UInt16, y: UInt16) = (0, 0, 0)
    private var sourceSampling: (h: Int32, v: Int32) = (1, 1)

    init(
        compression: Compression, limits: Limits, format: ImageFormat, width: Int, height: Int
    ) {
        self.compression = compression
        self.limits = limits
        self.format = format
        geometry = ResizeGeometry(
            width, height, in: (compression.maxWidth ?? .max, compression.maxHeight ?? .max),
            compression.resizeMode)
    }

    /// Whether the image is scaled, cropped, or padded.
    var resizes: Bool { geometry.changes }

    /// Adds an EXIF block to the metadata of the new file.
    mutating func add(_ exif: MetadataRules.Block?) {
        guard let exif else { return }
        if format == .png {
            chunks += PNGLayout.chunk("eXIf", exif.bytes)
        } else {
            segments += JPEGMetadataFilter.exifSegment(exif.bytes)
        }
    }

    // MARK: JPEG settings

    /// Takes density and sampling from the source JPEG.
    mutating func takeOver(_ header: cimage_header) {
        density = (header.density_unit, header.density_x, header.density_y)
        if orientation >= 5 { swap(&density.x, &density.y) }
        if header.is_ycbcr, header.luma_h > 0 {
            sourceSampling = (header.luma_h, header.luma_v)
            if orientation >= 5 { sourceSampling = (header.luma_v, header.luma_h) }
        }
    }

    private func sampling(_ quality: Int) -> (h: Int32, v: Int32) {
        switch compression.subsampling {
        case .s444: return (1, 1)
        case .s422: return (2, 1)
        case .s420: return (2, 2)
        case .automatic:
            let least: Int32 = quality >= 90 ? 1 : 2
            // A downscaled image has chroma at full resolution again.
            return geometry.scales
                ? (least, least) : (max(least, sourceSampling.h), max(least, sourceSampling.v))
        }
    }

    /// Returns whether the stored planes can be re-encoded with their sampling.
    func keepsSampling(of header: cimage_header) -> Bool {
        guard header.luma_h > 0 else { return false }
        return !header.is_ycbcr
            || sampling(compression.jpegQuality) == (header.luma_h, header.luma_v)
    }

    /// Whether to optimize Huffman tables, which holds all coefficients in memory. By default only
    /// for resized images that fit.
    private var optimizes: Bool {
        let shrinks = resizes || compression.maxBytes != nil
        let pixels = geometry.target.width * geometry.target.height
        return compression.optimize ?? (shrinks && pixels * 6 <= compression.maxMemory)
    }

    private func jpegOptions(quality: Int) -> cimage_jpeg_options {
        let sampling = sampling(quality)
        return cimage_jpeg_options(
            quality: Int32(quality), luma_h: sampling.h, luma_v: sampling.v,
            optimize: optimizes, progressive: compression.progressive,
            smallest: compression.smallest, max_memory: UInt64(limits.maxMemory), max_output: 0,
            deadline_ns: limits.deadline,
            density_unit: density.unit, density_x: density.x, density_y: density.y,
            tables_from: nil, transpose_tables: false, segments: nil, segments_count: 0)
    }

    // MARK: Paths

    /// Re-encodes a JPEG at the same size without color conversion.
    ///
    /// Uses the planes, which takes memory for a few rows, or the coefficients if they are in
    /// memory anyway.
    func recode(_ decoder: Decoder) throws(ImagingError) -> Result {
        let quality = compression.jpegQuality
        let holdsCoefficients =
            optimizes || compression.progressive || compression.smallest
            || decoder.header.needs_whole
        let bytes = try decoder.recode(
            holdsCoefficients ? .requantised : .planes, jpegOptions(quality: quality),
            segments: segments)
        return Result(
            bytes: bytes, width: decoder.width, height: decoder.height, quality: quality,
            way: .recoded)
    }

    /// Turns a JPEG upright without loss; `nil` if its edges lie inside blocks.
    func turn(_ decoder: Decoder, isProgressive: Bool) throws(ImagingError) -> Result? {
        guard decoder.canTurn(orientation) else { return nil }
        var options = jpegOptions(quality: 100)
        // The tables of an optimized file do not fit the turned one, and the standard tables are
        // longer.
        options.optimize = true
        options.progressive = isProgressive || compression.progressive
        let bytes = try decoder.recode(
            .turned(orientation: orientation), options, segments: segments)
        let size = geometry.source
        return Result(
            bytes: bytes, width: size.width, height: size.height, quality: nil, way: .turned)
    }

    /// Flattens, downscales, crops, turns, sharpens, pads and encodes the rows of `source`.
    func encode(_ source: any RowSource) throws(ImagingError) -> Result {
        try EncodingSteps(self, source).finish()
    }

    /// Returns the rows after flattening, downscaling and cropping, before turning.
    func sizedRows(_ source: any RowSource) throws(ImagingError) -> any RowSource {
        guard format == .jpeg, source.hasAlpha else { return try sized(source) }
        return try sized(FlattenedRows(source, background: compression.background))
    }

    /// Returns the result for the encoded bytes of all rows.
    func result(_ bytes: Bytes, _ size: (width: Int, height: Int)) -> Result {
        let holdsCoefficients =
            format == .jpeg && (optimizes || compression.progressive || compression.smallest)
        let isWhole = holdsWhole || orientation > 2 || holdsCoefficients
        return Result(
            bytes: bytes, width: size.width, height: size.height,
            quality: format == .jpeg && tablesFrom == nil ? compression.jpegQuality : nil,
            way: isWhole ? .whole : .streamed)
    }

    /// The sizes before turning.
    private var storedGeometry: ResizeGeometry {
        orientation >= 5 || swapsSides ? geometry.swapped : geometry
    }

    /// Returns the smallest N for which N/8 of a JPEG's size is enough; the decoder scales cheaply.
    func eighths(of header: cimage_header) -> Int {
        guard geometry.scales else { return 8 }
        let stored = storedGeometry.scaled
        return (1...8).first { eighths in
            (Int(header.width) * eighths + 7) / 8 >= stored.width
                && (Int(header.height) * eighths + 7) / 8 >= stored.height
        } ?? 8
    }

    private func sized(_ rows: any RowSource) throws(ImagingError) -> any RowSource {
        guard resizes else { return rows }
        let stored = storedGeometry
        let size = stored.content
        if rows.width == stored.scaled.width, rows.height == stored.scaled.height {
            guard stored.crops else { return rows }
            let (columns, lines) = stored.center(orientation: orientation)
            return try CroppedRows(rows, columns: columns, rows: lines)
        }
        var source = rows
        var (across, down) = stored.region(of: rows.width, rows.height)
        let columns = across.pixels(for: size.width, of: rows.width)
        let lines = down.pixels(for: size.height, of: rows.height)
        if columns.count < rows.width || lines.count < rows.height {
            source = try CroppedRows(rows, columns: columns, rows: lines)
            across.start -= Double(columns.lowerBound)
            down.start -= Double(lines.lowerBound)
        }
        return try ResampledRows(
            source, width: size.width, height: size.height, columns: across, lines: down,
            maxMemory: limits.maxMemory)
    }

    /// Returns rows sharpened as the compression asks, if they were scaled.
    func sharpened(
        _ rows: any RowSource, isScaled: Bool
    ) throws(ImagingError) -> any RowSource {
        guard isScaled, compression.sharpen > 0 else { return rows }
        return try SharpenedRows(rows, amount: compression.sharpen)
    }

    /// Returns upright rows of the final size, sharpened and padded.
    func finished(_ upright: any RowSource) throws(ImagingError) -> any RowSource {
        try padded(sharpened(upright, isScaled: geometry.scales))
    }

    /// Whether padding makes a gray image colored.
    var colorsGray: Bool {
        let color = compression.background
        return geometry.pads && (color >> 16 != color & 255 || color >> 8 & 255 != color & 255)
    }

    /// Returns the upright rows with their padding.
    func padded(_ source: any RowSource) throws(ImagingError) -> any RowSource {
        guard geometry.pads else { return source }
        var rows = source
        if rows.pixels == CIMAGE_GRAY8, colorsGray { rows = try ConvertedRows(rows, .rgb8) }
        let size = swapsSides ? geometry.target.swapped : geometry.target
        return try PaddedRows(
            rows, width: size.width, height: size.height,
            color: rows.hasAlpha ? compression.givenBackground : compression.background)
    }

    /// Starts an encoder for rows.
    func encoder(_ rows: any RowSource, quality: Int) throws(ImagingError) -> RowEncoder {
        if format == .png {
            let options = cimage_png_options(
                best: compression.pngEffort == .best, max_output: 0,
                deadline_ns: limits.deadline, profile: nil, profile_count: 0, chunks: nil,
                chunks_count: 0)
            return try RowEncoder(rows, .png(options, profile: profile, chunks: chunks))
        }
        var options = jpegOptions(quality: quality)
        tablesFrom?.lendTables(to: &options, transposed: orientation >= 5)
        return try RowEncoder(rows, .jpeg(options, segments: segments))
    }
}
