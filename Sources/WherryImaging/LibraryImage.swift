// Wherry: images that libraries of the system decode.
// SPDX-License-Identifier: Apache-2.0

internal import CImageCodecs
internal import WherrySystem

/// An image in a format that a library of the system decodes: WebP, HEIC, AVIF, or GIF.
///
/// The library is loaded when the first such image is opened. Holds the encoded image in memory.
struct LibraryImage {
    let format: ImageFormat
    /// The encoded image.
    let bytes: Bytes
    let header: cimage_header
    /// The EXIF block. The orientation of an image that the library turns upright is 1.
    let exif: EXIF?
    /// The ICC profile.
    let profile: [UInt8]?

    /// The size limit of an encoded image.
    static let maxByteCount = 256 << 20

    /// - Throws: `unsupported_image` if the library is not installed or does not support the image.
    init(_ input: ImageInput, _ format: ImageFormat) throws(ImagingError) {
        self.format = format
        bytes = try input.all(maxMemory: Self.maxByteCount)
        let decoder = try Self.open(bytes, format, nil)
        defer { cimage_decoder_free(decoder) }
        header = cimage_decoder_header(decoder)
        profile = Self.copy { cimage_library_profile(decoder, &$0) }
        var block = Self.copy { cimage_library_exif(decoder, &$0) }.flatMap { EXIF($0) }
        if format.isTurnedByLibrary { block?.setOrientation(1) }
        exif = block
    }

    /// Opens a decoder, to be freed, which reads `bytes`. Checks the limits first.
    func open(_ limits: Limits) throws(ImagingError) -> OpaquePointer {
        if format == .heic || format == .avif { try HEIFBudget.check(bytes, limits) }
        var bounds = limits.codec
        return try withUnsafePointer(to: &bounds) { bounds throws(ImagingError) in
            try Self.open(bytes, format, bounds)
        }
    }

    private static func open(
        _ bytes: Bytes, _ format: ImageFormat, _ limits: UnsafePointer<cimage_limits>?
    ) throws(ImagingError) -> OpaquePointer {
        var opened: OpaquePointer?
        let start = bytes.storage?.base?.assumingMemoryBound(to: UInt8.self)
        try callCodec { message in
            cimage_library_open(format.library, start, bytes.count, limits, &opened, message)
        }
        guard let opened else { throw .noMemory }
        return opened
    }

    private static func copy(
        _ part: (inout Int) -> UnsafePointer<UInt8>?
    ) -> [UInt8]? {
        var count = 0
        guard let start = part(&count) else { return nil }
        return Array(UnsafeBufferPointer(start: start, count: count))
    }
}

extension ImageFormat {
    fileprivate var library: cimage_library {
        switch self {
        case .webp: CIMAGE_WEBP
        case .gif: CIMAGE_GIF
        default: CIMAGE_HEIF
        }
    }

    /// Whether the library returns upright pixels, so that the orientation in EXIF does not apply
    /// (ISO 23008-12, section 6.5).
    fileprivate var isTurnedByLibrary: Bool { self == .heic || self == .avif }
}
