// Wherry: Digest access authentication (RFC 7616).
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// A Digest nonce with its use count. A value, testable without a server.
///
/// Supports MD5, SHA-256 and their `-sess` variants, with the quality of protection `auth` or none.
/// Does not support `auth-int`, which needs the whole body before the first byte.
package struct DigestSession: Sendable, Hashable {
    package let realm: String
    package private(set) var nonce: String
    private let opaque: String?
    /// The algorithm as the server wrote it; `nil` if missing, which means MD5.
    private let algorithmName: String?
    private let algorithm: DigestAlgorithm
    private let isSession: Bool
    private let hasQuality: Bool
    private let hashesUser: Bool
    private var clientNonce: String
    private var count: UInt32 = 0

    /// - Parameter clientNonce: Random digits that keep an attacker from choosing all hashed input.
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
        default: return nil
        }
        if let qualities = parameters["qop"] {
            let words = qualities.asciiLowercased.split { $0 == "," || $0 == " " || $0 == "\t" }
            guard words.contains("auth") else { return nil }
            hasQuality = true
        } else {
            hasQuality = false
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
        self.clientNonce = clientNonce
    }

    /// Higher is stronger.
    package var strength: Int { algorithm == .sha256 ? 2 : 1 }

    /// Returns the `Authorization` header for one request.
    ///
    /// - Parameters:
    ///   - target: The path and query, as in the request line.
    package mutating func field(
        _ credentials: Credentials, method: String, target: String
    ) -> String {
        count &+= 1
        let uses = Hex.encode([24, 16, 8, 0].map { UInt8(truncatingIfNeeded: count >> $0) })
        var first = hash("\(credentials.user):\(realm):\(credentials.password)")
        if isSession { first = hash("\(first):\(nonce):\(clientNonce)") }
        let second = hash("\(method):\(target)")
        let response = hash(
            hasQuality
                ? "\(first):\(nonce):\(uses):\(clientNonce):auth:\(second)"
                : "\(first):\(nonce):\(second)")
        let user = hashesUser ? hash("\(credentials.user):\(realm)") : credentials.user
        var parts = [
            "username=\(Self.quoted(user))", "realm=\(Self.quoted(realm))",
            "nonce=\(Self.quoted(nonce))", "uri=\(Self.quoted(target))",
            "response=\"\(response)\"",
        ]
        if let algorithmName { parts.append("algorithm=\(algorithmName)") }
        if let opaque { parts.append("opaque=\(Self.quoted(opaque))") }
        if hasQuality { parts += ["qop=auth", "nc=\(uses)"] }
        if hasQuality || isSession { parts.append("cnonce=\"\(clientNonce)\"") }
        if hashesUser { parts.append("userhash=true") }
        return "Digest " + parts.joined(separator: ", ")
    }

    /// Switches to the next nonce of the server (`nextnonce`, section 3.5).
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
