// Wherry: the options for changing the metadata of images.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WherryImaging

struct MetadataOptions: ParsableArguments, Sendable {
    @Option(
        help: ArgumentHelp(
            "Set an EXIF field: copyright, artist, description, software, taken-at, make, or model.",
            discussion:
                "Applies after --metadata. taken-at is a local time such as 2024-05-01T12:34:56 or 2024-05-01T12:34:56+02:00. Copies of the field in XMP, IPTC, and PNG texts are removed. Can be repeated.",
            valueName: "name=text"))
    var setMetadata: [MetadataArgument] = []

    @Option(
        help: ArgumentHelp(
            "Remove an EXIF field, with its copies in XMP, IPTC, and PNG texts; taken-at removes all times. Can be repeated.",
            valueName: "name"))
    var removeMetadata: [MetadataFieldName] = []

    @Option(
        help: ArgumentHelp(
            "Round a location that --metadata all keeps to this many decimals of degrees, 0 to 6; 2 is about 1 km.",
            discussion: "Also removes altitudes, and locations outside EXIF.",
            valueName: "count"))
    var locationDecimals: Int?

    mutating func validate() throws {
        if let locationDecimals, !MetadataEdits.decimals.contains(locationDecimals) {
            throw ValidationError("--location-decimals takes 0 to 6, not \(locationDecimals).")
        }
        var known = Set(removeMetadata)
        guard known.count == removeMetadata.count else {
            throw ValidationError("--remove-metadata names a field twice.")
        }
        for argument in setMetadata {
            guard known.insert(argument.name).inserted else {
                throw ValidationError(
                    "\(argument.name.rawValue) is set or removed twice. Leave one of the options out."
                )
            }
            do throws(ImagingError) {
                try MetadataEdits.validate(argument.text, argument.name.field)
            } catch {
                throw ValidationError(error.message)
            }
        }
    }

    var edits: MetadataEdits {
        var edits = MetadataEdits()
        for argument in setMetadata { edits.texts[argument.name.field] = argument.text }
        for name in removeMetadata { edits.texts[name.field] = "" }
        edits.locationDecimals = locationDecimals
        return edits
    }
}

/// The name of a text of EXIF.
enum MetadataFieldName: String, ExpressibleByArgument, CaseIterable {
    case copyright, artist, description, software
    case takenAt = "taken-at"
    case make, model

    var field: MetadataField {
        switch self {
        case .copyright: .copyright
        case .artist: .artist
        case .description: .description
        case .software: .software
        case .takenAt: .takenAt
        case .make: .make
        case .model: .model
        }
    }
}

/// "name=text", with the name of a text of EXIF.
struct MetadataArgument: ExpressibleByArgument, Sendable {
    let name: MetadataFieldName
    let text: String

    init?(argument: String) {
        guard let equals = argument.firstIndex(of: "="),
            let name = MetadataFieldName(rawValue: String(argument[..<equals]))
        else { return nil }
        self.name = name
        text = String(argument[argument.index(after: equals)...])
    }
}
