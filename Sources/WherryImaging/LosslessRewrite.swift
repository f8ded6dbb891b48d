// Wherry: removing and changing metadata without changing the image.
// SPDX-License-Identifier: Apache-2.0

/// The parts of an encoded image that remain after filtering its metadata.
struct LosslessRewrite {
    private(set) var pieces: [ImageInput.Piece] = []
    /// Whether the pieces are the unchanged source file.
    var isUntouched: Bool { pieces == [.range(0..<inputCount)] }
    var count: Int { pieces.reduce(0) { $0 + $1.count } }
    private let inputCount: Int

    init(_ image: OpenImage, _ rules: MetadataRules) throws(ImagingError) {
        inputCount = image.input.count
        switch image.layout {
        case .jpeg(let layout): try rewrite(layout, image.input, rules)
        case .png(let layout): try rewrite(layout, image.input, rules)
        case .library:
            throw ImagingError(
                .image, "unsupported_image",
                "Metadata can be changed in JPEG and PNG images only. Convert the image to one of them."
            )
        }
    }

    // MARK: JPEG

    private mutating func rewrite(
        _ layout: JPEGLayout, _ input: ImageInput, _ rules: MetadataRules
    ) throws(ImagingError) {
        guard let end = layout.end else { throw ImageInput.ended }
        keep(0..<2)
        let filter = try JPEGMetadataFilter(layout, input, rules)
        var newEXIF = filter.newEXIF
        var last = 2
        for segment in layout.segments {
            // Bytes between segments may be anything.
            if rules.keepsUnread { keep(last..<segment.range.lowerBound) }
            last = segment.range.upperBound
            // EXIF comes first, or after JFIF, which must also be first.
            if segment.kind != .jfif, let made = newEXIF {
                pieces.append(.bytes(made))
                newEXIF = nil
            }
            switch try filter.verdict(on: segment) {
            case .keep: keep(segment.range)
            case .drop: break
            case .replace(let bytes): pieces.append(.bytes(bytes))
            }
        }
        // Additional images, videos and their locations may follow the end.
        if rules.keepsUnread { keep(last..<input.count) } else { keep(end - 2..<end) }
    }

    // MARK: PNG

    private mutating func rewrite(
        _ layout: PNGLayout, _ input: ImageInput, _ rules: MetadataRules
    ) throws(ImagingError) {
        guard let end = layout.end, layout.hasImage else { throw ImageInput.ended }
        keep(0..<8)
        let exif = try layout.exif(input)
        let wanted = try rules.exif(exif, for: .png)?.bytes
        var pending = wanted == exif?.bytes ? nil : wanted
        let xmp = try layout.xmpChunk(input)
        for chunk in layout.chunks {
            if chunk.type == "IDAT", let bytes = pending {
                pieces.append(.bytes(PNGLayout.chunk("eXIf", bytes)))
                pending = nil
            }
            if chunk.type == "eXIf" {
                // Only one is allowed. A second one was not inspected and may contain locations.
                let isLookedAt =
                    chunk.range == layout.first("eXIf")?.range
                    || rules.kept == .all && rules.edits.isEmpty
                let isUnread = exif == nil && wanted == nil && rules.kept == .all
                if wanted == exif?.bytes, isLookedAt, exif != nil || isUnread && rules.edits.isEmpty
                {
                    keep(chunk.range)
                }
                continue
            }
            switch try Self.verdict(on: chunk, xmp, input, rules) {
            case .keep: keep(chunk.range)
            case .drop: break
            case .replace(let bytes): pieces.append(.bytes(bytes))
            }
        }
        if rules.keepsUnread { keep(end..<input.count) }
    }

    /// Returns the chunks besides image data, profile and EXIF to copy into a re-encoded PNG.
    static func chunksForRecoding(
        _ layout: PNGLayout, _ input: ImageInput, _ rules: MetadataRules
    ) throws(ImagingError) -> [UInt8] {
        // Chunks about palette, bit depth and frames describe the stored pixels, which change.
        let gone = [
            "IHDR", "PLTE", "IDAT", "IEND", "tRNS", "acTL", "fcTL", "fdAT", "sBIT", "bKGD", "hIST",
            "sPLT", "iCCP", "eXIf",
        ]
        // Unknown critical chunks too: a decoder would have to reject the new file.
        let isAncillary = { (type: String) in type.utf8.first.map { $0 & 0x20 != 0 } ?? false }
        var all: [UInt8] = []
        let xmp = try layout.xmpChunk(input)
        for chunk in layout.chunks
        where isAncillary(chunk.type) && !gone.contains(chunk.type) && chunk.range.count < 1 << 20 {
            switch try verdict(on: chunk, xmp, input, rules) {
            case .keep: all += try input.copy(chunk.range)
            case .drop: break
            case .replace(let bytes): all += bytes
            }
        }
        return all
    }

    /// Decides about a chunk other than EXIF. `xmp` is the first chunk with XMP.
    private static func verdict(
        on chunk: PNGLayout.Chunk, _ xmp: PNGLayout.Chunk?, _ input: ImageInput,
        _ rules: MetadataRules
    ) throws(ImagingError) -> MetadataRules.Verdict {
        guard try keeps(chunk, input, rules.kept) else { return .drop }
        guard ["iTXt", "zTXt", "tEXt", "tIME"].contains(chunk.type) else { return .keep }
        if chunk.type == "tIME" { return rules.edits.removesPNGTime ? .drop : .keep }
        // A keyword has at most 79 bytes, and ends with a zero byte.
        let keyword = try input.copy(chunk.data.prefix(80)).prefix { $0 != 0 }
        if rules.edits.removesText(keyword: String(decoding: keyword, as: UTF8.self)) {
            return .drop
        }
        guard keyword.elementsEqual(XMP.keyword.dropLast()) else { return .keep }
        // One packet is allowed, in an iTXt chunk. Others could contradict it after a change.
        guard chunk.range == xmp?.range else {
            return rules.edits.isEmpty && rules.orientation == nil ? .keep : .drop
        }
        guard let packet = try XMP.text(chunk, input) else {
            return rules.edits.isEmpty ? .keep : .drop
        }
        guard case .replace(let bytes) = rules.xmp(packet) else { return rules.xmp(packet) }
        return .replace(XMP(bytes).chunk)
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
                // Compressed texts and XMP may hold locations. Plain texts stay, except those that
                // programs use for EXIF and its fields.
                let keyword = try input.copy(chunk.data.prefix(80)).prefix { $0 != 0 }
                return chunk.type == "tEXt"
                    && !MetadataEdits.mayHoldLocation(String(decoding: keyword, as: UTF8.self))
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
