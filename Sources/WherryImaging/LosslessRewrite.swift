// Wherry: metadata out of a file without touching its picture.
// SPDX-License-Identifier: Apache-2.0

/// What is left of an encoded picture when its metadata is filtered.
struct LosslessRewrite {
    private(set) var pieces: [ImageInput.Piece] = []
    /// Whether the pieces are the whole file as it came.
    var isUntouched: Bool { pieces == [.range(0..<inputCount)] }
    var count: Int { pieces.reduce(0) { $0 + $1.count } }
    private let inputCount: Int

    /// - Parameter orientation: what the kept or made EXIF block shall say; `nil` leaves it out
    ///   where the rest of EXIF goes.
    init(
        _ image: OpenImage, _ metadata: Compression.Metadata, orientation: Int?
    ) throws(ImagingError) {
        inputCount = image.input.count
        switch image.layout {
        case .jpeg(let layout): try rewrite(layout, image.input, metadata, orientation)
        case .png(let layout): try rewrite(layout, image.input, metadata, orientation)
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
            // EXIF stands first, or behind JFIF, which wants to be first too.
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
        // Behind the end stand second pictures, films and their places.
        let tail = layout.segments.last?.range.upperBound ?? 2
        keep(tail..<(metadata == .all ? input.count : end))
    }

    // MARK: PNG

    private mutating func rewrite(
        _ layout: PNGLayout, _ input: ImageInput, _ metadata: Compression.Metadata,
        _ orientation: Int?
    ) throws(ImagingError) {
        guard let end = layout.end, layout.hasPicture else { throw ImageInput.ended }
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
                // There may be one only; a second one was not looked at, and may tell places.
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

    /// The EXIF block that goes out, filtered and with `orientation` where one is to be said.
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

    /// The chunks beside picture, profile and EXIF that a PNG encoded anew takes over.
    static func chunksForRecoding(
        _ layout: PNGLayout, _ input: ImageInput, _ metadata: Compression.Metadata,
        _ orientation: Int?
    ) throws(ImagingError) -> [UInt8] {
        // Those about palettes, bits and frames spoke of the pixels as they were stored.
        let gone = [
            "IHDR", "PLTE", "IDAT", "IEND", "tRNS", "acTL", "fcTL", "fdAT", "sBIT", "bKGD", "hIST",
            "sPLT", "iCCP", "eXIf",
        ]
        // So did critical ones that nobody here knows: a reader would have to refuse the new file.
        let isAncillary = { (type: String) in type.utf8.first.map { $0 & 0x20 != 0 } ?? false }
        var all: [UInt8] = []
        for chunk in layout.chunks where isAncillary(chunk.type) && !gone.contains(chunk.type) && chunk.range.count < 1 << 20 {
            guard try keeps(chunk, input, metadata) else { continue }
            if let turned = try turnedXMP(chunk, input, orientation) {
                all += turned
            } else {
                all += try input.copy(chunk.range)
            }
        }
        return all
    }

    /// The chunk of an XMP packet that says another orientation than the picture will have.
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

    /// What changes how the pixels look stays, but for the profile; what tells about them goes.
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
                // XMP may be deflated, and Exif hides in "Raw profile type" texts: both may tell
                // places. Plain texts stay.
                let head = try input.copy(chunk.data.prefix(80))
                return chunk.type == "tEXt" && !head.starts(with: "Raw profile".utf8)
            }
        default:
            // An unknown critical chunk belongs to the picture.
            let isCritical = chunk.type.utf8.first.map { $0 & 0x20 == 0 } ?? false
            return isCritical || metadata == .all || (metadata == .noGPS && chunk.type != "eXIf")
        }
    }

    /// Appends a range, joined to the one before where it follows it.
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

    /// An EXIF segment that only says the orientation, where the file's own one goes.
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
        case .picture, .adobe: return .keep
        case .icc: return metadata == .none ? .drop : .keep
        case .xmp:
            guard keepsXMP else { return .drop }
            return try turnedXMP(segment).map { .replace($0) } ?? .keep
        case .xmpExtension, .mpf: return keepsAll ? .keep : .drop
        case .jfxx, .other: return keepsMost ? .keep : .drop
        case .jfif:
            let payload = try layout.payload(segment, input)
            guard !keepsAll, payload.count > 14 else { return .keep }
            return .replace(Self.segment(0xE0, Array(payload[..<12]) + [0, 0]))  // no thumbnail
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

    /// The segment of an XMP packet that says another orientation than the picture will have.
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

    /// The segments to write into a JPEG encoded anew: without JFIF and Adobe, which the encoder
    /// writes itself, and without a profile that no longer fits.
    func segmentsForRecoding(keepsProfile: Bool) throws(ImagingError) -> [UInt8] {
        var all = madeOrientation ?? []
        for segment in layout.segments {
            switch segment.kind {
            case .picture, .jfif, .jfxx, .adobe, .mpf: continue
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

    /// An ICC profile in as many segments as it needs; none if it is too long for 255.
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

    /// A complete segment; payloads beyond 65,533 bytes do not fit and give none.
    static func segment(_ code: UInt8, _ payload: [UInt8]) -> [UInt8] {
        let length = payload.count + 2
        guard length <= 0xFFFF else { return [] }
        return [0xFF, code, UInt8(length >> 8), UInt8(length & 0xFF)] + payload
    }
}
