// Wherry: the handling of unreadable images in uploads.
// SPDX-License-Identifier: Apache-2.0

/// How to handle an image that is damaged, unsupported, or above a limit.
///
/// A file that cannot be opened fails the upload, unless images are skipped.
public enum UnreadableImages: Int64, Sendable, CaseIterable {
    /// Fails the upload before any byte is sent. The error names every such image. This is the
    /// default. An upload with one request per image sends the other images and fails at its
    /// end.
    case fail = 0
    /// Skips the image. The upload fails if no image is left.
    case skip = 1
    /// Sends the original bytes without resizing or conversion, such as GIF, WebP and HEIC files.
    /// This includes all metadata, such as the location where the image was taken.
    case send = 2

    package init(_ options: OptionTable) {
        self = Self(rawValue: options[.unreadableImages]) ?? .fail
    }
}
