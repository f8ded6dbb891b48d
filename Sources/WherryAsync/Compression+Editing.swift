// Wherry: changes of the metadata of images.
// SPDX-License-Identifier: Apache-2.0

import WherryImaging

/// An EXIF field that a ``Compression`` can set or remove.
public enum MetadataField: Sendable, Hashable, CaseIterable {
    case copyright
    /// The photographer.
    case artist
    /// The description of the image.
    case description
    /// The program that wrote the image.
    case software
    /// The local time of the exposure: "2024-05-01T12:34:56", optionally followed by an offset from UTC
    /// such as "+02:00", or "Z".
    case takenAt
    /// The manufacturer of the camera.
    case make
    /// The model of the camera.
    case model

    var field: WherryImaging.MetadataField {
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

extension Compression {
    /// The EXIF fields to set in every result. An empty text removes the field and its copies. Default:
    /// none.
    ///
    /// The texts are set after `metadata` has kept or removed the rest, also in an image that had no
    /// EXIF. They are stored as UTF-8. Copies of the edited fields in XMP, IPTC, and the texts of a PNG
    /// are removed. XMP and IPTC that cannot be parsed are removed completely, and damaged EXIF is
    /// replaced. Other values of EXIF keep their bytes and offsets. MakerNotes and additional images in a
    /// file are not edited. Removing ``MetadataField/takenAt`` removes all times in EXIF.
    ///
    /// A text with a zero byte, or a time that is not in the form of ``MetadataField/takenAt``, fails with
    /// `bad_parameters` when an image is compressed. EXIF that exceeds 65,527 bytes in a JPEG, or 1 MiB in a PNG, fails with
    /// `image_too_large`.
    public var texts: [MetadataField: String] {
        get {
            var texts: [MetadataField: String] = [:]
            for field in MetadataField.allCases { texts[field] = settings.edits.texts[field.field] }
            return texts
        }
        set {
            settings.edits.texts = [:]
            for (field, text) in newValue { settings.edits.texts[field.field] = text }
        }
    }

    /// The number of decimals, 0 to 6, to which a location in degrees is rounded, if
    /// `metadata` is `.all`: 2 is about 1 km. `nil`, the default, keeps it unchanged.
    ///
    /// Also removes altitudes and all locations outside EXIF, such as those in XMP and after the image. A
    /// location that cannot be read is removed. Other values fail with `bad_parameters`.
    public var locationDecimals: Int? {
        get { settings.edits.locationDecimals }
        set { settings.edits.locationDecimals = newValue }
    }
}
