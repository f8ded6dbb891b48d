// Wherry: the pixels of pictures, and of answers that are pictures.
// SPDX-License-Identifier: Apache-2.0

import WherryImaging
import WherrySystem

extension Image {
    /// Pixels in memory, the top row first, upright.
    public struct Pixels: Sendable {
        let buffer: PixelBuffer

        /// How the bytes of one pixel are arranged. Alpha is not premultiplied.
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
        /// All rows without padding, copied.
        public var bytes: [UInt8] { buffer.packedBytes }
        /// The same as a picture, to be made smaller or uploaded; nothing is copied.
        public var image: Image { Image(.pixels(buffer)) }
    }

    /// Decodes a picture, and turns it upright as its EXIF says. Blocks for the time of the work.
    ///
    /// - Parameters:
    ///   - order: `nil` for what loses nothing but depth over 8 bits: gray8, rgb8 or rgba8. Where
    ///     alpha goes, the picture is laid over the background.
    ///   - settings: its background, orientation and limits count, the rest does not.
    /// - Throws: an error of code `image` for what is no JPEG or PNG, a damaged one, or one of too
    ///   many pixels, `limit` for more memory or time than is allowed, `file` where it cannot be
    ///   read.
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
    /// The body as a picture, which is not looked at yet: `try response.image.decoded()` are its
    /// pixels, `info()` and `compressed()` what they are of any picture (R13).
    public var image: Image { .bytes(body) }
}
