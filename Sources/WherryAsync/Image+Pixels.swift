// Wherry: decoded images.
// SPDX-License-Identifier: Apache-2.0

import WherryImaging
import WherrySystem

extension Image {
    /// Upright pixels in memory, the top row first.
    public struct Pixels: Sendable {
        let buffer: PixelBuffer

        /// The byte order of a pixel. Alpha is not premultiplied.
        public var order: PixelOrder {
            switch buffer.format {
            case .gray8: .gray8
            case .rgb8: .rgb8
            case .rgba8: .rgba8
            case .bgra8: .bgra8
            }
        }
        public var width: Int { buffer.width }
        public var height: Int { buffer.height }
        /// A copy of all rows without padding.
        public var bytes: [UInt8] { buffer.packedBytes }
        /// The pixels as an image, to be compressed or uploaded. Shares the memory.
        public var image: Image { Image(.pixels(buffer)) }
    }

    /// Decodes the image and rotates it upright according to EXIF. Blocks while it runs.
    ///
    /// - Parameters:
    ///   - order: The pixel format; `nil` selects gray8, rgb8 or rgba8, whichever loses nothing but
    ///     bit depth above 8 bits. Removing alpha blends the image with the background.
    ///   - settings: Only size, sharpening, background, orientation, animated and limits apply. A JPEG is
    ///     decoded at the smallest scale that suffices for the size.
    /// - Throws: An error with code `image` for anything but a valid image that can be read, and for
    ///   too many pixels; `limit` if it needs more memory or time than allowed; `file` if the file
    ///   cannot be read.
    public func decoded(
        as order: PixelOrder? = nil, _ settings: Compression = Compression()
    ) throws(WherryError) -> Pixels {
        do {
            return Pixels(
                buffer: try ImageDecoder.decode(source, as: order?.format, settings.settings))
        } catch {
            throw WherryError(error)
        }
    }
}

extension Response {
    /// The body as an image, not decoded yet: `try response.image.decoded()` returns its pixels;
    /// `info()` and `compressed()` work as for any image (R13).
    public var image: Image { .bytes(body) }
}
