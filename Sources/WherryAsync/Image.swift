// Wherry: images for uploads.
// SPDX-License-Identifier: Apache-2.0

import WherryImaging
import WherrySystem

/// An image: in a file, encoded in memory, or as raw pixels.
public struct Image: Sendable {
    /// The format of an image.
    public struct Format: Hashable, Sendable {
        let format: ImageFormat

        /// Can be read and written.
        public static let jpeg = Format(format: .jpeg)
        /// Can be read and written.
        public static let png = Format(format: .png)
        /// Can be read if libgif7 is installed.
        public static let gif = Format(format: .gif)
        /// Only recognized.
        public static let tiff = Format(format: .tiff)
        /// Can be read if libwebp7 is installed.
        public static let webp = Format(format: .webp)
        /// Can be read if libheif1 is installed.
        public static let heic = Format(format: .heic)
        /// Can be read if libheif1 is installed.
        public static let avif = Format(format: .avif)
    }

    /// The byte order of a raw pixel. Alpha is not premultiplied.
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
    /// The file name in the form and in failures; `nil`, the default, generates one from the time
    /// and the index.
    public var fileName: String?

    init(_ source: ImageSource, fileName: String? = nil) {
        self.source = source
        self.fileName = fileName
    }

    /// Creates an image from a file, opened on demand.
    public static func file(_ path: String, fileName: String? = nil) -> Image {
        Image(.file(path: path), fileName: fileName)
    }

    /// Creates an image from encoded bytes.
    public static func bytes(_ bytes: Bytes, fileName: String? = nil) -> Image {
        Image(.bytes(bytes), fileName: fileName)
    }

    /// Creates an image from raw pixels, the top row first.
    ///
    /// - Parameter stride: The distance between rows in bytes; 0, the default, means no padding.
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

    /// Detects the format of an image from its first bytes; `nil` if unknown. Twelve bytes are
    /// enough, except for some AVIF files, which need up to 128.
    public static func format(of bytes: some Sequence<UInt8>) -> Format? {
        ImageFormat.recognise(Array(bytes.prefix(ImageFormat.headCount))).map { Format(format: $0) }
    }
}
