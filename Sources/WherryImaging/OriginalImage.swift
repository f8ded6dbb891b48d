// Wherry: images that are sent without decoding.
// SPDX-License-Identifier: Apache-2.0

package import WherrySystem

/// The unchanged bytes of an encoded image, valid or not.
package struct OriginalImage: Sendable {
    package let bytes: Bytes
    /// The format by the complete signature; `nil` if unknown.
    package let format: ImageFormat?

    /// Reads all bytes of a file. Returns `nil` for raw pixels, which have no encoded form.
    ///
    /// - Throws: `unreadable`, and `memory_limit` for a file above `maxMemory` bytes.
    package init?(_ source: ImageSource, maxMemory: Int) throws(ImagingError) {
        switch source {
        case .pixels: return nil
        case .bytes(let given): bytes = given
        case .file(let path): bytes = try ImageInput(path: path).all(maxMemory: maxMemory)
        }
        format = Self.format(of: bytes)
    }

    /// Detects the format of an encoded image by its complete signature.
    package static func format(of bytes: Bytes) -> ImageFormat? {
        bytes.withUnsafeBytes { ImageFormat.identify(Array($0.prefix(ImageFormat.headCount))) }
    }
}

extension ImagingError {
    /// Whether the image, not the call or the system, caused the error. Its bytes can still be
    /// sent.
    package var isOfImage: Bool { kind == .image || (kind == .limit && reason != "does_not_fit") }
}
