// Wherry: whom a client trusts, as it is said in a configuration.
// SPDX-License-Identifier: Apache-2.0

/// Which servers a client speaks to. By default those whose certificate a CA of the system vouches
/// for, for the name that is asked for, over TLS 1.2 or newer. No variable of the environment counts.
///
/// A policy is a client's for good: connections are shared inside of one client only. docs/security.md
/// says what each refusal is called.
public struct TrustPolicy: Sendable, Hashable {
    /// The oldest version of TLS that is spoken.
    public enum TLSVersion: Int64, Sendable, Hashable, CaseIterable {
        /// TLS 1.2: the default.
        case v1_2 = 0
        case v1_3 = 1
    }

    /// What certificates among the pins stand for. Digests of keys are always the server's own key.
    public enum PinMode: Int64, Sendable, Hashable, CaseIterable {
        /// Their keys, one of which must be the server's own: the default.
        case keys = 0
        /// Anchors: the chain must lead to one of them.
        case certificates = 1
    }

    /// What hosts are held to, beside the ordinary rules: one of these must be there.
    public struct Pins: Sendable, Hashable {
        /// "sha256/" and the base64 of the SHA-256 of a key (SubjectPublicKeyInfo); or the path of
        /// a file of certificates or public keys (PEM, or one in DER), or of a folder of such.
        public var pins: [String]
        /// Certificates or public keys as bytes: PEM, or one in DER.
        public var certificates: [[UInt8]] = []
        /// Seconds since 1970 from which on they count no more, so that an installation that nobody
        /// updates does not lose its server; `nil`, the default, is never.
        public var expires: Int64?

        public init(_ pins: String...) { self.pins = pins }
        public init(_ pins: [String] = []) { self.pins = pins }
    }

    /// A certificate that the client shows, and its key.
    public struct ClientCertificate: Sendable, Hashable {
        /// A file: PEM, or PKCS #12 with the key in it.
        public var certificate: String
        /// A PEM file; `nil` where the key stands beside the certificate.
        public var key: String?
        /// Of the key or the PKCS #12 file; `nil` for none.
        public var password: String?

        public init(_ certificate: String, key: String? = nil, password: String? = nil) {
            self.certificate = certificate
            self.key = key
            self.password = password
        }
    }

    /// Kinds of addresses, of either family, wherever a name or a redirect leads.
    public struct Addresses: OptionSet, Sendable, Hashable {
        public let rawValue: Int64
        public init(rawValue: Int64) { self.rawValue = rawValue }

        /// This machine: 127.0.0.0/8, ::1, 0.0.0.0.
        public static let loopback = Addresses(rawValue: 1)
        /// Networks of one's own: 10/8, 172.16/12, 192.168/16, 100.64/10, fc00::/7, and reserved ones.
        public static let privateUse = Addresses(rawValue: 2)
        /// 169.254.0.0/16 and fe80::/10.
        public static let linkLocal = Addresses(rawValue: 4)
        /// Where clouds tell machines their secrets: 169.254.169.254 and its kind.
        public static let metadata = Addresses(rawValue: 8)
        /// Many hosts at once: 224.0.0.0/4, ff00::/8.
        public static let multicast = Addresses(rawValue: 16)
        /// All of these: only public addresses are left.
        public static let notPublic = Addresses(rawValue: 31)
    }

    /// Trusts anybody: no certificate is checked, which standard error is told once in a process.
    /// Off; for tests only.
    public var isInsecure = false
    /// A file of PEM certificates to trust instead of the system's.
    public var caFile: String?
    /// Folders of certificates, hashed as by `openssl rehash`, instead of the system's; ":" between.
    public var caDirectory: String?
    /// PEM certificates to trust instead of the system's; not together with ``caFile``.
    public var caCertificates: [UInt8]?
    /// A PEM file of revoked certificates, of every CA of a chain: one that has none is refused.
    public var crlFile: String?
    /// Refuses servers that staple no good answer of their CA's OCSP responder. Off.
    public var requiresStaple = false
    /// TLS 1.2.
    public var minimumTLS = TLSVersion.v1_2
    /// Requests without https are an error before anything is sent. Off.
    public var isHTTPSOnly = false
    /// By host: "example.org", "*.example.org" (every host below, at any depth) or "*". The most
    /// specific name counts. Pins only ever add refusals, but for ``allowsInvalidCertificates``; a
    /// pinned host is not spoken to without TLS.
    public var pins: [String: Pins] = [:]
    /// What certificates among the pins stand for: their keys.
    public var pinMode = PinMode.keys
    /// A host without pins is refused. Off.
    public var requiresPins = false
    /// What pins would refuse goes on, and standard error is told once for each host. Off.
    public var onlyReportsPins = false
    /// Pins alone vouch for the hosts that have some: issuer and, with digests of keys, dates do not
    /// count. Standard error is told once in a process. Off.
    public var allowsInvalidCertificates = false
    /// The certificate must be for the name that is asked for. On; off is told as the one above.
    public var checksName = true
    /// By origin, as "https://example.org": no other server ever sees it. "" is the base URL's.
    public var clientCertificates: [String: ClientCertificate] = [:]
    /// Addresses that are not connected to, at no hop. None; any takes the client off proxies, which
    /// would connect in its place.
    public var deniedAddresses: Addresses = []

    /// The defaults.
    public init() {}
}

extension Client.Configuration {
    /// Whom the client trusts.
    public var trust: TrustPolicy {
        get { values.trust }
        set { values.trust = newValue }
    }
}

extension ClientSettings.Values {
    /// The policy, whose numbers and texts are settings like any other.
    package var trust: TrustPolicy {
        get {
            var policy = trustLists
            func isOn(_ option: Option) -> Bool { options[option] == 1 }
            policy.isInsecure = isOn(.insecure)
            policy.isHTTPSOnly = isOn(.httpsOnly)
            policy.minimumTLS = isOn(.requireTLS13) ? .v1_3 : .v1_2
            policy.requiresStaple = isOn(.requireStaple)
            policy.allowsInvalidCertificates = isOn(.allowInvalid)
            policy.checksName = isOn(.checkName)
            policy.pinMode = isOn(.pinMode) ? .certificates : .keys
            policy.requiresPins = isOn(.requirePins)
            policy.onlyReportsPins = isOn(.reportPins)
            policy.deniedAddresses = .init(rawValue: options[.denyAddresses])
            policy.caFile = texts[.caFile]
            policy.caDirectory = texts[.caDirectory]
            policy.crlFile = texts[.crlFile]
            return policy
        }
        set {
            func set(_ option: Option, _ isOn: Bool) { options[option] = isOn ? 1 : 0 }
            set(.insecure, newValue.isInsecure)
            set(.httpsOnly, newValue.isHTTPSOnly)
            set(.requireTLS13, newValue.minimumTLS == .v1_3)
            set(.requireStaple, newValue.requiresStaple)
            set(.allowInvalid, newValue.allowsInvalidCertificates)
            set(.checkName, newValue.checksName)
            set(.pinMode, newValue.pinMode == .certificates)
            set(.requirePins, newValue.requiresPins)
            set(.reportPins, newValue.onlyReportsPins)
            options[.denyAddresses] = newValue.deniedAddresses.rawValue
            texts[.caFile] = newValue.caFile
            texts[.caDirectory] = newValue.caDirectory
            texts[.crlFile] = newValue.crlFile
            trustLists = TrustPolicy()
            trustLists.pins = newValue.pins
            trustLists.caCertificates = newValue.caCertificates
            trustLists.clientCertificates = newValue.clientCertificates
        }
    }
}

/// What is printed has no password in it, by whatever way.
extension TrustPolicy.ClientCertificate: CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The files; the password is left out.
    public var description: String { "ClientCertificate(\(certificate), ...)" }
    /// The same.
    public var debugDescription: String { description }
    /// The files alone.
    public var customMirror: Mirror {
        Mirror(self, children: ["certificate": certificate, "key": key as Any])
    }
}
