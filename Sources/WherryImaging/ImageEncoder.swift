// Wherry: preparing an image for an upload.
// SPDX-License-Identifier: Apache-2.0

internal import CImageCodecs
internal import WherrySystem

/// Prepares images for uploads. Stateless and thread-safe.
package enum ImageEncoder {
    /// Returns the image that an upload with `compression` sends.
    ///
    /// Decodes nothing if quality, size, format and orientation already fit. Blocks, for tens of
    /// milliseconds for a photograph: do not call it on the network thread.
    package static func encode(
        _ source: ImageSource, _ compression: Compression
    ) throws(ImagingError) -> EncodedImage {
        try compression.validate()
        let limits = Limits(compression)
        switch source {
        case .file(let path):
            return try EncodedJob(ImageInput(path: path), compression, limits).run()
        case .bytes(let bytes):
            return try EncodedJob(ImageInput(bytes), compression, limits).run()
        case .pixels(let pixels):
            return try pixels.reading { () throws(ImagingError) in
                try encode(pixels, compression, limits)
            }
        }
    }

    private static func encode(
        _ pixels: PixelBuffer, _ compression: Compression, _ limits: Limits
    ) throws(ImagingError) -> EncodedImage {
        try limits.judge(pixels.width, pixels.height)
        var target = compression.format
        if target == .keep { target = pixels.format.hasAlpha ? .png : .jpeg }
        var pipeline = Pipeline(
            compression: compression, limits: limits, format: target,
            width: pixels.width, height: pixels.height)
        let rules = MetadataRules(compression, orientation: nil)
        pipeline.add(try rules.exif(nil, for: target))
        let made = try pipeline.encode(BufferedRows(pixels))
        return EncodedImage(
            bytes: made.bytes, format: target, width: made.width, height: made.height,
            quality: made.quality, originalByteCount: nil, way: made.way,
            encodings: made.encodings)
    }
}

/// The processing of one encoded image.
struct EncodedJob {
    let image: OpenImage
    let compression: Compression
    let limits: Limits
    private let target: ImageFormat
    private var info: ImageInfo { image.info }
    private var turns: Bool { compression.orientation == .apply && info.orientation != 1 }

    init(
        _ input: ImageInput, _ compression: Compression, _ limits: Limits
    ) throws(ImagingError) {
        try self.init(OpenImage(input, whole: false), compression, limits)
    }

    init(
        _ image: OpenImage, _ compression: Compression, _ limits: Limits
    ) throws(ImagingError) {
        self.image = image
        self.compression = compression
        self.limits = limits
        target = compression.format == .keep ? image.keptFormat : compression.format
        try limits.judge(image.info.width, image.info.height)
        try image.checkEnd()
    }

    private var rules: MetadataRules {
        // Nothing is written for an upright image.
        let orientation = info.orientation == 1 ? nil : (turns ? 1 : info.orientation)
        return MetadataRules(compression, orientation: orientation)
    }

    func run() throws(ImagingError) -> EncodedImage {
        switch try prepare() {
        case .done(let image): return image
        case .decoding(let plan):
            try plan.decoder.start(plan.wanted, eighths: plan.eighths)
            return try complete(plan.pipeline(plan.decoder).encode(plan.decoder), plan.keepsSize)
        }
    }

    /// The progress of a job that decodes only if necessary.
    enum Preparation {
        case done(EncodedImage)
        case decoding(Plan)
    }

    /// The encoding of decoded rows.
    struct Plan {
        fileprivate let pipeline: Pipeline
        /// Has read the header.
        let decoder: Decoder
        /// Whether a JPEG can be encoded in the colors of the source, without conversion.
        let staysYCbCr: Bool
        /// The smallest N for which N/8 of a JPEG's size is enough.
        let eighths: Int
        /// Whether the new JPEG uses the quantization of the source.
        fileprivate let keepsTables: Bool
        fileprivate let keepsSize: Bool

        /// The pixel format of the decoder; `nil` for its natural format.
        var wanted: cimage_pixels? { staysYCbCr ? CIMAGE_YCBCR8 : nil }

        /// Returns the pipeline for the rows of a started decoder of the same image.
        func pipeline(_ started: Decoder) -> Pipeline {
            var pipeline = pipeline
            if keepsTables { pipeline.tablesFrom = started }
            return pipeline
        }
    }

    /// Finishes the job if it need not decode, and otherwise returns how to.
    func prepare() throws(ImagingError) -> Preparation {
        let pipeline = Pipeline(
            compression: compression, limits: limits, format: target,
            width: info.uprightSize.width, height: info.uprightSize.height)
        let keepsSize = target == info.format && !turns && !pipeline.resizes
        // Few programs can decode arithmetic coding, so such a file is never sent unchanged.
        let staysAsItIs = keepsSize && !isArithmetic
        if staysAsItIs, target == .png || compression.keepsPixels {
            let original = try rewrite()
            if original.count <= compression.maxBytes ?? .max {
                return .done(try passThrough(original))
            }
        }
        try image.checkFrames(compression.animated, wanted: "send")
        if isTurnedOnly(pipeline), let turned = turn(pipeline),
            turned.bytes.count <= compression.maxBytes ?? .max
        {
            return .done(try complete(turned, keepsSize))
        }
        return try prepareEncoding(pipeline, keepsSize: keepsSize)
    }

    /// Returns the result, or the original if it is smaller.
    ///
    /// - Parameter keepsSize: Whether size, format, and orientation are those of the original.
    private func complete(
        _ result: Pipeline.Result, _ keepsSize: Bool
    ) throws(ImagingError) -> EncodedImage {
        if keepsSize, !isArithmetic, compression.neverLarger,
            let original = originalIfSmaller(result.bytes.count)
        {
            return try passThrough(original)
        }
        return EncodedImage(
            bytes: result.bytes, format: target, width: result.width, height: result.height,
            quality: result.quality, originalByteCount: image.input.count, way: result.way,
            encodings: result.encodings)
    }

    // MARK: Without re-encoding

    private func rewrite() throws(ImagingError) -> LosslessRewrite {
        let whole = try OpenImage(image.input, whole: true)
        return try LosslessRewrite(whole, rules)
    }

    private func originalIfSmaller(_ count: Int) -> LosslessRewrite? {
        do throws(ImagingError) {
            let original = try rewrite()
            return original.count <= count ? original : nil
        } catch {
            return nil  // cannot be rewritten: send the re-encoded image
        }
    }

    private func passThrough(_ rewrite: LosslessRewrite) throws(ImagingError) -> EncodedImage {
        let bytes =
            rewrite.isUntouched
            ? try image.input.all(maxMemory: limits.maxMemory)
            : try image.input.assemble(rewrite.pieces, maxMemory: limits.maxMemory)
        return EncodedImage(
            bytes: bytes, format: target, width: info.width, height: info.height, quality: nil,
            originalByteCount: image.input.count, way: rewrite.isUntouched ? .untouched : .stripped,
            encodings: 0)
    }

    // MARK: With re-encoding

    private var isArithmetic: Bool {
        if case .jpeg(let layout) = image.layout { layout.isArithmetic } else { false }
    }

    /// Returns whether a full-quality JPEG only needs its coefficients turned or Huffman-coded.
    private func isTurnedOnly(_ pipeline: Pipeline) -> Bool {
        info.format == .jpeg && target == .jpeg && (turns || isArithmetic) && !pipeline.resizes
            && compression.keepsPixels
    }

    /// Turns a JPEG without loss. Returns `nil` if this is not possible: the coefficients need more memory
    /// than the pixels, and libjpeg copies fewer kinds of JPEG than it decodes. If the image is damaged,
    /// the decoder says how.
    private func turn(_ pipeline: Pipeline) -> Pipeline.Result? {
        do throws(ImagingError) {
            return try turnedCoefficients(pipeline)
        } catch {
            return nil
        }
    }

    private func turnedCoefficients(
        _ pipeline: Pipeline
    ) throws(ImagingError) -> Pipeline.Result? {
        let decoder = try Decoder(image, limits)
        var pipeline = pipeline
        pipeline.orientation = turns ? info.orientation : 1
        pipeline.takeOver(decoder.header)
        guard case .jpeg(let layout) = image.layout else { return nil }
        let filter = try JPEGMetadataFilter(layout, image.input, rules)
        pipeline.segments = try filter.segmentsForRecoding(
            keepsProfile: compression.metadata != .none)
        return try pipeline.turn(decoder, isProgressive: info.isProgressive)
    }

    /// Returns the result of the plan whose rows were encoded.
    func complete(_ result: Pipeline.Result, _ plan: Plan) throws(ImagingError) -> EncodedImage {
        try complete(result, plan.keepsSize)
    }

    private func prepareEncoding(
        _ pipeline: Pipeline, keepsSize: Bool
    ) throws(ImagingError) -> Preparation {
        let decoder = try Decoder(image, limits)
        var pipeline = pipeline
        pipeline.orientation = turns ? info.orientation : 1
        pipeline.swapsSides = !turns && info.orientation >= 5
        pipeline.holdsWhole = decoder.header.needs_whole
        try collectMetadata(decoder, &pipeline)
        let isJPEG = info.format == .jpeg
        if isJPEG, target == .jpeg {
            pipeline.takeOver(decoder.header)
            if keepsSize, !pipeline.searches,
                pipeline.keepsSampling(of: decoder.header)
            {
                return .done(try complete(pipeline.recode(decoder), keepsSize))
            }
        }
        // The similarity is that of RGB pixels, as in a comparison of the results.
        let staysYCbCr =
            isJPEG && target == .jpeg && decoder.header.is_ycbcr && compression.targetSSIM == nil
        // An image that cannot be turned without loss, or that is cropped or padded, loses little with
        // its own quantization.
        let keepsTables =
            !pipeline.geometry.scales && compression.keepsPixels && staysYCbCr && !pipeline.searches
        return .decoding(
            Plan(
                pipeline: pipeline, decoder: decoder, staysYCbCr: staysYCbCr,
                eighths: isJPEG ? pipeline.eighths(of: decoder.header) : 8,
                keepsTables: keepsTables, keepsSize: keepsSize))
    }

    /// Collects the metadata for the new file.
    private func collectMetadata(
        _ decoder: Decoder, _ pipeline: inout Pipeline
    ) throws(ImagingError) {
        let rules = rules
        let isGray = decoder.pixels == CIMAGE_GRAY8
        let dropsProfile = rules.kept == .none || (isGray && pipeline.colorsGray)
        switch image.layout {
        case .library(let library):
            let profile = dropsProfile ? nil : library.profile
            let fitting = Self.fitting(profile, isGray: isGray, header: decoder.header) ?? []
            pipeline.profile = target == .png ? fitting : []
            pipeline.add(try rules.exif(library.exif, for: target))
            if target == .jpeg {
                pipeline.segments += JPEGMetadataFilter.profileSegments(fitting)
            }
        case .jpeg(let layout):
            let profile = dropsProfile ? nil : try layout.profile(image.input)
            let fitting = Self.fitting(profile, isGray: isGray, header: decoder.header)
            if target == .jpeg {
                let filter = try JPEGMetadataFilter(layout, image.input, rules)
                pipeline.segments = try filter.segmentsForRecoding(keepsProfile: fitting != nil)
            } else {
                pipeline.profile = fitting ?? []
                pipeline.add(try rules.exif(try layout.exif(image.input), for: .png))
            }
        case .png(let layout):
            let profile = dropsProfile ? nil : decoder.pngProfile
            let fitting = Self.fitting(profile, isGray: isGray, header: decoder.header) ?? []
            let exif = try rules.exif(try layout.exif(image.input), for: target)
            if target == .jpeg {
                pipeline.add(exif)
                pipeline.segments += JPEGMetadataFilter.profileSegments(fitting)
            } else {
                pipeline.profile = fitting
                pipeline.chunks = try LosslessRewrite.chunksForRecoding(
                    layout, image.input, rules)
                pipeline.add(exif)
            }
        }
    }

    /// Returns the color profile if it matches the decoded color space.
    private static func fitting(
        _ profile: [UInt8]?, isGray: Bool, header: cimage_header
    ) -> [UInt8]? {
        guard let profile, profile.count >= 128, !header.is_cmyk else { return nil }
        return profile[16..<20].elementsEqual((isGray ? "GRAY" : "RGB ").utf8) ? profile : nil
    }
}
