// Wherry: options for image compression before an upload.
// SPDX-License-Identifier: Apache-2.0

/// Options for processing an image before it is sent.
///
/// The default sends the pixels of JPEG and PNG images unchanged, removes EXIF, GPS, XMP and
/// comments, and turns the image upright.
package struct Compression: Hashable, Sendable {
    /// The metadata to keep.
    package enum Metadata: UInt8, Hashable, Sendable {
        /// None, not even the color profile.
        case none = 1
        /// The ICC color profile.
        case icc = 2
        /// Everything except locations: removes the GPS part of EXIF, XMP that contains a location, and parts
        /// that may contain one, such as compressed texts and copies of EXIF.
        case noGPS = 3
        case all = 4
    }

    package enum Orientation: UInt8, Hashable, Sendable {
        /// Turns the pixels upright.
        case apply
        /// Keeps the pixels and the EXIF orientation, even if the rest of EXIF is removed.
        case keep
    }

    /// The chroma subsampling of a JPEG.
    package enum Subsampling: UInt8, CaseIterable, Hashable, Sendable {
        /// 4:2:0 below quality 0.9, otherwise 4:4:4; never finer than in a source JPEG.
        case automatic
        case s444
        case s422
        case s420
    }

    /// How an image fills the box of `maxWidth` and `maxHeight`. An image is never enlarged.
    package enum ResizeMode: UInt8, CaseIterable, Hashable, Sendable {
        /// The complete image lies inside the box.
        case fit
        /// The image covers the box, and its center is cut out. A smaller image is only cropped to
        /// the aspect ratio of the box.
        case crop
        /// The image fits, and a background fills the rest of the box.
        case pad
    }

    /// How to handle an animation that must be decoded.
    package enum Animated: UInt8, Hashable, Sendable {
        /// Fails with `animated`, so that no frame is lost silently.
        case refuse
        /// Decodes the default image, which programs without animation support show.
        case first
    }

    /// The effort for PNG compression.
    package enum PNGEffort: UInt8, Hashable, Sendable {
        /// The sub filter and level 1: five to ten times faster.
        case fast
        /// All filters and level 9.
        case best
    }

    /// The JPEG quality in 0...1; other values, including NaN, count as 1. libjpeg's quality is 100
    /// times this, rounded, at least 1. At 1 an image that already fits is not re-encoded. Ignored
    /// for PNG.
    package var quality: Double = 1
    /// `keep`, `jpeg` or `png`.
    package var format: ImageFormat = .keep
    /// The maximum upright width in pixels. Keeps the aspect ratio; never enlarges.
    package var maxWidth: Int?
    /// The maximum upright height in pixels.
    package var maxHeight: Int?
    /// How an image fills the box. `crop` and `pad` need both limits.
    package var resizeMode: ResizeMode = .fit
    /// The strength of the sharpening of a scaled image in percent, 0...500. Default: 0, which does not
    /// sharpen. An image that is not scaled is never sharpened.
    package var sharpen = 0
    /// The maximum encoded size in bytes. If necessary, first the quality is reduced, then the
    /// dimensions.
    package var maxBytes: Int?
    /// The structural similarity that a JPEG must have, greater than 0 and less than 1. `quality` is then
    /// the maximum. At most five qualities are tried, and the lowest one that reaches the target is
    /// used. If none does, the maximum is used. Ignored for PNG.
    package var targetSSIM: Double?
    /// The color that was set as `background`.
    package private(set) var givenBackground: UInt32?
    /// The color behind transparent pixels when converting to JPEG, and of padding, as 0xRRGGBB.
    /// Default: white. The padding of an image that keeps its alpha is transparent until this is set.
    package var background: UInt32 {
        get { givenBackground ?? 0xFF_FFFF }
        set { givenBackground = newValue }
    }
    package var metadata: Metadata = .icc
    /// What is changed in the metadata, after `metadata` has kept or removed the rest.
    package var edits = MetadataEdits()
    package var orientation: Orientation = .apply
    /// Whether to send the original, with metadata filtered and edited, if the re-encoded image is larger.
    /// Default: true.
    package var neverLarger = true
    /// Whether to optimize Huffman tables: 5 to 8 % smaller, about 50 % slower. Default (`nil`):
    /// only if the image is resized.
    package var optimize: Bool?
    package var progressive = false
    /// Whether to search for the smallest JPEG of the quality: about 12 % fewer bytes at the same SSIM
    /// than a progressive JPEG, in about four times its CPU time. Holds the coefficients of the whole
    /// image. The result may be progressive. Default: false.
    package var smallest = false
    package var subsampling: Subsampling = .automatic
    package var pngEffort: PNGEffort = .fast
    /// How to handle an animation that must be decoded. A PNG that need not be decoded stays
    /// animated.
    package var animated: Animated = .refuse
    /// The maximum number of pixels, checked against the header.
    package var maxPixels = 100_000_000
    /// The maximum working memory in bytes for images held as a whole. Default: 256 MiB.
    package var maxMemory = 256 << 20
    /// The timeout for processing one image. Default: 30 s; `nil`: none.
    package var deadline: Duration? = .seconds(30)

    /// The maximum of `sharpen`.
    package static let maxSharpen = 500

    package init() {}

    /// The defaults with another quality.
    package init(quality: Double) { self.quality = quality }

    /// Quality and type as SJNetwork interprets them: any type except png and PNG is JPEG.
    package init(quality: Double, type: String?) {
        self.quality = quality
        format = ImageTypeName(type).format
    }

    /// `quality`, with values outside 0...1 replaced by 1.
    package var effectiveQuality: Double { quality >= 0 && quality <= 1 ? quality : 1 }

    /// Whether an image that already fits is not re-encoded.
    var keepsPixels: Bool { effectiveQuality == 1 && targetSSIM == nil }

    /// libjpeg's quality, 1...100.
    package var jpegQuality: Int { max(1, Int((effectiveQuality * 100).rounded())) }

    /// Throws `bad_parameters` or `unsupported_option` for invalid values.
    package func validate() throws(ImagingError) {
        guard [.keep, .jpeg, .png].contains(format) else {
            throw .unsupportedOption("Images can be encoded only as JPEG or PNG.")
        }
        for (name, value) in [
            ("maxWidth", maxWidth), ("maxHeight", maxHeight), ("maxBytes", maxBytes),
            ("maxPixels", maxPixels), ("maxMemory", maxMemory),
        ] {
            if let value, value < 1 {
                throw .badParameters("\(name) must be at least 1, not \(value).")
            }
        }
        if let deadline, deadline <= .zero {
            throw .badParameters("The deadline must be greater than 0.")
        }
        if let targetSSIM, !(targetSSIM > 0 && targetSSIM < 1) {
            throw .badParameters(
                "targetSSIM must be greater than 0 and less than 1, not \(targetSSIM).")
        }
        guard (0...Self.maxSharpen).contains(sharpen) else {
            throw .badParameters(
                "sharpen must be 0 to \(Self.maxSharpen) percent, not \(sharpen).")
        }
        try edits.validate()
        guard background <= 0xFF_FFFF else {
            throw .badParameters("The background must be 0x000000 to 0xFFFFFF.")
        }
        try validateBox()
    }

    private func validateBox() throws(ImagingError) {
        guard resizeMode != .fit else { return }
        guard let maxWidth, let maxHeight else {
            throw .badParameters(
                "The resize mode \(resizeMode) needs a maximum width and a maximum height. Set both."
            )
        }
        guard resizeMode == .pad else { return }
        let side = PixelBuffer.longestSide
        guard maxWidth <= side, maxHeight <= side, maxWidth * maxHeight <= maxPixels else {
            throw .badParameters(
                "A padded image of \(maxWidth)x\(maxHeight) pixels is too large. The limits are "
                    + "\(maxPixels) pixels in all and \(side) per side.")
        }
    }
}
