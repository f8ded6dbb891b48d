// Wherry: what happens to the metadata of an image.
// SPDX-License-Identifier: Apache-2.0

/// The rules for the metadata of one result: what is kept, and what is changed afterwards.
struct MetadataRules {
    let kept: Compression.Metadata
    /// The orientation to write to the kept or new metadata; `nil` writes none if the rest of EXIF is
    /// removed.
    let orientation: Int?
    let edits: MetadataEdits

    init(_ compression: Compression, orientation: Int?) {
        kept = compression.metadata
        self.orientation = orientation
        edits = compression.edits
    }

    /// What happens to a part of a file.
    enum Verdict: Equatable {
        case keep
        case drop
        case replace([UInt8])
    }

    /// Whether every part of a file may stay that Wherry does not read, such as additional images, which
    /// can have their own locations.
    var keepsUnread: Bool { kept == .all && edits.locationDecimals == nil }

    /// Whether descriptive parts stay.
    var keepsMost: Bool { kept == .all || kept == .noGPS }

    // MARK: EXIF

    /// The EXIF block of a result.
    struct Block {
        let bytes: [UInt8]
        /// Whether nothing of the original block is in it.
        let isNew: Bool
    }

    /// The maximum size of a block in a JPEG, which stores it in one segment.
    static let longestInJPEG = 65_527
    /// The maximum size of a block in a PNG. Longer ones are not read.
    static let longestInPNG = 1 << 20

    /// Returns the block for a result; `nil` if it has none. Of a block that is too large for the format,
    /// only the orientation stays.
    ///
    /// - Throws: `does_not_fit` if there are edits, and the block with them is too large.
    func exif(_ exif: EXIF?, for format: ImageFormat) throws(ImagingError) -> Block? {
        guard let block = exifOfAnySize(exif) else { return nil }
        let most = format == .png ? Self.longestInPNG : Self.longestInJPEG
        guard block.bytes.count > most else { return block }
        guard !edits.isEmpty else { return new }
        throw ImagingError(
            .limit, "does_not_fit",
            "The EXIF metadata with the new texts have \(block.bytes.count) bytes, but "
                + "\(format == .png ? "a PNG" : "a JPEG") holds at most \(most). Shorten the texts, "
                + "or keep less metadata.")
    }

    private func exifOfAnySize(_ exif: EXIF?) -> Block? {
        let source = kept == .noGPS ? exif?.withoutGPS() : kept == .all ? exif : nil
        if var block = source?.edited(edits) {
            if block.isEmpty, !edits.isEmpty { return new }
            if let orientation { block.setOrientation(orientation) }
            return Block(bytes: block.bytes, isNew: false)
        }
        return new
    }

    /// A block with only the orientation and the new texts; `nil` if there are none.
    private var new: Block? {
        let turned = orientation.flatMap { $0 == 1 ? nil : EXIF.minimal(orientation: $0) }
        guard let block = EXIF(turned ?? EXIF.empty)?.edited(edits), !block.isEmpty else {
            return nil
        }
        return Block(bytes: block.bytes, isNew: true)
    }

    // MARK: XMP

    /// Decides about an XMP packet. Edited fields are removed from it, so that it cannot contradict EXIF,
    /// and a packet that cannot be read is dropped if there are edits.
    func xmp(_ packet: [UInt8]) -> Verdict {
        var bytes = packet
        if !edits.isEmpty {
            guard let rest = XMP.removing(edits.removesProperty, from: packet) else { return .drop }
            bytes = rest
            if edits.locationDecimals != nil, XMP.mentionsGPS(bytes) { return .drop }
        }
        var xmp = XMP(bytes)
        if let orientation, let stored = xmp.orientation, stored != orientation {
            xmp.setOrientation(orientation)
        }
        return xmp.bytes == packet ? .keep : .replace(xmp.bytes)
    }

    /// Whether the parts of an XMP packet that is longer than a segment stay. They are not edited.
    func keepsXMPExtension(_ text: [UInt8]) -> Bool {
        keepsUnread && !edits.propertyNames.contains { XMP.contains(":" + $0, in: text) }
    }
}
