// Wherry: looking at pictures and making them smaller, without sending them.
// SPDX-License-Identifier: Apache-2.0

import WherryImaging
public import WherrySystem

extension Image {
    /// What is known of a picture without decoding it.
    public struct Info: Sendable, Hashable {
        let info: ImageInfo

        /// `.jpeg` or `.png`; `nil` for raw pixels.
        public var format: Format? { info.format == .keep ? nil : Format(format: info.format) }
        /// In pixels as stored, before turning.
        public var width: Int { info.width }
        /// In pixels as stored, before turning.
        public var height: Int { info.height }
        /// In pixels, as viewers show it.
        public var uprightSize: (width: Int, height: Int) { info.uprightSize }
        /// EXIF's 1 to 8; 1 is upright.
        public var orientation: Int { info.orientation }
        /// As stored: 1 gray or palette, 2 gray and alpha, 3 colours, 4 with alpha, or CMYK.
        public var components: Int { info.components }
        /// Of one sample.
        public var bitDepth: Int { info.bitDepth }
        public var hasAlpha: Bool { info.hasAlpha }
        /// Whether it brings an ICC colour profile.
        public var hasColors: Bool { info.hasICC }
        public var hasEXIF: Bool { info.hasEXIF }
        /// Whether its EXIF says where it was taken.
        public var hasPlaces: Bool { info.hasGPS }
        public var isAnimated: Bool { info.isAnimated }
        /// A progressive JPEG or interlaced PNG, which has to be held in memory as a whole.
        public var isProgressive: Bool { info.isProgressive }
        /// The encoded length; `nil` for raw pixels.
        public var byteCount: Int? { info.byteCount }
        /// What its pixels take in memory once decoded.
        public var pixelBytes: Int { info.pixelBytes }
    }

    /// Reads the header; decodes nothing, and judges no size.
    ///
    /// - Throws: an error of code `image` for what is no JPEG or PNG, `file` where it cannot be read.
    public func info() throws(WherryError) -> Info {
        do {
            return Info(info: try ImageInfo(inspecting: source))
        } catch {
            throw WherryError(error)
        }
    }

    /// The picture that an upload with `compression` would send.
    ///
    /// Where quality, size, format and direction already fit, nothing is decoded. Blocks for the
    /// time of the work, tens of milliseconds for a photograph.
    ///
    /// - Throws: an error of code `image` for a picture that cannot be sent, `file` where it cannot
    ///   be read, `argument` for a compression that makes no sense.
    public func compressed(
        _ compression: Compression = Compression()
    ) throws(WherryError) -> CompressedImage {
        do {
            let encoded = try ImageEncoder.encode(source, compression.settings)
            return CompressedImage(encoded: encoded, fileName: fileName)
        } catch {
            throw WherryError(error)
        }
    }
}

/// A picture as an upload sends it.
public struct CompressedImage: Sendable {
    /// How the bytes were made, the cheapest way first.
    public enum Way: Sendable, Hashable {
        /// The very bytes that came.
        case untouched
        /// Metadata was left out, nothing else.
        case stripped
        /// Turned without loss.
        case turned
        /// A JPEG's coefficients or planes were coded anew, without going through colours.
        case recoded
        /// Rows were decoded and encoded, a band at a time.
        case streamed
        /// The picture was held as a whole.
        case whole
    }

    let encoded: EncodedImage
    let fileName: String?

    /// The file.
    public var bytes: Bytes { encoded.bytes }
    /// `.jpeg` or `.png`.
    public var format: Image.Format { Image.Format(format: encoded.format) }
    /// In pixels, as stored.
    public var width: Int { encoded.width }
    /// In pixels, as stored.
    public var height: Int { encoded.height }
    /// libjpeg's quality, 1 to 100; `nil` for PNG and where nothing was coded anew.
    public var quality: Int? { encoded.quality }
    /// The length of what came; `nil` for raw pixels.
    public var originalByteCount: Int? { encoded.originalByteCount }
    /// How the bytes were made.
    public var way: Way {
        switch encoded.way {
        case .untouched: .untouched
        case .stripped: .stripped
        case .turned: .turned
        case .recoded: .recoded
        case .streamed: .streamed
        case .whole: .whole
        }
    }
    /// The same as a picture, to be uploaded or looked at.
    public var image: Image { .bytes(bytes, fileName: fileName) }
}
