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
        /// Recognised only.
        public static let heic = Format(format: .heic)
        /// Recognised only.
        public static let avif = Format(format: .avif)
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
