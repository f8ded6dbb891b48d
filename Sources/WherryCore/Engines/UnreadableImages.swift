// Wherry: what an upload does with pictures that cannot be read.
// SPDX-License-Identifier: Apache-2.0

/// What an upload does with a picture that is damaged, unsupported, or above a limit.
///
/// A file that cannot be opened fails the upload, unless pictures are skipped.
public enum UnreadableImages: Int64, Sendable, CaseIterable {
    /// Fails the upload before a byte is sent; the error names every such picture. The default. An
    /// upload with a request for each picture sends the others and fails at its end.
    case fail = 0
    /// Leaves the picture out. The upload fails if no picture is left.
    case skip = 1
    /// Sends the bytes as they are, with all their metadata, such as the place where the picture was taken:
    /// GIF, WebP and HEIC files, for example. Nothing is resized or converted.
    case send = 2

    package init(_ options: OptionTable) {
        self = Self(rawValue: options[.unreadableImages]) ?? .fail
    }
}
