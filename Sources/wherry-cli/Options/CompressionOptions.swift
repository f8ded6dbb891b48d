// Wherry: the options about how pictures are made smaller.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WherryImaging

struct CompressionOptions: ParsableArguments, Sendable {
    @Option(
        help: ArgumentHelp(
            "Quality of JPEGs, 0 to 1; 1 takes what is there. (default: 1)", valueName: "ratio"))
    var quality: Double?

    @Option(help: ArgumentHelp("The largest width.", valueName: "pixels"))
    var maxWidth: Int?

    @Option(help: ArgumentHelp("The largest height.", valueName: "pixels"))
    var maxHeight: Int?

    @Option(help: ArgumentHelp("The largest picture.", valueName: "bytes"))
    var maxBytes: Int?

    @Option(
        name: .customLong("format"),
        help: ArgumentHelp("The format of the result. (default: keep)", valueName: "format"))
    var givenFormat: PictureFormat?

    /// The format that was asked for.
    var format: PictureFormat { givenFormat ?? .keep }

    @Option(
        help: ArgumentHelp(
            "The colour under what is transparent in a PNG that becomes JPEG. (default: ffffff)",
            valueName: "rrggbb"))
    var background: String?

    @Option(
        help: ArgumentHelp(
            "What is kept beside the pixels.",
            discussion: "icc: the colour profile; no-gps: all but places.", valueName: "kind"))
    var metadata = MetadataKind.icc

    @Flag(help: "Leave the pixels as they lie, with their EXIF orientation; else they are turned upright.")
    var keepOrientation = false

    @Flag(help: "Take ours also where the original is smaller.")
    var allowLarger = false

    @Flag(help: "Squeeze harder: Huffman tables for each JPEG, every filter of PNG.")
    var best = false

    @Flag(help: "Make JPEGs progressive.")
    var progressive = false

    @Option(
        help: ArgumentHelp(
            "How much coarser a JPEG's colours are than its brightness.",
            discussion: "auto: 420 below quality 0.9, else 444; never finer than it came.",
            valueName: "kind"))
    var subsampling = SubsamplingKind.auto

    @Option(
        help: ArgumentHelp(
            "What to do with an animated PNG that has to be converted: refuse it, or take its first image.",
            valueName: "mode"))
    var animated = AnimatedKind.refuse

    @Option(
        help: ArgumentHelp(
            "Refuse pictures of more, before any is decoded. (default: 100000000)", valueName: "pixels"))
    var maxPixels: Int?

    @Option(
        help: ArgumentHelp(
            "Memory for a picture that has to be held as a whole. (default: 268435456)",
            valueName: "bytes"))
    var maxMemory: Int?

    @Option(
        help: ArgumentHelp(
            "The longest time for one picture; 0 is none. (default: 30)", valueName: "seconds"))
    var deadline: Seconds?

    mutating func validate() throws {
        if let quality, !(0...1).contains(quality) {
            throw ValidationError("--quality takes 0 to 1, not \(quality).")
        }
        for (option, value) in [
            ("max-width", maxWidth), ("max-height", maxHeight), ("max-bytes", maxBytes),
            ("max-pixels", maxPixels), ("max-memory", maxMemory),
        ] {
            if let value, value < 1 {
                throw ValidationError("--\(option) takes 1 and more, not \(value).")
            }
        }
        _ = try color()
    }

    /// - Parameter format: in place of the one that the options name.
    func settings(_ format: PictureFormat? = nil) throws -> WherryImaging.Compression {
        var settings = WherryImaging.Compression(quality: quality ?? 1)
        settings.maxWidth = maxWidth
        settings.maxHeight = maxHeight
        settings.maxBytes = maxBytes
        settings.format = (format ?? self.format).imageFormat
        if let color = try color() { settings.background = color }
        settings.metadata = metadata.kept
        settings.orientation = keepOrientation ? .keep : .apply
        settings.neverLarger = !allowLarger
        if best {
            settings.optimize = true
            settings.pngEffort = .best
        }
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
        guard digits.count == 6, digits.allSatisfy(\.isHexDigit), let value = UInt32(digits, radix: 16)
        else {
            throw ValidationError("--background takes six digits as in ff8800, not \(background).")
        }
        return value
    }
}

/// What is kept beside the pixels.
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

/// What to do with an animated PNG.
enum AnimatedKind: String, ExpressibleByArgument, CaseIterable {
    case refuse, first
}

/// How colours are subsampled.
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

/// What pictures become.
enum PictureFormat: String, ExpressibleByArgument, CaseIterable {
    case keep, jpeg, png

    var imageFormat: ImageFormat {
        switch self {
        case .keep: .keep
        case .jpeg: .jpeg
        case .png: .png
        }
    }

    /// The format that the extension of a file's name stands for; `nil` for none and for other files.
    ///
    /// - Throws: `ValidationError` for the extension of a picture that cannot be written.
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

    /// The file's name with the ending of what it becomes.
    func named(_ name: String) -> String {
        if self == .keep { return name }
        let stem = name.lastIndex(of: ".").map { name[..<$0] } ?? name[...]
        return "\(stem.isEmpty ? name[...] : stem).\(self == .jpeg ? "jpg" : "png")"
    }
}
