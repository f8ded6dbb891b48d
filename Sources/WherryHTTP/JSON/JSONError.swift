// Wherry: errors of JSON functions.
// SPDX-License-Identifier: Apache-2.0

/// An error about invalid text, an invalid value, or an invalid path.
package struct JSONError: Error, Hashable, Sendable {
    /// The error reason: `bad_json` for text, `too_large` for text above the size limit,
    /// `bad_parameters` for values and paths.
    package let reason: String
    /// The offset of the invalid byte in the text; `nil` for values and paths.
    package let offset: Int?
    /// A sentence with the problem and its position.
    package let message: String

    static func text(_ problem: String, at offset: Int) -> JSONError {
        JSONError(
            reason: "bad_json", offset: offset,
            message: "The text is not JSON: \(problem) at byte \(offset).")
    }

    static func value(_ sentence: String) -> JSONError {
        JSONError(reason: "bad_parameters", offset: nil, message: sentence)
    }
}

/// The limits for JSON.
package struct JSONLimits: Sendable {
    /// The maximum nesting depth for parsing and printing.
    package static let depth = 512
    /// The stack that parsing leaves free: more than eight levels use in a debug build.
    static let stackReserve = 24 << 10

    /// The maximum size of a text in bytes. Default: 64 MiB.
    package var bytes: Int

    package init(bytes: Int = 64 << 20) { self.bytes = bytes }
}
