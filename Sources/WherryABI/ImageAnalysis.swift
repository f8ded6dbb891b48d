// Wherry: wherry.h, section 13: photographs, image hashes, and comparisons.
// SPDX-License-Identifier: Apache-2.0

import CWherry
import WherryHTTP
import WherryImaging

@_cdecl("wherry_image_read_photo") @implementation
public func wherry_image_read_photo(
    _ image: OpaquePointer?, _ out_photo: UnsafeMutablePointer<wherry_image_photo>?
) -> wherry_status {
    status { () throws(WherryError) in
        let value = try Handles.change(image, ImageValue.self) { $0 }
        try fill(out_photo) { () throws(WherryError) in
            do throws(ImagingError) {
                return wherry_image_photo(try ImageInfo(inspecting: value.source).photo)
            } catch {
                throw WherryError(error)
            }
        }
    }
}

extension wherry_image_photo {
    fileprivate init(_ photo: PhotoInfo) {
        self.init()
        if let position = photo.position {
            latitude = position.latitude
            longitude = position.longitude
            flags |= WHERRY_PHOTO_HAS_POSITION.rawValue
        }
        if let meters = photo.altitude {
            altitude = meters
            flags |= WHERRY_PHOTO_HAS_ALTITUDE.rawValue
        }
        withUnsafeMutableBytes(of: &taken_at) { Self.write(photo.takenAt, to: $0) }
        withUnsafeMutableBytes(of: &make) { Self.write(photo.make, to: $0) }
        withUnsafeMutableBytes(of: &model) { Self.write(photo.model, to: $0) }
        withUnsafeMutableBytes(of: &copyright) { Self.write(photo.copyright, to: $0) }
        withUnsafeMutableBytes(of: &artist) { Self.write(photo.artist, to: $0) }
        withUnsafeMutableBytes(of: &description) { Self.write(photo.description, to: $0) }
        withUnsafeMutableBytes(of: &software) { Self.write(photo.software, to: $0) }
    }

    /// Writes as many characters of a text as fit before a zero byte.
    private static func write(_ text: String?, to room: UnsafeMutableRawBufferPointer) {
        var end = 0
        for character in (text ?? "").unicodeScalars {
            let bytes = Array(String(character).utf8)
            guard end + bytes.count < room.count else { return }
            UnsafeMutableRawBufferPointer(rebasing: room[end...]).copyBytes(from: bytes)
            end += bytes.count
        }
    }
}

@_cdecl("wherry_compression_set_metadata") @implementation
public func wherry_compression_set_metadata(
    _ compression: OpaquePointer?, _ field: wherry_metadata_field, _ text: UnsafePointer<CChar>?
) -> wherry_status {
    status { () throws(WherryError) in
        let text = try optionalText(text, "text")
        try Handles.change(compression, Compression.self) { compression throws(WherryError) in
            try compression.set(field, text)
        }
    }
}

extension Compression {
    /// Sets the rule for a text of EXIF; `nil` removes the rule.
    fileprivate mutating func set(
        _ field: wherry_metadata_field, _ text: String?
    ) throws(WherryError) {
        guard let known = UInt8(exactly: field.rawValue).flatMap({ MetadataField(rawValue: $0) })
        else {
            throw WherryError(
                .badValue,
                "Unknown metadata field \(field.rawValue). Pass a constant of wherry_metadata_field."
            )
        }
        do throws(ImagingError) {
            if let text { try MetadataEdits.validate(text, known) }
        } catch {
            throw WherryError(error)
        }
        edits.texts[known] = text
    }
}

@_cdecl("wherry_image_hash") @implementation
public func wherry_image_hash(
    _ image: OpaquePointer?, _ kind: wherry_hash_kind, _ compression: OpaquePointer?,
    _ out_hash: UnsafeMutablePointer<UInt64>?
) -> wherry_status {
    status { () throws(WherryError) in
        let out = try required(out_hash)
        out.pointee = 0
        let value = try Handles.change(image, ImageValue.self) { $0 }
        let compression = try compressionValue(compression)
        guard let kind = ImageHash.Kind(rawValue: kind.rawValue) else {
            throw WherryError(
                .badValue,
                "Unknown hash kind \(kind.rawValue). Pass a constant of wherry_hash_kind.")
        }
        do throws(ImagingError) {
            out.pointee = try ImageHash.hashes(of: value.source, [kind], compression)[0].bits
        } catch {
            throw WherryError(error)
        }
    }
}

@_cdecl("wherry_image_compare") @implementation
public func wherry_image_compare(
    _ image: OpaquePointer?, _ other: OpaquePointer?, _ compression: OpaquePointer?,
    _ out_comparison: UnsafeMutablePointer<wherry_image_comparison>?
) -> wherry_status {
    status { () throws(WherryError) in
        let first = try Handles.change(image, ImageValue.self) { $0 }
        let second = try Handles.change(other, ImageValue.self) { $0 }
        let compression = try compressionValue(compression)
        try fill(out_comparison) { () throws(WherryError) in
            do throws(ImagingError) {
                let found = try ImageComparison(first.source, second.source, compression)
                var result = wherry_image_comparison()
                result.ssim = found.ssim
                result.psnr = found.psnr
                return result
            } catch {
                throw WherryError(error)
            }
        }
    }
}
