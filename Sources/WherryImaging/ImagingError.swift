// Wherry: why a picture could not be read or encoded.
// SPDX-License-Identifier: Apache-2.0

/// A picture that cannot be read or encoded, and why.
package struct ImagingError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Which part of the call is to blame.
    package enum Kind: Hashable, Sendable {
        /// The options or raw pixels make no sense.
        case argument
        /// The bytes are no picture, or a damaged or unsupported one.
        case image
        /// A limit on pixels, memory, scans or time.
        case limit
        /// The file could not be read.
        case file
        /// The system has no memory left.
        case memory
    }

    package let kind: Kind
    /// A stable word: `bad_image`, `truncated`, `unsupported_image`, `animated`, `too_large`,
    /// `memory_limit`, `no_memory`, `too_many_scans`, `deadline`, `unreadable`,
    /// `unsupported_option`, `bad_parameters`, `does_not_fit`, `taken_back`.
    package let reason: String
    /// A sentence for people. It names no file: the caller knows which picture it asked about.
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

    static func badImage(_ message: String) -> Self { Self(.image, "bad_image", message) }
    static func truncated(_ message: String) -> Self { Self(.image, "truncated", message) }
    static func badParameters(_ message: String) -> Self {
        Self(.argument, "bad_parameters", message)
    }
    static func unsupportedOption(_ message: String) -> Self {
        Self(.argument, "unsupported_option", message)
    }
    static var noMemory: Self { Self(.memory, "no_memory", "The system has no memory left.") }
    static func memoryLimit(needed: Int, allowed: Int) -> Self {
        Self(
            .limit, "memory_limit",
            "The picture would need \(needed) bytes of memory; \(allowed) are allowed.")
    }
}
