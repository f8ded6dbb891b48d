// Wherry: a user name and a password, and how they may be sent.
// SPDX-License-Identifier: Apache-2.0

/// A user name and a password for a server that asks who is there (RFC 7617, RFC 7616).
///
/// They are sent to the origin they were given for (scheme, host and port), and to no other: after
/// a redirect elsewhere they stay behind, unless the request keeps them across hosts.
public struct Credentials: Sendable, Hashable {
    /// How a user name and a password are sent. The raw values are those of `wherry_auth`.
    public enum Scheme: Int64, Sendable, Hashable, CaseIterable {
        /// Whichever the server asks for: Digest before Basic. The first request goes without.
        case any = 0
        /// With every request and unasked. Whoever reads the connection reads the password: only
        /// over TLS.
        case basic = 1
        /// As a digest with SHA-512-256, SHA-256, or MD5, once the server demands one. The password is
        /// not sent.
        case digest = 2
    }

    /// The user name.
    public var user: String
    /// The password.
    public var password: String
    /// How they are sent: ``Scheme/any`` by default.
    public var scheme: Scheme

    /// A user name and a password.
    public init(user: String, password: String, scheme: Scheme = .any) {
        self.user = user
        self.password = password
        self.scheme = scheme
    }

    /// Sent with every request as `Authorization: Basic`.
    public static func basic(_ user: String, _ password: String) -> Credentials {
        Credentials(user: user, password: password, scheme: .basic)
    }

    /// Sent as a digest when the server asks for one.
    public static func digest(_ user: String, _ password: String) -> Credentials {
        Credentials(user: user, password: password, scheme: .digest)
    }

    /// Checks what cannot be sent in any scheme.
    package func check() throws(WherryError) {
        for (text, name) in [(user, "user name"), (password, "password")]
        where text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
            throw WherryError(.badValue, "The \(name) holds a control byte")
        }
        guard scheme != .digest, user.utf8.contains(UInt8(ascii: ":")) else { return }
        throw WherryError(
            .badValue, "A user name with a colon cannot be sent as Basic: it would end there")
    }
}

/// What is printed has no password in it, by whatever way.
extension Credentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The user name; the password is left out.
    public var description: String { "Credentials(\(user), ...)" }
    /// The same.
    public var debugDescription: String { description }
    /// The user name alone.
    public var customMirror: Mirror { Mirror(self, children: ["user": user]) }
}
