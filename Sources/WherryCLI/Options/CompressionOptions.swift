// Wherry: the options for compressing images.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WherryImaging

struct CompressionOptions: ParsableArguments, Sendable {
    @Option(
        help: ArgumentHelp(
            "JPEG quality from 0 to 1; 1 keeps JPEG data unchanged if possible. (default: 1)",
            valueName: "ratio"),
        transform: { try Self.ratio($0) })
    var quality: Double?

    @Option(help: ArgumentHelp("Maximum width.", valueName: "pixels"))
    var maxWidth: Int?

    @Option(help: ArgumentHelp("Maximum height.", valueName: "pixels"))
    var maxHeight: Int?

    @Option(
        help: ArgumentHelp(
            "How the image fills the maximum width and height.",
            discussion:
                "fit: the whole image; crop: its center, with the aspect ratio of the two limits; pad: the whole image and a background, with exactly this size. No mode enlarges the image.",
            valueName: "mode"))
    var resizeMode = ResizeModeKind.fit

    @Option(
        help: ArgumentHelp(
            "How much to sharpen the image if it is scaled, 0 to 500.",
            discussion: "50 to 100 is good for thumbnails.", valueName: "percent"))
    var sharpen = 0

    @Option(help: ArgumentHelp("Maximum size of the result.", valueName: "bytes"))
    var maxBytes: Int?

    @Option(
        name: .customLong("target-ssim"),
        help: ArgumentHelp(
            "The similarity (SSIM) of JPEGs to the resized original, between 0 and 1, such as 0.98.",
            discussion:
                "Tries at most five qualities up to --quality, and uses the lowest one that reaches it.",
            valueName: "ssim"))
    var targetSSIM: Double?

    @Option(
        name: .customLong("format"),
        help: ArgumentHelp("The format of the result. (default: keep)", valueName: "format"))
    var givenFormat: ImageFormatArgument?

    /// The requested format.
    var format: ImageFormatArgument { givenFormat ?? .keep }

    @Option(
        help: ArgumentHelp(
            "The color behind transparent pixels when a PNG becomes JPEG, and of padding. (default: ffffff)",
            valueName: "rrggbb"))
    var background: String?

    @Option(
        help: ArgumentHelp(
            "Which metadata to keep.",
            discussion: "icc: the color profile; no-gps: everything except GPS positions.",
            valueName: "kind"))
    var metadata = MetadataKind.icc

    @OptionGroup var edits: MetadataOptions

    @Flag(help: "Keep the EXIF orientation instead of rotating the image upright.")
    var keepOrientation = false

    @Flag(help: "Use the compressed image even if the original is smaller.")
    var allowLarger = false

    @Flag(help: "Compress better but slower: optimal Huffman tables for JPEG, all filters for PNG.")
    var best = false

    @Flag(help: "Search for the smallest JPEG of the quality. Takes four times as long.")
    var smallest = false

    @Flag(help: "Write progressive JPEGs.")
    var progressive = false

    @Option(
        help: ArgumentHelp(
            "The chroma subsampling of JPEGs.",
            discussion:
                "auto: 420 below quality 0.9, otherwise 444, but never finer than the original.",
            valueName: "kind"))
    var subsampling = SubsamplingKind.auto

    @Option(
        help: ArgumentHelp(
            "What to do with an animation that has to be converted: refuse it, or use its first frame.",
            valueName: "mode"))
    var animated = AnimatedKind.refuse

    @Option(
        help: ArgumentHelp(
            "Refuse larger images, before decoding them. (default: 100000000)",
            valueName: "pixels"))
    var maxPixels: Int?

    @Option(
        help: ArgumentHelp(
            "Memory limit for images that cannot be streamed. (default: 268435456)",
            valueName: "bytes"))
    var maxMemory: Int?

    @Option(
        help: ArgumentHelp(
            "Time limit per image; 0 means none. (default: 30)", valueName: "seconds"))
    var deadline: Seconds?

    mutating func validate() throws {
        for (option, value) in [
            ("max-width", maxWidth), ("max-height", maxHeight), ("max-bytes", maxBytes),
            ("max-pixels", maxPixels), ("max-memory", maxMemory),
        ] {
            if let value, value < 1 {
                throw ValidationError("--\(option) takes 1 or more, not \(value).")
            }
        }
        if let targetSSIM, !(targetSSIM > 0 && targetSSIM < 1) {
            throw ValidationError(
                "--target-ssim takes a number between 0 and 1, not \(targetSSIM).")
        }
        let strongest = WherryImaging.Compression.maxSharpen
        guard (0...strongest).contains(sharpen) else {
            throw ValidationError("--sharpen takes 0 to \(strongest) percent, not \(sharpen).")
        }
        _ = try color()
    }

    /// Throws `ValidationError` if the resize mode needs limits that are missing.
    func checkBox() throws {
        if resizeMode != .fit, maxWidth == nil || maxHeight == nil {
            throw ValidationError(
                "--resize-mode \(resizeMode.rawValue) needs --max-width and --max-height.")
        }
    }

    /// Reads a quality. Other programs use percent, but 1 would then be ambiguous.
    private static func ratio(_ text: String) throws(ValidationError) -> Double {
        if let ratio = Double(text), (0...1).contains(ratio) { return ratio }
        let number = text.hasSuffix("%") ? text.dropLast() : text[...]
        guard let percent = Double(number), (0...100).contains(percent) else {
            throw ValidationError("--quality takes 0 to 1, not \(text).")
        }
        throw ValidationError(
            "--quality takes 0 to 1, not percent. For \(text), write \(percent / 100).")
    }

    /// - Parameter format: Replaces the format of the options.
    func settings(_ format: ImageFormatArgument? = nil) throws -> WherryImaging.Compression {
        var settings = WherryImaging.Compression(quality: quality ?? 1)
        settings.maxWidth = maxWidth
        settings.maxHeight = maxHeight
        settings.resizeMode = resizeMode.kept
        settings.sharpen = sharpen
        settings.maxBytes = maxBytes
        settings.format = (format ?? self.format).imageFormat
        if let color = try color() { settings.background = color }
        settings.metadata = metadata.kept
        settings.edits = edits.edits
        settings.orientation = keepOrientation ? .keep : .apply
        settings.neverLarger = !allowLarger
        if best {
            settings.optimize = true
            settings.pngEffort = .best
        }
        settings.targetSSIM = targetSSIM
        settings.smallest = smallest
        settings.progressive = progressive
        settings.subsampling = subsampling.kept
        settings.animated = animated == .first ? .first : .refuse
        if let maxPixels { settings.maxPixels = maxPixels }
        if let maxMemory { settings.maxMemory = maxMemory }
        if let deadline { settings.deadline = deadline.duration == .zero ? nil : deadline.duration }
        return settings
    }

    private func color() throws -> UInt32? {
        guard let background else { return nil }
        let digits = background.hasPrefix("#") ? background.dropFirst() : background[...]
        guard digits.count == 6, digits.allSatisfy(\.isHexDigit),
            let value = UInt32(digits, radix: 16)
        else {
            throw ValidationError(
                "--background takes six hexadecimal digits such as ff8800, not \(background).")
        }
        return value
    }
}

/// Which metadata to keep.
enum MetadataKind: String, ExpressibleByArgument, CaseIterable {
    case none, icc
    case noGPS = "no-gps"
    case all

    var kept: WherryImaging.Compression.Metadata {
        switch self {
        case .none: .none
        case .icc: .icc
        case .noGPS: .noGPS
        case .all: .all
        }
    }
}

/// How an image fills a box.
enum ResizeModeKind: String, ExpressibleByArgument, CaseIterable {
    case fit, crop, pad

    var kept: WherryImaging.Compression.ResizeMode {
        switch self {
        case .fit: .fit
        case .crop: .crop
        case .pad: .pad
        }
    }
}

/// The handling of an animation.
enum AnimatedKind: String, ExpressibleByArgument, CaseIterable {
    case refuse, first
}

/// Chroma subsampling.
enum SubsamplingKind: String, ExpressibleByArgument, CaseIterable {
    case auto
    case s420 = "420"
    case s422 = "422"
    case s444 = "444"

    var kept: WherryImaging.Compression.Subsampling {
        switch self {
        case .auto: .automatic
        case .s420: .s420
        case .s422: .s422
        case .s444: .s444
        }
    }
}

/// The format of results.
enum ImageFormatArgument: String, ExpressibleByArgument, CaseIterable {
    case keep, jpeg, png

    /// Also accepts `jpg`, and capital letters.
    init?(argument: String) {
        let word = argument.lowercased()
        self.init(rawValue: word == "jpg" ? "jpeg" : word)
    }

    var imageFormat: ImageFormat {
        switch self {
        case .keep: .keep
        case .jpeg: .jpeg
        case .png: .png
        }
    }

    /// The format of a file name's extension; `nil` for other extensions and none.
    ///
    /// - Throws: `ValidationError` for an image format that Wherry cannot write.
    init?(fileName: String) throws {
        let name = fileName.split(separator: "/").last ?? ""
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return nil }
        switch name[name.index(after: dot)...].lowercased() {
        case "jpg", "jpeg", "jpe", "jfif": self = .jpeg
        case "png": self = .png
        case let other
        where [
            "webp", "gif", "heic", "heif", "avif", "tif", "tiff", "bmp", "jxl", "svg", "pdf",
        ].contains(other):
            throw ValidationError(
                "wherry image writes JPEG and PNG, not .\(other). Name the result .jpg or .png.")
        default: return nil
        }
    }

    /// The file name with the extension of this format.
    func named(_ name: String) -> String {
        if self == .keep { return name }
        let stem = name.lastIndex(of: ".").map { name[..<$0] } ?? name[...]
        return "\(stem.isEmpty ? name[...] : stem).\(self == .jpeg ? "jpg" : "png")"
    }
}
