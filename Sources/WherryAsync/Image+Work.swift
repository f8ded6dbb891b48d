// Wherry: inspecting and compressing images.
// SPDX-License-Identifier: Apache-2.0

import WherryImaging
public import WherrySystem

extension Image {
    /// The properties of an image, read without decoding it.
    public struct Info: Sendable, Hashable {
        let info: ImageInfo

        /// `nil` for raw pixels.
        public var format: Format? { info.format == .keep ? nil : Format(format: info.format) }
        /// In pixels as stored, before turning upright.
        public var width: Int { info.width }
        /// In pixels as stored, before turning upright.
        public var height: Int { info.height }
        /// In pixels after turning upright.
        public var uprightSize: (width: Int, height: Int) { info.uprightSize }
        /// 1 to 8 as in EXIF; 1 is upright.
        public var orientation: Int { info.orientation }
        /// As stored: 1 gray or palette, 2 gray and alpha, 3 color, 4 with alpha, or CMYK.
        public var components: Int { info.components }
        /// Bits per sample.
        public var bitDepth: Int { info.bitDepth }
        public var hasAlpha: Bool { info.hasAlpha }
        /// Whether the image has an ICC color profile.
        public var hasColors: Bool { info.hasICC }
        public var hasEXIF: Bool { info.hasEXIF }
        /// Whether its EXIF contains a location.
        public var hasPlaces: Bool { info.hasGPS }
        /// The local time of the exposure from EXIF, in ISO 8601: "2024-05-01T12:34:56", followed by
        /// the offset from UTC, such as "+02:00", if the camera recorded it. `nil` if it is unknown.
        public var takenAt: String? { info.photo.takenAt }
        /// The manufacturer of the camera from EXIF.
        public var make: String? { info.photo.make }
        /// The model of the camera from EXIF.
        public var model: String? { info.photo.model }
        /// The copyright notice from EXIF. Longer texts are cut after 1,000 bytes.
        public var copyright: String? { info.photo.copyright }
        /// The photographer from EXIF.
        public var artist: String? { info.photo.artist }
        /// The description of the image from EXIF. It may have several lines.
        public var description: String? { info.photo.description }
        /// The program that wrote the image, or the firmware of the camera, from EXIF.
        public var software: String? { info.photo.software }
        /// Degrees north of the equator and east of Greenwich, negative for south and west, from EXIF.
        public var position: (latitude: Double, longitude: Double)? {
            info.photo.position.map { ($0.latitude, $0.longitude) }
        }
        /// Meters above sea level from EXIF, negative below.
        public var altitude: Double? { info.photo.altitude }
        public var isAnimated: Bool { info.isAnimated }
        /// Whether it is a progressive JPEG or an interlaced PNG, which decoders hold in memory as
        /// a whole.
        public var isProgressive: Bool { info.isProgressive }
        /// The encoded size; `nil` for raw pixels.
        public var byteCount: Int? { info.byteCount }
        /// The size of the decoded pixels in bytes.
        public var pixelBytes: Int { info.pixelBytes }
    }

    /// Reads the header. Does not decode the image and applies no size limit.
    ///
    /// - Throws: An error with code `image` for anything but an image that can be read, and `file` if
    ///   the file cannot be read.
    public func info() throws(WherryError) -> Info {
        do {
            return Info(info: try ImageInfo(inspecting: source))
        } catch {
            throw WherryError(error)
        }
    }

    /// Returns the image that an upload with `compression` would send.
    ///
    /// Decodes nothing if quality, size, format and orientation already fit. Blocks; a photograph
    /// takes tens of milliseconds.
    ///
    /// - Throws: An error with code `image` for an image that cannot be sent, `file` if it cannot
    ///   be read, `argument` for invalid compression settings.
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

    /// Returns an image for each of several compressions, in the same order, and decodes the image at
    /// most once.
    ///
    /// Decodes at the smallest scale that suffices for all results. The results are encoded
    /// together while rows are decoded, so that the decoded image is not in memory. The results of
    /// a PNG or of pixels, and those that need no decoding, have the same bytes as from
    /// ``compressed(_:)-(Compression)``. Those of a JPEG have the same size and almost the same
    /// pixels. The strictest limits apply to the decoding. Blocks while it runs.
    ///
    /// - Throws: The first error, as ``compressed(_:)-(Compression)`` does, if one of the results fails.
    public func compressed(
        _ compressions: [Compression]
    ) throws(WherryError) -> [CompressedImage] {
        do {
            return try ImageEncoder.encode(source, compressions.map(\.settings)).map {
                CompressedImage(encoded: $0, fileName: fileName)
            }
        } catch {
            throw WherryError(error)
        }
    }
}

/// An image as an upload sends it.
public struct CompressedImage: Sendable {
    /// How the bytes were produced, from cheapest to most expensive.
    public enum Way: Sendable, Hashable {
        /// The source bytes, unchanged.
        case untouched
        /// Only metadata was removed or edited.
        case stripped
        /// Rotated losslessly.
        case turned
        /// A JPEG transcoded from its coefficients or planes, without color conversion.
        case recoded
        /// Decoded and encoded a band of rows at a time.
        case streamed
        /// Decoded as a whole.
        case whole
    }

    let encoded: EncodedImage
    let fileName: String?

    /// The encoded file.
    public var bytes: Bytes { encoded.bytes }
    /// `.jpeg` or `.png`.
    public var format: Image.Format { Image.Format(format: encoded.format) }
    /// In pixels, as stored.
    public var width: Int { encoded.width }
    /// In pixels, as stored.
    public var height: Int { encoded.height }
    /// libjpeg's quality, 1 to 100; `nil` for PNG and if nothing was re-encoded.
    public var quality: Int? { encoded.quality }
    /// The number of times that the image was encoded to reach `maxBytes` or `targetSSIM`, otherwise 1;
    /// 0 if the source was sent unchanged or only lost metadata.
    public var encodings: Int { encoded.encodings }
    /// The encoded size of the source; `nil` for raw pixels.
    public var originalByteCount: Int? { encoded.originalByteCount }
    /// How the bytes were produced.
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
    /// The result as an image, to be uploaded or inspected.
    public var image: Image { .bytes(bytes, fileName: fileName) }
}
