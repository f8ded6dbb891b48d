// Wherry: sentences of errors that advise the caller to set an option.
// SPDX-License-Identifier: Apache-2.0

/// The last sentence of an error that a changed option would prevent.
///
/// The text names the option as C, Python, and Swift spell it. A front end with other names
/// replaces the text with ``replaced(in:by:)``. Errors name options only by this type, so that no
/// front end prints a name that it does not have.
package enum OptionAdvice: CaseIterable, Sendable {
    case makeDirectories
    case overwrite
    case maxRedirects
    case keepAuthAcrossHosts
    case codedBody
    case keyFile
    case httpsOnly
    case keepAlive

    /// The sentence for programs.
    package var text: String {
        switch self {
        case .makeDirectories: "Create it, or set make_directories (Swift: makesDirectories)."
        case .overwrite:
            "Use another path, or allow the download to overwrite the file or to rename the new one."
        case .maxRedirects: "Check the URL, or raise the redirect limit."
        case .keepAuthAcrossHosts:
            "Set keep_auth_across_hosts (Swift: keepsAuthAcrossHosts) to allow it."
        case .codedBody: "Leave the field out, or set coded_body (Swift: codedBody)."
        case .keyFile: "Set the file of the key."
        case .httpsOnly: "Use an https URL, or turn https_only (Swift: trust.isHTTPSOnly) off."
        case .keepAlive:
            "Leave it out, or turn keep_alive (Swift: keepsAlive) off to close each connection."
        }
    }

    /// Returns the message with each sentence of advice replaced.
    ///
    /// - Parameter own: Returns the sentence of the front end.
    package static func replaced(in message: String, by own: (OptionAdvice) -> String) -> String {
        allCases.reduce(message) { message, advice in
            let (bytes, text) = (Array(message.utf8), Array(advice.text.utf8))
            guard bytes.count >= text.count else { return message }
            for start in stride(from: bytes.count - text.count, through: 0, by: -1)
            where bytes[start..<start + text.count].elementsEqual(text) {
                let rest = bytes[(start + text.count)...]
                return String(
                    decoding: bytes[..<start] + Array(own(advice).utf8) + rest, as: UTF8.self)
            }
            return message
        }
    }
}
