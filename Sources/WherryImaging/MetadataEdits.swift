// Wherry: changes of the metadata of an image.
// SPDX-License-Identifier: Apache-2.0

/// An EXIF field that can be set or removed.
package enum MetadataField: UInt8, CaseIterable, Hashable, Sendable {
    case copyright = 1
    case artist
    case description
    case software
    /// The local time of the exposure in ISO 8601, with or without an offset from UTC.
    case takenAt
    case make
    case model
}

/// The changes of metadata that are made after the rest of the metadata was kept or removed.
package struct MetadataEdits: Hashable, Sendable {
    /// The new texts. An empty text removes the field.
    package var texts: [MetadataField: String] = [:]
    /// The number of decimals of degrees to which a kept location is rounded; `nil` keeps it unchanged.
    package var locationDecimals: Int?

    /// More decimals than a millionth of a degree, which is 0.1 m, are not a rounding.
    package static let decimals = 0...6

    package init() {}

    package var isEmpty: Bool { texts.isEmpty && locationDecimals == nil }

    /// Throws `bad_parameters` for a text that a field cannot hold.
    package func validate() throws(ImagingError) {
        for (field, text) in texts { try Self.validate(text, field) }
        if let locationDecimals, !Self.decimals.contains(locationDecimals) {
            throw .badParameters("locationDecimals must be from 0 to 6, not \(locationDecimals).")
        }
    }

    /// Throws `bad_parameters` for a text that the field cannot hold.
    package static func validate(
        _ text: String, _ field: MetadataField
    ) throws(ImagingError) {
        guard !text.utf8.contains(0) else {
            throw .badParameters(
                "The \(field.words) contains a zero byte, which ends a text in EXIF. Remove the byte."
            )
        }
        guard field != .takenAt || text.isEmpty || EXIFTime(iso: text) != nil else {
            throw .badParameters(
                "The time \"\(text.prefix(40))\" is not valid. Write it as 2024-05-01T12:34:56 or "
                    + "2024-05-01T12:34:56+02:00.")
        }
    }

    private func isRemoved(_ field: MetadataField) -> Bool { texts[field] == "" }

    // MARK: EXIF

    /// The tags of the main, thumbnail, and EXIF directories whose entries are removed.
    var removedTags: Set<Int> {
        var tags: Set<Int> = []
        for field in texts.keys { tags.formUnion(field.tags) }
        if isRemoved(.takenAt) { tags.formUnion(MetadataField.otherTimes) }
        return tags
    }

    /// The tags of the GPS directory whose entries are removed: those of the time.
    var removedGPSTags: Set<Int> { isRemoved(.takenAt) ? [7, 29] : [] }

    /// The new texts of the main directory.
    var mainTexts: [(tag: Int, text: String)] {
        MetadataField.allCases.compactMap { field in
            guard field != .takenAt, let text = texts[field], !text.isEmpty else { return nil }
            return (field.tags[0], text)
        }
    }

    /// The new texts of the EXIF directory.
    var detailTexts: [(tag: Int, text: String)] {
        guard let time = texts[.takenAt].flatMap({ EXIFTime(iso: $0) }) else { return [] }
        let tags = MetadataField.takenAt.tags
        return [(tags[0], time.text)] + (time.offset.map { [(tags[1], $0)] } ?? [])
    }

    // MARK: Copies

    /// Whether a property of XMP repeats a field that is edited, or contains a location that should be
    /// rounded.
    func removesProperty(_ namespace: String, _ name: String) -> Bool {
        for (field, text) in texts {
            if field.properties[namespace]?.contains(name) == true { return true }
            if field == .takenAt, text.isEmpty,
                MetadataField.otherTimeProperties[namespace]?.contains(name) == true
            {
                return true
            }
        }
        return locationDecimals != nil && Self.namesPlace(name.lowercased())
    }

    /// The names of the properties of XMP that repeat the edited fields.
    var propertyNames: Set<String> {
        var names: Set<String> = []
        for field in texts.keys { names.formUnion(field.properties.values.joined()) }
        if isRemoved(.takenAt) {
            names.formUnion(MetadataField.otherTimeProperties.values.joined())
        }
        return names
    }

    /// The datasets of IPTC that repeat the edited fields.
    var removedDatasets: Set<UInt8> {
        texts.keys.reduce(into: []) { $0.formUnion($1.datasets) }
    }

    /// Whether a text of a PNG with this keyword can contain a location: ImageMagick stores EXIF, IPTC,
    /// XMP, and single fields of EXIF in texts.
    static func mayHoldLocation(_ keyword: String) -> Bool {
        let lower = keyword.lowercased()
        return lower.hasPrefix("raw profile") || lower == "xml:com.adobe.xmp" || namesPlace(lower)
    }

    /// Whether the name of a field, in lower case, is that of a location.
    private static func namesPlace(_ lower: String) -> Bool {
        ["gps", "latitude", "longitude", "longtitude"].contains { lower.contains($0) }
    }

    /// Whether a text of a PNG repeats a field that is edited.
    func removesText(keyword: String) -> Bool {
        let lower = keyword.lowercased()
        if !isEmpty, lower.hasPrefix("raw profile") { return true }
        if locationDecimals != nil, Self.namesPlace(lower) { return true }
        if isRemoved(.takenAt), lower.hasPrefix("date:") { return true }
        return texts.keys.contains { $0.keywords.contains(lower) }
    }

    /// Whether the time of the last change of a PNG is removed.
    var removesPNGTime: Bool { isRemoved(.takenAt) }
}

extension MetadataField {
    /// The name in messages.
    fileprivate var words: String { self == .takenAt ? "time" : "\(self)" }

    /// The tags of EXIF, beginning with the one that is set. The others repeat it or refine it.
    fileprivate var tags: [Int] {
        switch self {
        case .copyright: [0x8298]
        case .artist: [0x013B, 0x9C9D]  // XPAuthor of Windows
        case .description: [0x010E]
        case .software: [0x0131]
        case .takenAt: [0x9003, 0x9011, 0x9291]  // the offset and the fraction of the second
        case .make: [0x010F]
        case .model: [0x0110]
        }
    }

    /// The times of the digitization and of the last change, with their offsets and fractions. A camera
    /// writes the time of the exposure into all of them.
    fileprivate static let otherTimes = [0x0132, 0x9004, 0x9010, 0x9012, 0x9290, 0x9292]

    private enum Namespace {
        static let dublinCore = "http://purl.org/dc/elements/1.1/"
        static let exif = "http://ns.adobe.com/exif/1.0/"
        static let photoshop = "http://ns.adobe.com/photoshop/1.0/"
        static let tiff = "http://ns.adobe.com/tiff/1.0/"
        static let xmp = "http://ns.adobe.com/xap/1.0/"
    }

    /// The properties of XMP with the same meaning, by namespace.
    fileprivate var properties: [String: Set<String>] {
        switch self {
        case .copyright: [Namespace.dublinCore: ["rights"], Namespace.tiff: ["Copyright"]]
        case .artist: [Namespace.dublinCore: ["creator"], Namespace.tiff: ["Artist"]]
        case .description:
            [Namespace.dublinCore: ["description"], Namespace.tiff: ["ImageDescription"]]
        case .software: [Namespace.xmp: ["CreatorTool"], Namespace.tiff: ["Software"]]
        case .takenAt:
            [Namespace.exif: ["DateTimeOriginal"], Namespace.photoshop: ["DateCreated"]]
        case .make: [Namespace.tiff: ["Make"]]
        case .model: [Namespace.tiff: ["Model"]]
        }
    }

    fileprivate static let otherTimeProperties: [String: Set<String>] = [
        Namespace.exif: ["DateTimeDigitized", "GPSTimeStamp", "GPSDateStamp"],
        Namespace.tiff: ["DateTime"],
        Namespace.xmp: ["CreateDate", "ModifyDate", "MetadataDate"],
    ]

    /// The datasets of record 2 of IPTC with the same meaning.
    fileprivate var datasets: Set<UInt8> {
        switch self {
        case .copyright: [116]
        case .artist: [80]
        case .description: [120]
        case .software: [65, 70]
        case .takenAt: [55, 60, 62, 63]
        case .make, .model: []
        }
    }

    /// The keywords of PNG texts with the same meaning, in lower case.
    fileprivate var keywords: Set<String> {
        switch self {
        case .copyright: ["copyright"]
        case .artist: ["author"]
        case .description: ["description"]
        case .software: ["software"]
        case .takenAt: ["creation time"]
        case .make, .model: ["source"]
        }
    }
}
