// Wherry: how a server asks who is there.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// One challenge of a `WWW-Authenticate` field (RFC 9110, section 11.6.1).
package struct AuthChallenge: Sendable, Hashable {
    /// In lower case: "basic".
    package var scheme: String
    /// By their names in lower case; of a name that comes twice the first one.
    package var parameters: [String: String] = [:]

    /// What the server calls the place that is guarded; "" where it says nothing.
    package var realm: String { parameters["realm"] ?? "" }

    /// So many are looked at; no server sends more.
    private static let limit = 32

    /// All challenges of an answer in their order. What cannot be read is passed over.
    package static func all(_ head: ResponseHead) -> [AuthChallenge] {
        var found: [AuthChallenge] = []
        for value in head.values("www-authenticate") { read(value, into: &found) }
        return found
    }

    package static func read(_ value: String, into found: inout [AuthChallenge]) {
        var scanner = FieldScanner(value.utf8)
        // A parameter belongs to the challenge before it in the same field.
        var hasScheme = false
        while !scanner.isAtEnd, found.count <= limit {
            scanner.skipSpace()
            if scanner.skip(0x2C) { continue }
            guard let word = scanner.token() else {
                // No grammar has this here: on behind the next comma.
                _ = scanner.prefix { $0 != 0x2C }
                hasScheme = false
                continue
            }
            scanner.skipSpace()
            if hasScheme, scanner.skip(0x3D) {
                scanner.skipSpace()
                guard let text = scanner.tokenOrQuoted() else {
                    _ = scanner.prefix { $0 != 0x2C }
                    continue
                }
                let name = word.asciiLowercased
                let last = found.count - 1
                if found[last].parameters[name] == nil { found[last].parameters[name] = text }
            } else {
                found.append(AuthChallenge(scheme: word.asciiLowercased))
                hasScheme = true
                skipToken68(&scanner)
            }
        }
        if found.count > limit { found.removeLast(found.count - limit) }
    }

    /// Passes over the one word of such schemes as Negotiate, which is no parameter.
    private static func skipToken68(_ scanner: inout FieldScanner) {
        var ahead = scanner
        let word = ahead.prefix { byte in
            FieldRules.isTokenByte(byte) || byte == UInt8(ascii: "/") || byte == 0x3D
        }
        ahead.skipSpace()
        // Equal signs stand at its end alone, or it is the first parameter.
        let end = word.lastIndex { $0 != 0x3D }.map { word.index(after: $0) } ?? word.startIndex
        guard !word.isEmpty, ahead.isAtEnd || ahead.next == 0x2C, !word[..<end].contains(0x3D)
        else { return }
        scanner = ahead
    }
}
