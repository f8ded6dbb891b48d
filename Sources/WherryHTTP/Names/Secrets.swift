// Wherry: redaction of secrets in logs.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// Decides which names have secret values, and redacts them in text (L8, SEC-S1). Pure.
///
/// A name belongs to a header, a pair of a query or form, or a JSON member. Case, `-`, `_`, `.` and
/// brackets are ignored: `X-Api-Key`, `api_key` and `user[apiKey]` match each other.
package struct Secrets: Sendable {
    /// The replacement of a secret.
    package static let mask = "***"

    /// The names set by the program, normalized.
    private let own: Set<[UInt8]>

    package init(_ names: some Sequence<String> = []) {
        own = Set(names.map { Self.plain($0) })
    }

    // MARK: Names

    /// Names that contain one of these are secret.
    private static let pieces: [[UInt8]] = [
        "token", "secret", "passw", "passphrase", "pwd", "apikey", "accesskey", "privatekey",
        "clientkey", "credential", "signature", "hmac", "session", "cookie", "authorization",
        "bearer",
    ].map { Array($0.utf8) }

    /// Names that are secret only as a whole: parts of other names may have other meanings.
    private static let words: Set<[UInt8]> = Set(
        ["auth", "xauth", "key", "sig", "pass", "pin", "otp", "sid", "jwt", "proxyauth"]
            .map { Array($0.utf8) })

    /// Returns the letters and digits of a name, percent-decoded.
    private static func plain(_ name: some StringProtocol) -> [UInt8] {
        let bytes = PercentCoding.decode(Array(name.utf8)) ?? Array(name.utf8)
        return bytes.compactMap { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: byte.asciiLowercased
            case 0x80...: byte
            default: nil
            }
        }
    }

    /// Returns whether the value of a name is secret.
    package func contains(_ name: some StringProtocol) -> Bool {
        let plain = Self.plain(name)
        return own.contains(plain) || Self.words.contains(plain)
            || Self.pieces.contains { Self.stands($0, in: plain) }
    }

    private static func stands(_ piece: [UInt8], in name: [UInt8]) -> Bool {
        guard name.count >= piece.count else { return false }
        return (0...(name.count - piece.count)).contains { name[$0...].starts(with: piece) }
    }

    // MARK: Values

    /// Returns a header value with its secrets redacted.
    package func field(_ name: String, _ value: String) -> String {
        contains(name) ? Self.mask : text(value)
    }

    /// Returns a value with its secrets redacted at every depth.
    package func json(_ value: JSON) -> JSON {
        switch value {
        case .object(let object):
            var shown = JSONObject()
            for member in object {
                shown[member.name] =
                    contains(member.name) ? .string(Self.mask) : json(member.value)
            }
            return .object(shown)
        case .array(let elements): return .array(elements.map { json($0) })
        case .string(let string): return .string(text(string))
        default: return value
        }
    }

    /// Redacts a text that may contain URLs, queries and `name=value` pairs: removes user
    /// information and the values of secret names.
    package func text(_ text: String) -> String {
        let bytes = Array(text.utf8)
        guard bytes.contains(UInt8(ascii: "=")) || bytes.contains(UInt8(ascii: "@")) else {
            return text
        }
        var shown: [UInt8] = []
        shown.reserveCapacity(bytes.count)
        var index = 0
        /// The possible start of the name before an "=".
        var name = 0
        while index < bytes.count {
            let byte = bytes[index]
            if byte == UInt8(ascii: "/"), index + 1 < bytes.count, bytes[index + 1] == byte,
                let at = Self.endOfUser(bytes, from: index + 2)
            {
                shown += [byte, byte] + Array(Self.mask.utf8)
                index = at
                name = at
                continue
            }
            shown.append(byte)
            index += 1
            if byte == UInt8(ascii: "="), index - 1 > name,
                contains(String(decoding: bytes[name..<(index - 1)], as: UTF8.self))
            {
                shown += Array(Self.mask.utf8)
                index = Self.endOfValue(bytes, from: index)
                name = index
            } else if !Self.isOfName(byte) {
                name = index
            }
        }
        return String(decoding: shown, as: UTF8.self)
    }

    /// Returns the index of the last "@" of an authority, if any.
    private static func endOfUser(_ bytes: [UInt8], from start: Int) -> Int? {
        var found: Int?
        for index in start..<bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"), 0...0x20,
                UInt8(ascii: "\""), UInt8(ascii: "<"), UInt8(ascii: ">"):
                return found
            case UInt8(ascii: "@"): found = index
            default: break
            }
        }
        return found
    }

    private static func endOfValue(_ bytes: [UInt8], from start: Int) -> Int {
        guard start < bytes.count else { return start }
        let quote = UInt8(ascii: "\"")
        if bytes[start] == quote {
            let end = bytes[(start + 1)...].firstIndex(of: quote)
            return end.map { $0 + 1 } ?? bytes.count
        }
        return bytes[start...].firstIndex { byte in
            switch byte {
            case 0...0x20, UInt8(ascii: "&"), UInt8(ascii: ";"), UInt8(ascii: ","), quote,
                UInt8(ascii: "'"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "#"),
                UInt8(ascii: ")"):
                true
            default: false
            }
        } ?? bytes.count
    }

    private static func isOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x80..., UInt8(ascii: "_"), UInt8(ascii: "-"),
            UInt8(ascii: "."), UInt8(ascii: "%"), UInt8(ascii: "["), UInt8(ascii: "]"),
            UInt8(ascii: "+"):
            true
        default: false
        }
    }
}
