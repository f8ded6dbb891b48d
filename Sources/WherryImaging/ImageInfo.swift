// Wherry: image header information.
// SPDX-License-Identifier: Apache-2.0

internal import CImageCodecs
internal import WherrySystem

/// The properties of an image, read without decoding it.
package struct ImageInfo: Hashable, Sendable {
    /// `keep` for raw pixels.
    package let format: ImageFormat
    /// As stored, before turning the image upright.
    package let width: Int
    package let height: Int
    /// 1...8 as in EXIF, from EXIF or else from XMP. Default: 1, upright.
    package let orientation: Int
    /// As stored: 1 gray or palette, 2 gray and alpha, 3 color, 4 color and alpha, or CMYK.
    package let components: Int
    /// Bits per sample.
    package let bitDepth: Int
    package let hasAlpha: Bool
    package let hasICC: Bool
    package let hasEXIF: Bool
    package let hasGPS: Bool
    package let isAnimated: Bool
    /// What EXIF says about the photograph; empty if there is nothing.
    package let photo: PhotoInfo
    /// Whether it is a progressive JPEG or an interlaced PNG, which decoders hold in memory as a
    /// whole.
    package let isProgressive: Bool
    /// The encoded size; `nil` for raw pixels.
    package let byteCount: Int?
    /// Bytes per decoded pixel: 1 for gray, 3 for color, 4 with alpha.
    let decodedChannels: Int

    /// The width and height after turning the image upright.
    package var uprightSize: (width: Int, height: Int) {
        orientation >= 5 ? (height, width) : (width, height)
    }

    /// The size of the decoded pixels in bytes; `Int.max` on overflow.
    package var pixelBytes: Int {
        let (pixels, isMany) = width.multipliedReportingOverflow(by: height)
        let (bytes, isMore) = pixels.multipliedReportingOverflow(by: decodedChannels)
        return isMany || isMore ? .max : bytes
    }

    /// Reads the header of an image. Decodes no pixel and allocates no pixel memory.
    ///
    /// Does not limit the dimensions.
    package init(inspecting source: ImageSource) throws(ImagingError) {
        switch source {
        case .file(let path): self = try OpenImage(ImageInput(path: path), whole: false).info
        case .bytes(let bytes): self = try OpenImage(ImageInput(bytes), whole: false).info
        case .pixels(let pixels): self.init(pixels)
        }
    }

    init(_ pixels: PixelBuffer) {
        format = .keep
        width = pixels.width
        height = pixels.height
        orientation = 1
        components = pixels.format.bytesPerPixel
        bitDepth = 8
        hasAlpha = pixels.format.hasAlpha
        hasICC = false
        hasEXIF = false
        hasGPS = false
        photo = PhotoInfo()
        isAnimated = false
        isProgressive = false
        byteCount = nil
        decodedChannels = pixels.format.bytesPerPixel
    }

    /// Returns the orientation from EXIF, or else from XMP; 1 if neither has one.
    private static func orientation(
        _ exif: EXIF?, _ xmp: () throws(ImagingError) -> XMP?
    ) throws(ImagingError) -> Int {
        if let said = exif?.orientation { return said }
        return try xmp()?.orientation ?? 1
    }

    init(_ layout: JPEGLayout, _ input: ImageInput) throws(ImagingError) {
        let exif = try layout.exif(input)
        format = .jpeg
        width = layout.width
        height = layout.height
        orientation = try Self.orientation(exif) { () throws(ImagingError) in
            try layout.xmp(input)
        }
        components = layout.components
        bitDepth = layout.bits
        hasAlpha = false
        hasICC = layout.segments.contains { $0.kind == .icc }
        hasEXIF = layout.segments.contains { $0.kind == .exif }
        hasGPS = exif?.hasGPS ?? false
        photo = exif.map { PhotoInfo($0) } ?? PhotoInfo()
        isAnimated = false
        isProgressive = layout.isProgressive
        byteCount = input.count
        decodedChannels = layout.components == 1 ? 1 : 3
    }

    init(_ image: LibraryImage) {
        format = image.format
        width = Int(image.header.width)
        height = Int(image.header.height)
        orientation = image.exif?.orientation ?? 1
        components = Int(image.header.components)
        bitDepth = Int(image.header.bits)
        hasAlpha = cimage_pixels(UInt32(bitPattern: image.header.natural)) == CIMAGE_RGBA8
        hasICC = image.profile != nil
        hasEXIF = image.exif != nil
        hasGPS = image.exif?.hasGPS ?? false
        photo = image.exif.map { PhotoInfo($0) } ?? PhotoInfo()
        isAnimated = image.header.is_animated
        isProgressive = false
        byteCount = image.bytes.count
        decodedChannels = hasAlpha ? 4 : 3
    }

    init(_ layout: PNGLayout, _ input: ImageInput) throws(ImagingError) {
        let exif = try layout.exif(input)
        format = .png
        width = layout.width
        height = layout.height
        orientation = try Self.orientation(exif) { () throws(ImagingError) in
            try layout.xmp(input)
        }
        components = layout.components
        bitDepth = layout.bits
        hasAlpha = layout.hasAlpha
        hasICC = layout.first("iCCP") != nil
        hasEXIF = layout.first("eXIf") != nil
        hasGPS = exif?.hasGPS ?? false
        photo = exif.map { PhotoInfo($0) } ?? PhotoInfo()
        isAnimated = layout.isAnimated
        isProgressive = layout.isInterlaced
        byteCount = input.count
        decodedChannels = layout.hasAlpha ? 4 : layout.colorType == 0 ? 1 : 3
    }
}

/// An encoded image with its parsed layout.
struct OpenImage {
    enum Layout {
        case jpeg(JPEGLayout)
        case png(PNGLayout)
        case library(LibraryImage)
    }

    let input: ImageInput
    let layout: Layout
    let info: ImageInfo

    /// - Parameter whole: Whether to parse a JPEG to its end, instead of only to the first scan.
    init(_ input: ImageInput, whole: Bool) throws(ImagingError) {
        self.input = input
        guard input.count > 0 else { throw .truncated("The image is empty.") }
        let head = try input.copy(0..<min(ImageFormat.headCount, input.count))
        let format = ImageFormat.recognise(head)
        switch format {
        case .jpeg:
            let found = try JPEGLayout(input, whole: whole)
            layout = .jpeg(found)
            info = try ImageInfo(found, input)
        case .png:
            let found = try PNGLayout(input)
            layout = .png(found)
            info = try ImageInfo(found, input)
        case .gif?, .webp?, .heic?, .avif?:
            let found = try LibraryImage(input, format ?? .keep)
            layout = .library(found)
            info = ImageInfo(found)
        case .tiff:
            throw ImagingError(
                .image, "unsupported_image",
                "TIFF images are not supported. Use JPEG or PNG.")
        case nil where head.dropFirst(4).starts(with: "ftyp".utf8):
            throw ImagingError(
                .image, "unsupported_image",
                "Videos and images in ISO media files are not supported. Use JPEG or PNG.")
        case .keep, nil:
            throw .badImage("The data is not an image of a known format. Use JPEG or PNG.")
        }
    }

    /// The format of the result if none is given: of a format that cannot be written, PNG if the image
    /// has alpha, and otherwise JPEG.
    var keptFormat: ImageFormat {
        guard case .library = layout else { return info.format }
        return info.hasAlpha ? .png : .jpeg
    }

    /// - Throws: `animated` if only one frame would be decoded, unless that is permitted.
    func checkFrames(_ animated: Compression.Animated, wanted: String) throws(ImagingError) {
        guard info.isAnimated, animated != .first else { return }
        throw ImagingError(
            .image, "animated",
            "The image is animated, and only one frame would be used. Set the option animated to "
                + "\"first\" to \(wanted) its first frame.")
    }

    /// Detects errors before decoding that would otherwise appear only at the end: a truncated
    /// file, and a JPEG with too many scans, each of which takes as long as an image (SEC-R9).
    func checkEnd() throws(ImagingError) {
        switch layout {
        case .png(let png):
            guard png.end != nil else { throw ImageInput.ended }
        case .library: return
        case .jpeg(let jpeg):
            let tail = try input.copy(max(0, input.count - 2)..<input.count)
            if tail == [0xFF, 0xD9], !jpeg.isProgressive { return }
            let whole = try JPEGLayout(input, whole: true)
            guard whole.segments.count(where: { $0.code == 0xDA }) <= Limits.maxScans else {
                throw Limits.tooManyScans
            }
        }
    }
}
