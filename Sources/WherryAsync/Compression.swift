// Wherry: image compression settings.
// SPDX-License-Identifier: Apache-2.0

import WherryImaging

/// Options for processing an image before it is sent.
///
/// The default keeps the pixels of JPEG and PNG images, rotates the image upright, and removes
/// EXIF, GPS, XMP and comments.
public struct Compression: Sendable, Hashable {
    /// The metadata to keep.
    public enum Metadata: Sendable, Hashable {
        /// None, not even the color profile.
        case none
        /// The ICC color profile. The default.
        case colors
        /// Everything except locations.
        case noPlaces
        case all
    }

    /// The chroma subsampling of a JPEG.
    public enum Subsampling: Sendable, Hashable {
        /// 4:2:0 below quality 0.9, otherwise 4:4:4; never finer than the source JPEG. The default.
        case automatic
        /// Full chroma resolution: sharp color edges, and the largest files.
        case s444
        /// Half the horizontal resolution.
        case s422
        /// Half the horizontal and vertical resolution.
        case s420
    }

    /// How an image fills the box of `maxWidth` and `maxHeight`. An image is never enlarged.
    public enum ResizeMode: Sendable, Hashable {
        /// The complete image is inside the box. The default.
        case fit
        /// The image covers the box, and its center is cut out, with the size of the box. A smaller
        /// image is only cropped to the aspect ratio of the box.
        case crop
        /// The image is in the center of an image with the size of the box, on the background.
        case pad

        var mode: WherryImaging.Compression.ResizeMode {
            switch self {
            case .fit: .fit
            case .crop: .crop
            case .pad: .pad
            }
        }
    }

    /// How to handle an animation that must be decoded.
    public enum Animated: Sendable, Hashable {
        /// Fail with `unsupported_image`. The default.
        case refuse
        /// Decode its first frame, or the default image of a PNG, which programs without animation
        /// support show.
        case first
    }

    var settings = WherryImaging.Compression()

    /// Creates the default settings: quality 1 in the source format.
    public init() {}

    /// - Parameters:
    ///   - quality: 0...1 for JPEG; other values count as 1, which keeps the original if it fits.
    ///     Ignored for PNG. The quality is not a size ratio.
    ///   - type: "png", "jpg" or "jpeg" as in SJNetwork; anything else is "jpg". `nil` keeps the
    ///     source format.
    public init(quality: Double, type: String? = nil) {
        settings =
            type.map { WherryImaging.Compression(quality: quality, type: $0) }
            ?? WherryImaging.Compression(quality: quality)
    }

    /// The JPEG quality in 0...1; other values count as 1.
    public var quality: Double {
        get { settings.quality }
        set { settings.quality = newValue }
    }
    /// `.jpeg` or `.png`. `nil`, the default, keeps the format (raw pixels: PNG with alpha, else
    /// JPEG).
    public var format: Image.Format? {
        get { settings.format == .keep ? nil : Image.Format(format: settings.format) }
        set { settings.format = newValue?.format ?? .keep }
    }
    /// The maximum upright width in pixels. No image is enlarged.
    public var maxWidth: Int? {
        get { settings.maxWidth }
        set { settings.maxWidth = newValue }
    }
    /// The maximum upright height in pixels.
    public var maxHeight: Int? {
        get { settings.maxHeight }
        set { settings.maxHeight = newValue }
    }
    /// How the image fills the box of `maxWidth` and `maxHeight`. Default: `.fit`. The others need both
    /// limits.
    public var resizeMode: ResizeMode {
        get {
            switch settings.resizeMode {
            case .fit: .fit
            case .crop: .crop
            case .pad: .pad
            }
        }
        set { settings.resizeMode = newValue.mode }
    }
    /// The strength of the sharpening of a scaled image in percent, 0...500: about 50 to 100 for thumbnails.
    /// Default: 0, which does not sharpen. An image that is not scaled is never sharpened. Other values
    /// fail with `bad_parameters`.
    public var sharpen: Int {
        get { settings.sharpen }
        set { settings.sharpen = newValue }
    }
    /// The maximum encoded size in bytes. If necessary, first the quality is reduced, then the
    /// dimensions.
    public var maxBytes: Int? {
        get { settings.maxBytes }
        set { settings.maxBytes = newValue }
    }
    /// The structural similarity (SSIM) to the resized source that a JPEG must have, greater than 0 and
    /// less than 1. At most five qualities up to `quality` are tried, and the lowest one that reaches
    /// the target is used; if none does, `quality`. `nil`, the default: `quality` itself is used.
    /// `maxBytes` has priority. Ignored for PNG. Other values fail with `bad_parameters`.
    public var targetSSIM: Double? {
        get { settings.targetSSIM }
        set { settings.targetSSIM = newValue }
    }
    /// The color behind transparent pixels when converting to JPEG, and of padding, as 0xRRGGBB.
    /// Default: white. The padding of an image that keeps its alpha is transparent until this is set.
    public var background: UInt32 {
        get { settings.background }
        set { settings.background = newValue }
    }
    /// The metadata to keep.
    public var metadata: Metadata {
        get {
            switch settings.metadata {
            case .none: .none
            case .icc: .colors
            case .noGPS: .noPlaces
            case .all: .all
            }
        }
        set {
            settings.metadata =
                switch newValue {
                case .none: .none
                case .colors: .icc
                case .noPlaces: .noGPS
                case .all: .all
                }
        }
    }
    /// Whether to keep the stored pixels and their EXIF orientation. Default: false, which rotates
    /// the image upright.
    public var keepsOrientation: Bool {
        get { settings.orientation == .keep }
        set { settings.orientation = newValue ? .keep : .apply }
    }
    /// Whether to send the original, with metadata filtered, if the compressed image is larger.
    /// Default: true.
    public var neverLarger: Bool {
        get { settings.neverLarger }
        set { settings.neverLarger = newValue }
    }
    /// The maximum number of pixels, checked against the header. Default: 100 million.
    public var maxPixels: Int {
        get { settings.maxPixels }
        set { settings.maxPixels = newValue }
    }
    /// The timeout for processing one image. Default: 30 seconds; `nil` for none.
    public var deadline: Duration? {
        get { settings.deadline }
        set { settings.deadline = newValue }
    }
    /// Whether to optimize Huffman tables, which makes files 5-8% smaller and encoding about 50%
    /// slower. `nil`, the default, optimizes them only if the image is resized.
    public var optimizes: Bool? {
        get { settings.optimize }
        set { settings.optimize = newValue }
    }
    /// Whether to write a progressive JPEG, which needs memory for the whole image. Default: false.
    public var isProgressive: Bool {
        get { settings.progressive }
        set { settings.progressive = newValue }
    }
    /// Whether to search for the smallest JPEG of the quality: about 12 % fewer bytes at the same SSIM
    /// than a progressive JPEG, in about four times its CPU time. Needs memory for the whole image. The
    /// result may be progressive. Default: false.
    public var smallest: Bool {
        get { settings.smallest }
        set { settings.smallest = newValue }
    }
    /// The chroma subsampling of a JPEG.
    public var subsampling: Subsampling {
        get {
            switch settings.subsampling {
            case .automatic: .automatic
            case .s444: .s444
            case .s422: .s422
            case .s420: .s420
            }
        }
        set {
            settings.subsampling =
                switch newValue {
                case .automatic: .automatic
                case .s444: .s444
                case .s422: .s422
                case .s420: .s420
                }
        }
    }
    /// Whether to use all filters and level 9 for PNG: files are smaller, but encoding is five to
    /// ten times slower. Default: false.
    public var squeezesPNG: Bool {
        get { settings.pngEffort == .best }
        set { settings.pngEffort = newValue ? .best : .fast }
    }
    /// How to handle an animation that must be decoded: fail (default) or decode its first frame, or
    /// the default image of a PNG. A PNG that does not need decoding stays animated.
    public var animated: Animated {
        get { settings.animated == .first ? .first : .refuse }
        set { settings.animated = newValue == .first ? .first : .refuse }
    }
    /// The maximum working memory in bytes for an image that is held in memory as a whole. Default:
    /// 256 MiB. An image that needs more fails with `image_too_large`.
    public var maxMemory: Int {
        get { settings.maxMemory }
        set { settings.maxMemory = newValue }
    }
}
