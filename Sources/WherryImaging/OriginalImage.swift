// Wherry: pictures that are sent without being read.
// SPDX-License-Identifier: Apache-2.0

package import WherrySystem

/// The bytes of an encoded picture as the caller has them, whatever they are.
package struct OriginalImage: Sendable {
    package let bytes: Bytes
    /// By the complete signature; `nil` if it is none that is known.
    package let format: ImageFormat?

    /// Reads all bytes of a file. `nil` for raw pixels, which have no encoded form.
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

    /// The format of an encoded picture by its complete signature.
    package static func format(of bytes: Bytes) -> ImageFormat? {
        bytes.withUnsafeBytes { ImageFormat.identify(Array($0.prefix(12))) }
    }
}

extension ImagingError {
    /// Whether the bytes can be sent all the same: the picture, not the call or the system, is at fault.
    package var isOfPicture: Bool { kind == .image || (kind == .limit && reason != "does_not_fit") }
}
