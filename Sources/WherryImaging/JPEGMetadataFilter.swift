// Wherry: the metadata of a JPEG file.
// SPDX-License-Identifier: Apache-2.0

/// Decides about each segment of a JPEG file.
struct JPEGMetadataFilter {
    /// A new EXIF segment, if nothing of the file's own one is kept.
    let newEXIF: [UInt8]?
    private let layout: JPEGLayout
    private let input: ImageInput
    private let rules: MetadataRules
    /// The block that replaces the file's first one; `nil` if that is removed.
    private let keptEXIF: [UInt8]?
    private let keepsXMP: Bool
    /// Whether all segments stay that continue a long XMP packet.
    private let keepsXMPExtensions: Bool

    init(
        _ layout: JPEGLayout, _ input: ImageInput, _ rules: MetadataRules
    ) throws(ImagingError) {
        self.layout = layout
        self.input = input
        self.rules = rules
        let block = try rules.exif(try layout.exif(input), for: .jpeg)
        newEXIF = block.flatMap { $0.isNew ? Self.exifSegment($0.bytes) : nil }
        keptEXIF = block.flatMap { $0.isNew ? nil : $0.bytes }
        var speaksOfPlaces = false
        if rules.kept == .noGPS {
            for segment in layout.segments where segment.kind == .xmp {
                let packet = Self.packet(try layout.payload(segment, input))
                speaksOfPlaces = speaksOfPlaces || XMP.mayMentionGPS(packet)
            }
        }
        keepsXMP = rules.kept == .all || (rules.kept == .noGPS && !speaksOfPlaces)
        keepsXMPExtensions = try Self.keepsXMPExtensions(layout, input, rules)
    }

    /// Returns the XMP packet of a segment.
    private static func packet(_ payload: [UInt8]) -> [UInt8] {
        Array(payload.dropFirst(JPEGLayout.xmpName.utf8CodeUnitCount))
    }

    func verdict(
        on segment: JPEGLayout.Segment
    ) throws(ImagingError) -> MetadataRules.Verdict {
        switch segment.kind {
        case .image, .adobe: return .keep
        case .icc: return rules.kept == .none ? .drop : .keep
        case .xmp: return keepsXMP ? try xmpVerdict(on: segment) : .drop
        case .xmpExtension: return keepsXMPExtensions ? .keep : .drop
        case .mpf: return rules.keepsUnread ? .keep : .drop
        case .jfxx: return rules.keepsMost ? .keep : .drop
        case .other:
            guard rules.keepsMost else { return .drop }
            return try otherVerdict(on: segment)
        case .jfif:
            let payload = try layout.payload(segment, input)
            guard rules.kept != .all, payload.count > 14 else { return .keep }
            // without the thumbnail
            return .replace(Self.segment(0xE0, Array(payload[..<12]) + [0, 0]))
        case .exif: return try exifVerdict(on: segment)
        }
    }

    private func exifVerdict(
        on segment: JPEGLayout.Segment
    ) throws(ImagingError) -> MetadataRules.Verdict {
        guard rules.keepsMost else { return .drop }
        let payload = try layout.payload(segment, input)
        let exif = EXIF(Array(payload.dropFirst(6)))
        if segment.range == layout.segments.first(where: { $0.kind == .exif })?.range, exif != nil {
            guard let keptEXIF else { return .drop }
            return keptEXIF == exif?.bytes ? .keep : .replace(Self.exifSegment(keptEXIF))
        }
        // Programs read only the first block. Another one could contradict it after an edit.
        guard rules.edits.isEmpty else { return .drop }
        guard let exif else { return rules.kept == .all ? .keep : .drop }
        guard let other = try rules.exif(exif, for: .jpeg), !other.isNew else { return .drop }
        return other.bytes == exif.bytes ? .keep : .replace(Self.exifSegment(other.bytes))
    }

    private func xmpVerdict(
        on segment: JPEGLayout.Segment
    ) throws(ImagingError) -> MetadataRules.Verdict {
        let name = UnsafeBufferPointer(
            start: JPEGLayout.xmpName.utf8Start, count: JPEGLayout.xmpName.utf8CodeUnitCount)
        let packet = Self.packet(try layout.payload(segment, input))
        guard case .replace(let bytes) = rules.xmp(packet) else { return rules.xmp(packet) }
        return .replace(Self.segment(0xE1, Array(name) + bytes))
    }

    /// The maximum size of a long XMP packet that is searched for edited fields. Longer ones are removed.
    private static let longestExtension = 16 << 20

    private static func keepsXMPExtensions(
        _ layout: JPEGLayout, _ input: ImageInput, _ rules: MetadataRules
    ) throws(ImagingError) -> Bool {
        guard rules.keepsUnread, !rules.edits.isEmpty else { return rules.keepsUnread }
        let parts = layout.segments.filter { $0.kind == .xmpExtension }
        guard parts.reduce(0, { $0 + $1.range.count }) <= longestExtension else { return false }
        var text: [UInt8] = []
        for segment in parts {
            // The name, a checksum of 32 bytes, the length of the packet, and an offset come first.
            text += try layout.payload(segment, input).dropFirst(35 + 32 + 8)
        }
        return rules.keepsXMPExtension(text)
    }

    private func otherVerdict(
        on segment: JPEGLayout.Segment
    ) throws(ImagingError) -> MetadataRules.Verdict {
        guard segment.code == 0xED, rules.kept == .noGPS || !rules.edits.isEmpty else {
            return .keep
        }
        let payload = try layout.payload(segment, input)
        let name = UnsafeBufferPointer(
            start: PhotoshopResources.name.utf8Start,
            count: PhotoshopResources.name.utf8CodeUnitCount)
        guard payload.starts(with: name) else { return .keep }
        guard
            let rest = PhotoshopResources.removing(rules.edits.removedDatasets, from: payload)
        else { return .drop }
        return rest == payload ? .keep : .replace(Self.segment(0xED, rest))
    }

    /// Returns the segments for a re-encoded JPEG: without JFIF and Adobe, which the encoder
    /// writes, and without a profile that no longer fits.
    func segmentsForRecoding(keepsProfile: Bool) throws(ImagingError) -> [UInt8] {
        var all = newEXIF ?? []
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
