// Wherry: a token stored between runs
// SPDX-License-Identifier: Apache-2.0

import Foundation

struct TokenFile: Sendable {
    var path: String

    /// The token of an earlier run.
    var token: String? {
        guard let data = FileManager.default.contents(atPath: path) else { return nil }
        let text = String(decoding: data, as: UTF8.self)
            .trimmingCharacters(in: .whitespacesAndNewlines)
        return text.isEmpty ? nil : text
    }

    /// Only the user can read it.
    func keep(_ token: String) throws {
        let isWritten = FileManager.default.createFile(
            atPath: path, contents: Data(token.utf8), attributes: [.posixPermissions: 0o600])
        if !isWritten { throw CocoaError(.fileWriteUnknown) }
    }
}
