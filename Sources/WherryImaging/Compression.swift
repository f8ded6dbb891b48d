// Wherry: how a picture is made smaller for sending.
// SPDX-License-Identifier: Apache-2.0

/// What to do with a picture before it is sent.
///
/// The default sends JPEG and PNG as they are, but for EXIF, GPS, XMP and comments, which are
/// left out without touching the pixels, and turned upright.
package struct Compression: Hashable, Sendable {
    /// What is kept of the data beside the pixels.
    package enum Metadata: UInt8, Hashable, Sendable {
        /// Nothing, not even the colour profile.
        case none = 1
        /// The ICC colour profile.
        case icc = 2
        /// Everything but places: the GPS part of EXIF goes, and XMP that speaks of it.
        case noGPS = 3
        case all = 4
    }

    package enum Orientation: UInt8, Hashable, Sendable {
        /// The pixels are turned upright.
        case apply
        /// The pixels stay, and so does the EXIF orientation, even where the rest of EXIF goes.
        case keep
    }

    /// How much coarser a JPEG's colours are stored than its brightness.
    package enum Subsampling: UInt8, Hashable, Sendable {
        /// 4:2:0 below quality 0.9, 4:4:4 from there; a JPEG is never stored finer than it came.
        case automatic
        case s444
        case s422
        case s420
    }

    /// What to do with an animated PNG that has to be decoded.
    package enum Animated: UInt8, Hashable, Sendable {
        /// It fails as `animated`, so that no frame is lost silently.
        case refuse
        /// Its default image is decoded, which programs without animation show.
        case first
    }

    /// How hard PNG is squeezed.
    package enum PNGEffort: UInt8, Hashable, Sendable {
        /// The sub filter and level 1: five to ten times faster.
        case fast
        /// Every filter and level 9.
        case best
    }

    /// 0...1 for JPEG; anything outside, NaN included, counts as 1. libjpeg's quality is
    /// 100 times this, rounded, at least 1. 1 sends what is there where it fits. PNG ignores it.
    package var quality: Double = 1
    /// `keep`, `jpeg` or `png`.
    package var format: ImageFormat = .keep
    /// The largest upright width in pixels; the aspect is kept and nothing is enlarged.
    package var maxWidth: Int?
    /// The largest upright height in pixels.
    package var maxHeight: Int?
    /// The largest encoded size: the quality goes down, then the picture shrinks.
    package var maxBytes: Int?
    /// Red, green and blue as 0xRRGGBB under alpha where it becomes JPEG; white.
    package var background: UInt32 = 0xFF_FFFF
    package var metadata: Metadata = .icc
    package var orientation: Orientation = .apply
    /// Sends the original, its metadata stripped as asked, where ours is bigger.
    package var neverLarger = true
    /// Huffman tables made for the picture: 5 to 8 % smaller, half again as long. `nil`: when the
    /// picture becomes smaller.
    package var optimize: Bool?
    package var progressive = false
    package var subsampling: Subsampling = .automatic
    package var pngEffort: PNGEffort = .fast
    /// An animated PNG that is sent as it is stays animated either way.
    package var animated: Animated = .refuse
    /// More pixels are refused on the header alone.
    package var maxPixels = 100_000_000
    /// Bytes of working memory where a picture has to be held as a whole; 256 MiB.
    package var maxMemory = 256 << 20
    /// The longest time for one picture; 30 s. `nil`: none.
    package var deadline: Duration? = .seconds(30)

    package init() {}

    /// The default but for the quality.
    package init(quality: Double) { self.quality = quality }

    /// Quality and type as SJNetwork takes them: anything but png and PNG is JPEG.
    package init(quality: Double, type: String?) {
        self.quality = quality
        format = ImageTypeName(type).format
    }

    /// `quality` with everything outside 0...1 counted as 1.
    package var effectiveQuality: Double { quality >= 0 && quality <= 1 ? quality : 1 }

    /// What libjpeg is told: 1...100.
    package var jpegQuality: Int { max(1, Int((effectiveQuality * 100).rounded())) }

    /// Throws `bad_parameters` or `unsupported_option` for values that nothing can follow.
    func validate() throws(ImagingError) {
        guard [.keep, .jpeg, .png].contains(format) else {
            throw .unsupportedOption("Pictures are written as JPEG or PNG only.")
        }
        for (name, value) in [
            ("maxWidth", maxWidth), ("maxHeight", maxHeight), ("maxBytes", maxBytes),
            ("maxPixels", maxPixels), ("maxMemory", maxMemory),
        ] {
            if let value, value < 1 {
                throw .badParameters("\(name) is \(value); it is at least 1.")
            }
        }
        if let deadline, deadline <= .zero {
            throw .badParameters("The deadline is not in the future.")
        }
        guard background <= 0xFF_FFFF else {
            throw .badParameters("The background is 0x000000 to 0xFFFFFF.")
        }
    }
}
