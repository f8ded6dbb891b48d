// Wherry: why something is no JSON.
// SPDX-License-Identifier: Apache-2.0

/// Text that is no JSON, a value that JSON cannot hold, or a path that leads nowhere.
package struct JSONError: Error, Hashable, Sendable {
    /// The stable word: `bad_json` for text, `too_large` for text over the size limit,
    /// `bad_parameters` for values and paths.
    package let reason: String
    /// The offset of the offending byte in the text; `nil` for values and paths.
    package let offset: Int?
    /// A sentence that says what is wrong and where.
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

/// How much JSON is accepted.
package struct JSONLimits: Sendable {
    /// How deep arrays and objects may be nested, both when reading and when printing.
    package static let depth = 512

    /// How many bytes of text are read at most; 64 MiB by default.
    package var bytes: Int

    package init(bytes: Int = 64 << 20) { self.bytes = bytes }
}
