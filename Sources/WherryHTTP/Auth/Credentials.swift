// Wherry: credentials for HTTP authentication.
// SPDX-License-Identifier: Apache-2.0

/// A user name and password for HTTP authentication (RFC 7617, RFC 7616).
///
/// Credentials are sent only to their origin (scheme, host, and port). A redirect to another origin
/// drops them, unless the request keeps credentials across hosts.
public struct Credentials: Sendable, Hashable {
    /// The authentication scheme. The raw values are those of `wherry_auth`.
    public enum Scheme: Int64, Sendable, Hashable, CaseIterable {
        /// The scheme that the server requests, with Digest preferred to Basic. The first request
        /// has no credentials.
        case any = 0
        /// Basic, sent preemptively with every request. Use it only over TLS: anyone who can read
        /// the connection can read the password.
        case basic = 1
        /// Digest with SHA-512-256, SHA-256, or MD5, after a challenge. The password is never sent.
        case digest = 2
    }

    /// The user name.
    public var user: String
    /// The password.
    public var password: String
    /// The authentication scheme. Default: ``Scheme/any``.
    public var scheme: Scheme

    /// Creates credentials.
    public init(user: String, password: String, scheme: Scheme = .any) {
        self.user = user
        self.password = password
        self.scheme = scheme
    }

    /// Returns credentials that are sent with every request as `Authorization: Basic`.
    public static func basic(_ user: String, _ password: String) -> Credentials {
        Credentials(user: user, password: password, scheme: .basic)
    }

    /// Returns credentials that are sent in response to a Digest challenge.
    public static func digest(_ user: String, _ password: String) -> Credentials {
        Credentials(user: user, password: password, scheme: .digest)
    }

    /// Throws if the credentials cannot be sent in any scheme.
    package func check() throws(WherryError) {
        for (text, name) in [(user, "user name"), (password, "password")]
        where text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
            throw WherryError(.badValue, "The \(name) contains a control character. Remove it.")
        }
        guard scheme != .digest, user.utf8.contains(UInt8(ascii: ":")) else { return }
        throw WherryError(
            .badValue,
            "A user name with a colon cannot be sent with Basic authentication, because the colon ends the name. Use Digest or another user name."
        )
    }
}

/// Printing credentials never shows the password.
extension Credentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The user name, without the password.
    public var description: String { "Credentials(\(user), ...)" }
    /// The user name, without the password.
    public var debugDescription: String { description }
    /// The user name only.
    public var customMirror: Mirror { Mirror(self, children: ["user": user]) }
}
