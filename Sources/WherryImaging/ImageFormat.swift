// Wherry: image formats by name and by signature.
// SPDX-License-Identifier: Apache-2.0

/// An image format. JPEG and PNG are read and written. GIF, WebP, HEIC, and AVIF are read if their
/// library is installed. TIFF is only recognized.
package enum ImageFormat: UInt8, CaseIterable, Hashable, Sendable {
    /// The source's format; raw pixels become PNG if they have alpha, else JPEG.
    case keep = 0
    case jpeg = 1
    case png = 2
    case gif = 3
    case tiff = 4
    case webp = 5
    case heic = 6
    case avif = 7

    /// The usual extensions of files that can be read, in lower case.
    package static let readableExtensions = [
        "jpg", "jpeg", "jpe", "jfif", "png", "gif", "webp", "heic", "heif", "avif",
    ]

    /// Detects the format from the first bytes: FF jpeg, 89 png, 47 gif, 49 or 4D tiff,
    /// RIFF....WEBP webp, ....ftyp and a brand heic or avif. `nil` for anything else. Needs twelve
    /// bytes, and of HEIC and AVIF all brands, for which ``headCount`` bytes are enough.
    package static func recognise(_ bytes: some Collection<UInt8>) -> ImageFormat? {
        switch bytes.first {
        case 0xFF: return .jpeg
        case 0x89: return .png
        case 0x47: return .gif
        case 0x49, 0x4D: return .tiff
        case 0x52:
            let head = Array(bytes.prefix(12))
            guard head.count == 12, head[0..<4].elementsEqual("RIFF".utf8),
                head[8..<12].elementsEqual("WEBP".utf8)
            else { return nil }
            return .webp
        case 0x00: return brand(Array(bytes.prefix(headCount)))
        default: return nil
        }
    }

    /// Detects the format by the complete signature, for bytes that are not decoded; `nil` if
    /// unknown.
    static func identify(_ head: [UInt8]) -> ImageFormat? {
        func begins(_ signature: [UInt8]) -> Bool { head.starts(with: signature) }
        switch recognise(head) {
        case .jpeg where begins([0xFF, 0xD8, 0xFF]): return .jpeg
        case .png where begins([0x89, 0x50, 0x4E, 0x47]): return .png
        case .gif where begins(Array("GIF8".utf8)): return .gif
        case .tiff where begins([0x49, 0x49, 42, 0]) || begins([0x4D, 0x4D, 0, 42]): return .tiff
        case .webp: return .webp
        case .heic: return .heic
        case .avif: return .avif
        default: return nil
        }
    }

    /// The number of bytes by which a format is detected: the brands of a HEIC or AVIF file end
    /// within them.
    package static let headCount = 128

    /// Detects the format by the brands of an ISO media file (ISO 23008-12). The general brands mif1
    /// and msf1 do not say how the image is coded: then the first compatible brand that does counts.
    private static func brand(_ head: [UInt8]) -> ImageFormat? {
        guard head.count >= 12, head[4..<8].elementsEqual("ftyp".utf8) else { return nil }
        let major = String(decoding: head[8..<12], as: UTF8.self)
        guard major == "mif1" || major == "msf1" else { return format(ofBrand: major) }
        let count = head[0..<4].reduce(0) { $0 << 8 | Int($1) }
        for start in stride(from: 16, to: min(count, head.count) - 3, by: 4) {
            let brand = String(decoding: head[start..<start + 4], as: UTF8.self)
            if let found = format(ofBrand: brand) { return found }
        }
        return .heic
    }

    private static func format(ofBrand brand: String) -> ImageFormat? {
        switch brand {
        case "heic", "heix", "heim", "heis", "hevc", "hevx": .heic
        case "avif", "avis": .avif
        default: nil
        }
    }

    /// The usual name; empty for `keep`.
    package var name: String {
        switch self {
        case .keep: ""
        case .jpeg: "JPEG"
        case .png: "PNG"
        case .gif: "GIF"
        case .tiff: "TIFF"
        case .webp: "WebP"
        case .heic: "HEIC"
        case .avif: "AVIF"
        }
    }

    /// The registered media type; `application/octet-stream` for `keep`.
    package var mediaType: String {
        switch self {
        case .keep: "application/octet-stream"
        case .jpeg: "image/jpeg"
        case .png: "image/png"
        case .gif: "image/gif"
        case .tiff: "image/tiff"
        case .webp: "image/webp"
        case .heic: "image/heic"
        case .avif: "image/avif"
        }
    }

    /// The usual file name extension without a dot; empty for `keep`.
    package var fileExtension: String {
        switch self {
        case .keep: ""
        case .jpeg: "jpg"
        case .png: "png"
        case .gif: "gif"
        case .tiff: "tiff"
        case .webp: "webp"
        case .heic: "heic"
        case .avif: "avif"
        }
    }
}

/// An image type as SJNetwork spells it, and the format and media types it stands for.
package struct ImageTypeName: Hashable, Sendable {
    package let format: ImageFormat
    package let fileExtension: String
    /// The registered media type.
    package let mediaType: String
    /// The media type that SJNetwork sends: the unregistered `image/jpg` for all types except png
    /// and jpeg.
    package let compatibleMediaType: String

    /// Accepts png and PNG; jpg and JPG; jpeg and JPEG. Anything else, including `nil` and other
    /// cases, is jpg.
    package init(_ word: String?) {
        switch word {
        case "png", "PNG":
            self.init(format: .png, fileExtension: "png", compatible: "image/png")
        case "jpeg", "JPEG":
            self.init(format: .jpeg, fileExtension: "jpeg", compatible: "image/jpeg")
        default:
            self.init(format: .jpeg, fileExtension: "jpg", compatible: "image/jpg")
        }
    }

    private init(format: ImageFormat, fileExtension: String, compatible: String) {
        self.format = format
        self.fileExtension = fileExtension
        mediaType = format.mediaType
        compatibleMediaType = compatible
    }
}
