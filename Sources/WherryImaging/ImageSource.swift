// Wherry: sources and results of image processing.
// SPDX-License-Identifier: Apache-2.0

package import WherrySystem

/// The source of an image.
package enum ImageSource: Sendable {
    /// A regular file, opened on demand and read in chunks.
    case file(path: String)
    /// An encoded image in memory.
    case bytes(Bytes)
    /// Raw pixels.
    case pixels(PixelBuffer)
}

/// An image ready for an upload.
package struct EncodedImage: Sendable {
    package let bytes: Bytes
    /// `jpeg` or `png`.
    package let format: ImageFormat
    /// In pixels, as stored; with `orientation` kept, viewers may turn the image.
    package let width: Int
    package let height: Int
    /// libjpeg's quality, 1...100; `nil` for PNG and if nothing was re-encoded.
    package let quality: Int?
    /// The encoded size of the source; `nil` for raw pixels.
    package let originalByteCount: Int?
    /// How the bytes were produced.
    package let way: Way
    /// The number of times that the image was encoded to find the result; 0 if nothing was encoded, or
    /// if the original was smaller.
    package let encodings: Int

    package enum Way: UInt8, Hashable, Sendable {
        /// The source bytes, unchanged.
        case untouched
        /// The source's pixels or coefficients, with metadata removed.
        case stripped
        /// The source's coefficients, turned upright.
        case turned
        /// A JPEG transcoded from its coefficients or planes, without color conversion.
        case recoded
        /// Decoded and encoded a band of rows at a time.
        case streamed
        /// Decoded as a whole.
        case whole
    }
}
