// Wherry: HTTP authentication challenges.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// A challenge of a `WWW-Authenticate` header (RFC 9110, section 11.6.1).
package struct AuthChallenge: Sendable, Hashable {
    /// The scheme in lower case, such as "basic".
    package var scheme: String
    /// The parameters by lower-case name. If a name is repeated, the first one is kept.
    package var parameters: [String: String] = [:]

    /// The realm. "" if it is missing.
    package var realm: String { parameters["realm"] ?? "" }

    /// The maximum number of challenges to parse. No server sends more.
    private static let limit = 32

    /// Returns the challenges of a response in order. Malformed challenges are ignored.
    package static func all(_ head: ResponseHead) -> [AuthChallenge] {
        var found: [AuthChallenge] = []
        for value in head.values("www-authenticate") { read(value, into: &found) }
        return found
    }

    package static func read(_ value: String, into found: inout [AuthChallenge]) {
        var scanner = FieldScanner(value.utf8)
        // A parameter belongs to the preceding challenge in the same header.
        var hasScheme = false
        while !scanner.isAtEnd, found.count <= limit {
            scanner.skipSpace()
            if scanner.skip(0x2C) { continue }
            guard let word = scanner.token() else {
                // Invalid syntax: continue after the next comma.
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

    /// Skips the token68 of schemes such as Negotiate, which is not a parameter.
    private static func skipToken68(_ scanner: inout FieldScanner) {
        var ahead = scanner
        let word = ahead.prefix { byte in
            FieldRules.isTokenByte(byte) || byte == UInt8(ascii: "/") || byte == 0x3D
        }
        ahead.skipSpace()
        // A token68 has equal signs only at its end. Otherwise the word is the first parameter.
        let end = word.lastIndex { $0 != 0x3D }.map { word.index(after: $0) } ?? word.startIndex
        guard !word.isEmpty, ahead.isAtEnd || ahead.next == 0x2C, !word[..<end].contains(0x3D)
        else { return }
        scanner = ahead
    }
}
