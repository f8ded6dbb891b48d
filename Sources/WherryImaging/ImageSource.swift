// Wherry: where a picture comes from.
// SPDX-License-Identifier: Apache-2.0

package import WherrySystem

/// A picture as the caller has it.
package enum ImageSource: Sendable {
    /// A regular file, opened when it is needed and read in pieces.
    case file(path: String)
    /// An encoded picture in memory.
    case bytes(Bytes)
    /// Raw pixels.
    case pixels(PixelBuffer)
}

/// A picture ready to be sent.
package struct EncodedImage: Sendable {
    package let bytes: Bytes
    /// `jpeg` or `png`.
    package let format: ImageFormat
    /// In pixels, as stored: with `orientation` kept, a viewer may turn it.
    package let width: Int
    package let height: Int
    /// libjpeg's quality, 1...100; `nil` where nothing was encoded anew, and for PNG.
    package let quality: Int?
    /// The length of what came in, encoded; `nil` for raw pixels.
    package let originalByteCount: Int?
    /// Which way the bytes were made.
    package let way: Way

    package enum Way: UInt8, Hashable, Sendable {
        /// The very bytes that came.
        case untouched
        /// The very pixels or coefficients; metadata was left out.
        case stripped
        /// The very coefficients, turned upright.
        case turned
        /// A JPEG's coefficients or planes were coded anew, without going through colours.
        case recoded
        /// Rows were decoded and encoded a band at a time.
        case streamed
        /// The picture was held as a whole.
        case whole
    }
}
