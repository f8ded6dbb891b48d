// Wherry: pictures to be uploaded.
// SPDX-License-Identifier: Apache-2.0

public import Foundation
import WherryImaging
import WherrySystem

/// A picture as a program has it: in a file, encoded in memory, or as raw pixels.
public struct Image: Sendable {
    /// What a picture's bytes are, or are made into.
    public struct Format: Hashable, Sendable {
        let format: ImageFormat

        /// Read and written.
        public static let jpeg = Format(format: .jpeg)
        /// Read and written.
        public static let png = Format(format: .png)
        /// Recognised only.
        public static let gif = Format(format: .gif)
        /// Recognised only.
        public static let tiff = Format(format: .tiff)
        /// Recognised only.
        public static let webp = Format(format: .webp)
    }

    /// How the bytes of one raw pixel are arranged. Alpha is not premultiplied.
    public enum PixelOrder: Sendable, Hashable {
        case gray8, rgb8, rgba8, bgra8

        var format: PixelFormat {
            switch self {
            case .gray8: .gray8
            case .rgb8: .rgb8
            case .rgba8: .rgba8
            case .bgra8: .bgra8
            }
        }
    }

    let source: ImageSource
    /// The name in the form and in failures; `nil`, the default, makes one of time and index.
    public var fileName: String?

    init(_ source: ImageSource, fileName: String? = nil) {
        self.source = source
        self.fileName = fileName
    }

    /// A picture in a file, opened when it is needed.
    public static func file(_ path: String, fileName: String? = nil) -> Image {
        Image(.file(path: path), fileName: fileName)
    }

    /// A picture in a file, opened when it is needed.
    public static func file(_ url: URL, fileName: String? = nil) -> Image {
        Image(.file(path: url.path), fileName: fileName)
    }

    /// An encoded picture.
    public static func bytes(_ bytes: Bytes, fileName: String? = nil) -> Image {
        Image(.bytes(bytes), fileName: fileName)
    }

    /// An encoded picture.
    public static func data(_ data: Data, fileName: String? = nil) -> Image {
        Image(.bytes(Bytes(data)), fileName: fileName)
    }

    /// Raw pixels, the top row first.
    ///
    /// - Parameter stride: bytes from one row to the next; 0, the default, means no padding.
    /// - Throws: `bad_parameters` if there are too few bytes, or a side is not 1 to 65,500.
    public static func pixels(
        _ bytes: [UInt8], _ order: PixelOrder, width: Int, height: Int, stride: Int = 0,
        fileName: String? = nil
    ) throws(WherryError) -> Image {
        do {
            let buffer = try PixelBuffer(
                copying: bytes, format: order.format, width: width, height: height, stride: stride)
            return Image(.pixels(buffer), fileName: fileName)
        } catch {
            throw WherryError(error)
        }
    }

    /// What the bytes of a picture are, by their beginning; `nil` for anything unknown.
    public static func format(of bytes: some Sequence<UInt8>) -> Format? {
        ImageFormat.recognise(Array(bytes.prefix(16))).map { Format(format: $0) }
    }
}

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
}
