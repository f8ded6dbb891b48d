// Wherry: removing metadata without changing the image.
// SPDX-License-Identifier: Apache-2.0

/// The parts of an encoded image that remain after filtering its metadata.
struct LosslessRewrite {
    private(set) var pieces: [ImageInput.Piece] = []
    /// Whether the pieces are the unchanged source file.
    var isUntouched: Bool { pieces == [.range(0..<inputCount)] }
    var count: Int { pieces.reduce(0) { $0 + $1.count } }
    private let inputCount: Int

    /// - Parameter orientation: The orientation to write to the kept or new EXIF block; `nil`
    ///   writes none if the rest of EXIF is removed.
    init(
        _ image: OpenImage, _ metadata: Compression.Metadata, orientation: Int?
    ) throws(ImagingError) {
        inputCount = image.input.count
        switch image.layout {
        case .jpeg(let layout): try rewrite(layout, image.input, metadata, orientation)
        case .png(let layout): try rewrite(layout, image.input, metadata, orientation)
        case .library:
            throw ImagingError(
                .image, "unsupported_image",
                "Metadata can be removed from JPEG and PNG images only.")
        }
    }

    // MARK: JPEG

    private mutating func rewrite(
        _ layout: JPEGLayout, _ input: ImageInput, _ metadata: Compression.Metadata,
        _ orientation: Int?
    ) throws(ImagingError) {
        guard let end = layout.end else { throw ImageInput.ended }
        keep(0..<2)
        let filter = try JPEGMetadataFilter(layout, input, metadata, orientation)
        var needsOrientation = filter.madeOrientation
        var last = 2
        for segment in layout.segments {
            // Bytes between segments may be anything.
            if metadata == .all { keep(last..<segment.range.lowerBound) }
            last = segment.range.upperBound
            // EXIF comes first, or after JFIF, which must also be first.
            if segment.kind != .jfif, let made = needsOrientation {
                pieces.append(.bytes(made))
                needsOrientation = nil
            }
            switch try filter.verdict(on: segment) {
            case .keep: keep(segment.range)
            case .drop: break
            case .replace(let bytes): pieces.append(.bytes(bytes))
            }
        }
        // Additional images, videos and their locations may follow the end.
        let tail = layout.segments.last?.range.upperBound ?? 2
        keep(tail..<(metadata == .all ? input.count : end))
    }

    // MARK: PNG

    private mutating func rewrite(
        _ layout: PNGLayout, _ input: ImageInput, _ metadata: Compression.Metadata,
        _ orientation: Int?
    ) throws(ImagingError) {
        guard let end = layout.end, layout.hasImage else { throw ImageInput.ended }
        keep(0..<8)
        let exif = try layout.exif(input)
        let wanted = Self.exif(exif, metadata, orientation)
        var pending = wanted == exif?.bytes ? nil : wanted
        for chunk in layout.chunks {
            if chunk.type == "IDAT", let bytes = pending {
                pieces.append(.bytes(PNGLayout.chunk("eXIf", bytes)))
                pending = nil
            }
            if chunk.type == "eXIf" {
                // Only one is allowed. A second one was not inspected and may contain locations.
                let isLookedAt = chunk.range == layout.first("eXIf")?.range || metadata == .all
                if wanted != nil, wanted == exif?.bytes, isLookedAt { keep(chunk.range) }
            } else if try Self.keeps(chunk, input, metadata) {
                if let turned = try Self.turnedXMP(chunk, input, orientation) {
                    pieces.append(.bytes(turned))
                } else {
                    keep(chunk.range)
                }
            }
        }
        if metadata == .all { keep(end..<input.count) }
    }

    /// Returns the filtered EXIF block, with `orientation` if it must be written.
    static func exif(
        _ exif: EXIF?, _ metadata: Compression.Metadata, _ orientation: Int?
    ) -> [UInt8]? {
        if var kept = metadata == .noGPS ? exif?.withoutGPS() : metadata == .all ? exif : nil {
            if let orientation { kept.setOrientation(orientation) }
            return kept.bytes
        }
        guard let orientation, orientation != 1 else { return nil }
        return EXIF.minimal(orientation: orientation)
    }

    /// Returns the chunks besides image data, profile and EXIF to copy into a re-encoded PNG.
    static func chunksForRecoding(
        _ layout: PNGLayout, _ input: ImageInput, _ metadata: Compression.Metadata,
        _ orientation: Int?
    ) throws(ImagingError) -> [UInt8] {
        // Chunks about palette, bit depth and frames describe the stored pixels, which change.
        let gone = [
            "IHDR", "PLTE", "IDAT", "IEND", "tRNS", "acTL", "fcTL", "fdAT", "sBIT", "bKGD", "hIST",
            "sPLT", "iCCP", "eXIf",
        ]
        // Unknown critical chunks too: a decoder would have to reject the new file.
        let isAncillary = { (type: String) in type.utf8.first.map { $0 & 0x20 != 0 } ?? false }
        var all: [UInt8] = []
        for chunk in layout.chunks
        where isAncillary(chunk.type) && !gone.contains(chunk.type) && chunk.range.count < 1 << 20 {
            guard try keeps(chunk, input, metadata) else { continue }
            if let turned = try turnedXMP(chunk, input, orientation) {
                all += turned
            } else {
                all += try input.copy(chunk.range)
            }
        }
        return all
    }

    /// Returns the XMP chunk with a corrected orientation, if it differs from the new image's.
    private static func turnedXMP(
        _ chunk: PNGLayout.Chunk, _ input: ImageInput, _ orientation: Int?
    ) throws(ImagingError) -> [UInt8]? {
        guard let orientation, chunk.type == "iTXt", let text = try XMP.text(chunk, input)
        else { return nil }
        var xmp = XMP(text)
        guard let stored = xmp.orientation, stored != orientation else { return nil }
        xmp.setOrientation(orientation)
        return xmp.chunk
    }

    /// Returns whether to keep a chunk: those that affect rendering stay, except the profile;
    /// descriptive ones are removed.
    private static func keeps(
        _ chunk: PNGLayout.Chunk, _ input: ImageInput, _ metadata: Compression.Metadata
    ) throws(ImagingError) -> Bool {
        switch chunk.type {
        case "IHDR", "PLTE", "IDAT", "IEND", "tRNS", "acTL", "fcTL", "fdAT", "gAMA", "cHRM",
            "sRGB", "sBIT", "cICP", "mDCV", "cLLI", "bKGD", "hIST", "pHYs", "sPLT":
            return true
        case "iCCP": return metadata != .none
        case "iTXt", "zTXt", "tEXt":
            switch metadata {
            case .none, .icc: return false
            case .all: return true
            case .noGPS:
                // XMP may be compressed, and "Raw profile type" texts may contain EXIF: both may
                // hold locations. Plain texts stay.
                let head = try input.copy(chunk.data.prefix(80))
                return chunk.type == "tEXt" && !head.starts(with: "Raw profile".utf8)
            }
        default:
            // An unknown critical chunk is part of the image.
            let isCritical = chunk.type.utf8.first.map { $0 & 0x20 == 0 } ?? false
            return isCritical || metadata == .all || (metadata == .noGPS && chunk.type != "eXIf")
        }
    }

    /// Appends a range, merged with the previous one if adjacent.
    private mutating func keep(_ range: Range<Int>) {
        guard !range.isEmpty else { return }
        if case .range(let last) = pieces.last, last.upperBound == range.lowerBound {
            pieces[pieces.count - 1] = .range(last.lowerBound..<range.upperBound)
        } else {
            pieces.append(.range(range))
        }
    }
}

/// Decides about each segment of a JPEG file.
struct JPEGMetadataFilter {
    enum Verdict {
        case keep
        case drop
        case replace([UInt8])
    }

    /// A new EXIF segment with only the orientation, if the file's own one is removed.
    let madeOrientation: [UInt8]?
    private let layout: JPEGLayout
    private let input: ImageInput
    private let metadata: Compression.Metadata
    private let orientation: Int?
    private let keepsXMP: Bool

    init(
        _ layout: JPEGLayout, _ input: ImageInput, _ metadata: Compression.Metadata,
        _ orientation: Int?
    ) throws(ImagingError) {
        self.layout = layout
        self.input = input
        self.metadata = metadata
        self.orientation = orientation
        let exif = try layout.exif(input)
        let kept = metadata == .noGPS ? exif?.withoutGPS() : metadata == .all ? exif : nil
        if let orientation, orientation != 1, kept == nil {
            madeOrientation = Self.exifSegment(EXIF.minimal(orientation: orientation))
        } else {
            madeOrientation = nil
        }
        var speaksOfPlaces = false
        if metadata == .noGPS {
            for segment in layout.segments where segment.kind == .xmp {
                let text = String(decoding: try layout.payload(segment, input), as: UTF8.self)
                speaksOfPlaces = speaksOfPlaces || text.contains("GPS")
            }
        }
        keepsXMP = metadata == .all || (metadata == .noGPS && !speaksOfPlaces)
    }

    func verdict(on segment: JPEGLayout.Segment) throws(ImagingError) -> Verdict {
        let keepsAll = metadata == .all
        let keepsMost = keepsAll || metadata == .noGPS
        switch segment.kind {
        case .image, .adobe: return .keep
        case .icc: return metadata == .none ? .drop : .keep
        case .xmp:
            guard keepsXMP else { return .drop }
            return try turnedXMP(segment).map { .replace($0) } ?? .keep
        case .xmpExtension, .mpf: return keepsAll ? .keep : .drop
        case .jfxx, .other: return keepsMost ? .keep : .drop
        case .jfif:
            let payload = try layout.payload(segment, input)
            guard !keepsAll, payload.count > 14 else { return .keep }
            // without the thumbnail
            return .replace(Self.segment(0xE0, Array(payload[..<12]) + [0, 0]))
        case .exif:
            guard keepsMost else { return .drop }
            let payload = try layout.payload(segment, input)
            guard let exif = EXIF(Array(payload.dropFirst(6))) else {
                return keepsAll ? .keep : .drop
            }
            guard var kept = keepsAll ? exif : exif.withoutGPS() else { return .drop }
            if let orientation { kept.setOrientation(orientation) }
            return kept.bytes == exif.bytes ? .keep : .replace(Self.exifSegment(kept.bytes))
        }
    }

    /// Returns the XMP segment with a corrected orientation, if it differs from the new image's.
    private func turnedXMP(_ segment: JPEGLayout.Segment) throws(ImagingError) -> [UInt8]? {
        let name = UnsafeBufferPointer(
            start: JPEGLayout.xmpName.utf8Start, count: JPEGLayout.xmpName.utf8CodeUnitCount)
        var xmp = XMP(Array(try layout.payload(segment, input).dropFirst(name.count)))
        guard let orientation, let stored = xmp.orientation, stored != orientation else {
            return nil
        }
        xmp.setOrientation(orientation)
        return Self.segment(0xE1, Array(name) + xmp.bytes)
    }

    /// Returns the segments for a re-encoded JPEG: without JFIF and Adobe, which the encoder
    /// writes, and without a profile that no longer fits.
    func segmentsForRecoding(keepsProfile: Bool) throws(ImagingError) -> [UInt8] {
        var all = madeOrientation ?? []
        for segment in layout.segments {
            switch segment.kind {
            case .image, .jfif, .jfxx, .adobe, .mpf: continue
            case .icc where !keepsProfile: continue
            default: break
            }
            switch try verdict(on: segment) {
            case .keep:
                all += Self.segment(segment.code, try layout.payload(segment, input))
            case .replace(let bytes): all += bytes
            case .drop: break
            }
        }
        return all
    }

    static func exifSegment(_ tiff: [UInt8]) -> [UInt8] {
        segment(0xE1, Array("Exif\0\0".utf8) + tiff)
    }

    /// Splits an ICC profile into segments; returns none if it needs more than 255.
    static func profileSegments(_ profile: [UInt8]) -> [UInt8] {
        let most = 65_519
        let total = (profile.count + most - 1) / most
        guard total <= 255 else { return [] }
        var all: [UInt8] = []
        for number in 0..<total {
            let part = profile[number * most..<min(profile.count, (number + 1) * most)]
            let head = Array("ICC_PROFILE\0".utf8) + [UInt8(number + 1), UInt8(total)]
            all += segment(0xE2, head + part)
        }
        return all
    }

    /// Returns a complete segment; empty if the payload exceeds 65,533 bytes.
    static func segment(_ code: UInt8, _ payload: [UInt8]) -> [UInt8] {
        let length = payload.count + 2
        guard length <= 0xFFFF else { return [] }
        return [0xFF, code, UInt8(length >> 8), UInt8(length & 0xFF)] + payload
    }
}
