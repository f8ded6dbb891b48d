// Wherry: how pictures are made smaller.
// SPDX-License-Identifier: Apache-2.0

import WherryImaging

/// How a picture is made smaller before it is sent.
///
/// The default sends JPEG and PNG with their very pixels, upright and without EXIF, GPS, XMP and
/// comments.
public struct Compression: Sendable, Hashable {
    /// What is kept of the data beside the pixels.
    public enum Metadata: Sendable, Hashable {
        /// Nothing, not even the colour profile.
        case none
        /// The ICC colour profile: the default.
        case colors
        /// Everything but places.
        case noPlaces
        case all
    }

    /// How much coarser than its brightness a JPEG's colours are stored.
    public enum Subsampling: Sendable, Hashable {
        /// 4:2:0 below quality 0.9 and 4:4:4 from there, and never finer than the JPEG came: the
        /// default.
        case automatic
        /// Not coarser: sharp edges of colour, and the largest files.
        case s444
        /// Half across.
        case s422
        /// Half across and down.
        case s420
    }

    /// What to do with an animated PNG that has to be decoded.
    public enum Animated: Sendable, Hashable {
        /// It fails with `unsupported_image`: the default.
        case refuse
        /// Its default image is decoded, which programs without animation show.
        case first
    }

    var settings = WherryImaging.Compression()

    /// Quality 1, as it came.
    public init() {}

    /// - Parameters:
    ///   - quality: 0...1 for JPEG; anything outside counts as 1, the original where it fits. PNG
    ///     ignores it. It is no ratio of sizes.
    ///   - type: "png", "jpg" or "jpeg" as SJNetwork spells them, anything else is "jpg"; `nil`
    ///     keeps the picture's own.
    public init(quality: Double, type: String? = nil) {
        settings =
            type.map { WherryImaging.Compression(quality: quality, type: $0) }
            ?? WherryImaging.Compression(quality: quality)
    }

    /// 0...1 for JPEG; anything outside counts as 1.
    public var quality: Double {
        get { settings.quality }
        set { settings.quality = newValue }
    }
    /// `.jpeg` or `.png`; `nil`, the default, keeps it (raw pixels: PNG with alpha, else JPEG).
    public var format: Image.Format? {
        get { settings.format == .keep ? nil : Image.Format(format: settings.format) }
        set { settings.format = newValue?.format ?? .keep }
    }
    /// The largest width in pixels once upright; the aspect is kept, nothing is enlarged.
    public var maxWidth: Int? {
        get { settings.maxWidth }
        set { settings.maxWidth = newValue }
    }
    /// The largest height in pixels once upright.
    public var maxHeight: Int? {
        get { settings.maxHeight }
        set { settings.maxHeight = newValue }
    }
    /// The largest encoded size: the quality goes down, then the picture shrinks.
    public var maxBytes: Int? {
        get { settings.maxBytes }
        set { settings.maxBytes = newValue }
    }
    /// Red, green and blue as 0xRRGGBB under alpha where it becomes JPEG. White.
    public var background: UInt32 {
        get { settings.background }
        set { settings.background = newValue }
    }
    /// What is kept of the data beside the pixels.
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
    /// Leaves the pixels as they lie, with their EXIF orientation. Off: they are turned upright.
    public var keepsOrientation: Bool {
        get { settings.orientation == .keep }
        set { settings.orientation = newValue ? .keep : .apply }
    }
    /// Sends the original, stripped as asked, where ours would be bigger. On.
    public var neverLarger: Bool {
        get { settings.neverLarger }
        set { settings.neverLarger = newValue }
    }
    /// Pictures with more pixels are refused by their header alone: 100 million.
    public var maxPixels: Int {
        get { settings.maxPixels }
        set { settings.maxPixels = newValue }
    }
    /// The longest time for one picture: 30 seconds; `nil` is none.
    public var deadline: Duration? {
        get { settings.deadline }
        set { settings.deadline = newValue }
    }
    /// Huffman tables made for the picture: 5 to 8 % fewer bytes for half again the time. `nil`, the
    /// default, where the picture becomes smaller.
    public var optimizes: Bool? {
        get { settings.optimize }
        set { settings.optimize = newValue }
    }
    /// A JPEG that shows coarsely first, and takes memory as a whole to make. Off.
    public var isProgressive: Bool {
        get { settings.progressive }
        set { settings.progressive = newValue }
    }
    /// How much coarser than its brightness a JPEG's colours are stored.
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
    /// Every filter and level 9 for PNG: smaller, and five to ten times slower. Off.
    public var squeezesPNG: Bool {
        get { settings.pngEffort == .best }
        set { settings.pngEffort = newValue ? .best : .fast }
    }
    /// What to do with an animated PNG that has to be decoded: refuse it, the default, or decode its
    /// default image. One that is sent as it is stays animated.
    public var animated: Animated {
        get { settings.animated == .first ? .first : .refuse }
        set { settings.animated = newValue == .first ? .first : .refuse }
    }
    /// Bytes of working memory where a picture has to be held as a whole: 256 MiB. What needs more is
    /// refused with `image_too_large`.
    public var maxMemory: Int {
        get { settings.maxMemory }
        set { settings.maxMemory = newValue }
    }
}
