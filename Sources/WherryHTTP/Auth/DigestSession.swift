// Wherry: Digest access authentication (RFC 7616).
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// A Digest nonce with its use count. A value type that can be tested without a server.
///
/// Supports MD5, SHA-256, SHA-512-256, and their `-sess` variants. The quality of protection is
/// `auth`, `auth-int`, or none. If the server offers both, `auth` is used, since `auth-int` must
/// read the complete body before the first byte is sent.
package struct DigestSession: Sendable, Hashable {
    private enum Quality: String {
        /// No quality of protection (RFC 2069).
        case none = ""
        case auth = "auth"
        /// The digest also covers the body.
        case integrity = "auth-int"
    }

    package let realm: String
    package private(set) var nonce: String
    private let opaque: String?
    /// The algorithm as the server wrote it. `nil` if it is missing, which means MD5.
    private let algorithmName: String?
    private let algorithm: DigestAlgorithm
    private let isSession: Bool
    private let quality: Quality
    private let hashesUser: Bool
    /// Whether the server supports RFC 7616 and its `username*`. Older servers read only
    /// `username`.
    private let extendsNames: Bool
    private var clientNonce: String
    private var count: UInt32 = 0

    /// - Parameter clientNonce: Random digits, so that an attacker cannot choose all of the hashed
    ///   input.
    /// - Returns: `nil` for a challenge that is not Digest, incomplete, or unsupported.
    package init?(_ challenge: AuthChallenge, clientNonce: String) {
        guard challenge.scheme == "digest", let nonce = challenge.parameters["nonce"] else {
            return nil
        }
        let parameters = challenge.parameters
        algorithmName = parameters["algorithm"]
        switch (algorithmName ?? "MD5").asciiLowercased {
        case "md5": (algorithm, isSession) = (.md5, false)
        case "md5-sess": (algorithm, isSession) = (.md5, true)
        case "sha-256": (algorithm, isSession) = (.sha256, false)
        case "sha-256-sess": (algorithm, isSession) = (.sha256, true)
        case "sha-512-256": (algorithm, isSession) = (.sha512_256, false)
        case "sha-512-256-sess": (algorithm, isSession) = (.sha512_256, true)
        default: return nil
        }
        if let qualities = parameters["qop"] {
            let words = qualities.asciiLowercased.split { $0 == "," || $0 == " " || $0 == "\t" }
            let known = [Quality.auth, .integrity].first { words.contains($0.rawValue[...]) }
            guard let known else { return nil }
            quality = known
        } else {
            quality = .none
        }
        // The values are echoed in the next request's header and must fit into it.
        for text in [challenge.realm, nonce, parameters["opaque"] ?? ""]
        where text.utf8.count > 4096 || FieldRules.violation(value: text, of: "it") != nil {
            return nil
        }
        realm = challenge.realm
        self.nonce = nonce
        opaque = parameters["opaque"]
        hashesUser = parameters["userhash"]?.asciiLowercased == "true"
        extendsNames =
            algorithm != .md5 || parameters["charset"]?.asciiLowercased == "utf-8"
            || parameters["userhash"] != nil
        self.clientNonce = clientNonce
    }

    /// The relative strength. A higher value is harder to break.
    package var strength: Int {
        switch algorithm {
        case .sha512_256: 3
        case .sha256: 2
        default: 1
        }
    }

    /// The algorithm of the body digest that ``field(_:method:target:bodyHash:)`` needs. `nil` if
    /// it needs none.
    package var bodyAlgorithm: DigestAlgorithm? { quality == .integrity ? algorithm : nil }

    /// Returns the Authorization header for one request.
    ///
    /// - Parameters:
    ///   - target: The path and query, as in the request line.
    ///   - bodyHash: The digest of the body, computed with ``bodyAlgorithm``.
    /// - Returns: `nil` if the digest of the body is required and missing.
    package mutating func field(
        _ credentials: Credentials, method: String, target: String, bodyHash: [UInt8]? = nil
    ) -> String? {
        var protected = "\(method):\(target)"
        if quality == .integrity {
            guard let bodyHash else { return nil }
            protected += ":" + Hex.encode(bodyHash)
        }
        count &+= 1
        let uses = Hex.encode([24, 16, 8, 0].map { UInt8(truncatingIfNeeded: count >> $0) })
        var first = hash("\(credentials.user):\(realm):\(credentials.password)")
        if isSession { first = hash("\(first):\(nonce):\(clientNonce)") }
        let second = hash(protected)
        let hasQuality = quality != .none
        let response = hash(
            hasQuality
                ? "\(first):\(nonce):\(uses):\(clientNonce):\(quality.rawValue):\(second)"
                : "\(first):\(nonce):\(second)")
        var parts = [
            userPart(credentials.user), "realm=\(Self.quoted(realm))",
            "nonce=\(Self.quoted(nonce))", "uri=\(Self.quoted(target))",
            "response=\"\(response)\"",
        ]
        if let algorithmName { parts.append("algorithm=\(algorithmName)") }
        if let opaque { parts.append("opaque=\(Self.quoted(opaque))") }
        if hasQuality { parts += ["qop=\(quality.rawValue)", "nc=\(uses)"] }
        if hasQuality || isSession { parts.append("cnonce=\"\(clientNonce)\"") }
        if hashesUser { parts.append("userhash=true") }
        return "Digest " + parts.joined(separator: ", ")
    }

    /// Returns the user name parameter (RFC 7616, sections 3.4 and 3.4.4).
    private func userPart(_ user: String) -> String {
        if hashesUser { return "username=\"\(hash("\(user):\(realm)"))\"" }
        guard extendsNames, !user.utf8.allSatisfy({ $0 < 0x80 }) else {
            return "username=\(Self.quoted(user))"
        }
        var escaped = ""
        for byte in user.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E:
                escaped.unicodeScalars.append(Unicode.Scalar(byte))
            default: escaped += "%" + Hex.encode([byte]).uppercased()
            }
        }
        return "username*=UTF-8''\(escaped)"
    }

    /// Switches to the server's next nonce (`nextnonce`, section 3.5).
    package mutating func renew(_ next: String, clientNonce: String) {
        guard next != nonce, !next.isEmpty, next.utf8.count <= 4096,
            FieldRules.violation(value: next, of: "it") == nil
        else { return }
        nonce = next
        self.clientNonce = clientNonce
        count = 0
    }

    private func hash(_ text: String) -> String { Hex.encode(Digest.hash(of: text, algorithm)) }

    /// Returns a quoted string (RFC 9110, section 5.6.4).
    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            if scalar == "\"" || scalar == "\\" { quoted.unicodeScalars.append("\\") }
            quoted.unicodeScalars.append(scalar)
        }
        return quoted + "\""
    }
}
