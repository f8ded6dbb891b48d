// Wherry: errors of image processing.
// SPDX-License-Identifier: Apache-2.0

/// The error of an image that cannot be read or encoded.
package struct ImagingError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The cause of the error.
    package enum Kind: Hashable, Sendable {
        /// Invalid options or raw pixels.
        case argument
        /// The bytes are not an image, or the image is damaged or unsupported.
        case image
        /// A limit on pixels, memory, scans or time was exceeded.
        case limit
        /// The file could not be read.
        case file
        /// Out of memory.
        case memory
    }

    package let kind: Kind
    /// A stable word: `bad_image`, `truncated`, `unsupported_image`, `animated`, `too_large`,
    /// `memory_limit`, `no_memory`, `too_many_scans`, `deadline`, `unreadable`,
    /// `unsupported_option`, `bad_parameters`, `does_not_fit`, `taken_back`.
    package let reason: String
    /// A sentence for people. It names no file, since the caller knows the image.
    package let message: String
    /// The errno for `unreadable`, else 0.
    package let systemCode: Int32

    init(_ kind: Kind, _ reason: String, _ message: String, systemCode: Int32 = 0) {
        self.kind = kind
        self.reason = reason
        self.message = message
        self.systemCode = systemCode
    }

    package var description: String { "\(reason): \(message)" }

    /// The same error with words before its message.
    func prefixed(_ words: String) -> Self {
        Self(kind, reason, words + message, systemCode: systemCode)
    }

    static func badImage(_ message: String) -> Self { Self(.image, "bad_image", message) }
    static func truncated(_ message: String) -> Self { Self(.image, "truncated", message) }
    static func badParameters(_ message: String) -> Self {
        Self(.argument, "bad_parameters", message)
    }
    static func unsupportedOption(_ message: String) -> Self {
        Self(.argument, "unsupported_option", message)
    }
    static var noMemory: Self { Self(.memory, "no_memory", "The system is out of memory.") }
    static func memoryLimit(needed: Int, allowed: Int) -> Self {
        Self(
            .limit, "memory_limit",
            "The image needs \(needed) bytes of memory, but its limit is \(allowed). Raise the limit."
        )
    }
}
