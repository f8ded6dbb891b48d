// Wherry: the trust policy of a client.
// SPDX-License-Identifier: Apache-2.0

/// The servers that a client trusts. By default a server needs a certificate for its host name from
/// a CA that the system trusts, and TLS 1.2 or newer. Environment variables have no effect.
///
/// The policy of a client cannot change, since connections are shared only within a client.
/// docs/security.md lists the error of each refusal.
public struct TrustPolicy: Sendable, Hashable {
    /// The minimum TLS version.
    public enum TLSVersion: Int64, Sendable, Hashable, CaseIterable {
        /// TLS 1.2: the default.
        case v1_2 = 0
        case v1_3 = 1
    }

    /// How certificates in the pins are used. Key digests always refer to the server's own key.
    public enum PinMode: Int64, Sendable, Hashable, CaseIterable {
        /// Pins the keys of the certificates. The server's own key must be one of them. The
        /// default.
        case keys = 0
        /// Uses the certificates as trust anchors. The chain must lead to one of them.
        case certificates = 1
    }

    /// The pins of a host. One of them must match, in addition to the ordinary checks.
    public struct Pins: Sendable, Hashable {
        /// "sha256/" and the Base64 SHA-256 digest of a key (SubjectPublicKeyInfo). Or the path of
        /// a file with certificates or public keys (PEM, or a single one in DER), or of a folder of
        /// such files.
        public var pins: [String]
        /// Certificates or public keys as bytes: PEM, or a single one in DER.
        public var certificates: [[UInt8]] = []
        /// The time in seconds since 1970 after which the pins are ignored, so that an outdated
        /// installation can still reach its server. `nil`, the default, means never.
        public var expires: Int64?

        public init(_ pins: String...) { self.pins = pins }
        public init(_ pins: [String] = []) { self.pins = pins }
    }

    /// A client certificate and its key.
    public struct ClientCertificate: Sendable, Hashable {
        /// The path of a PEM file, or of a PKCS #12 file that includes the key.
        public var certificate: String
        /// The path of a PEM file with the key. `nil` if the key is in the certificate file.
        public var key: String?
        /// The password of the key or the PKCS #12 file. `nil` for none.
        public var password: String?

        public init(_ certificate: String, key: String? = nil, password: String? = nil) {
            self.certificate = certificate
            self.key = key
            self.password = password
        }
    }

    /// Classes of IPv4 and IPv6 addresses, checked on every hop.
    public struct Addresses: OptionSet, Sendable, Hashable {
        public let rawValue: Int64
        @inlinable public init(rawValue: Int64) { self.rawValue = rawValue }

        /// The local machine: 127.0.0.0/8, ::1, 0.0.0.0.
        public static let loopback = Addresses(rawValue: 1)
        /// Private networks: 10/8, 172.16/12, 192.168/16, 100.64/10, fc00::/7, and reserved ones.
        public static let privateUse = Addresses(rawValue: 2)
        /// Link-local addresses: 169.254.0.0/16 and fe80::/10.
        public static let linkLocal = Addresses(rawValue: 4)
        /// Cloud metadata services: 169.254.169.254 and similar addresses.
        public static let metadata = Addresses(rawValue: 8)
        /// Multicast addresses: 224.0.0.0/4, ff00::/8.
        public static let multicast = Addresses(rawValue: 16)
        /// All of these classes, so that only public addresses are allowed.
        public static let notPublic = Addresses(rawValue: 31)
    }

    /// Whether to accept every certificate. For tests only: prints one warning per process to
    /// standard error. Default: false.
    public var isInsecure = false
    /// The path of a PEM file of CA certificates to trust instead of the system's.
    public var caFile: String?
    /// The folders of CA certificates to trust instead of the system's, separated by ":" and hashed
    /// with `openssl rehash`.
    public var caDirectory: String?
    /// The PEM CA certificates to trust instead of the system's. Cannot be combined with
    /// ``caFile``.
    public var caCertificates: [UInt8]?
    /// The path of a PEM file of revocation lists. Each CA of a chain needs one; otherwise the
    /// server is refused.
    public var crlFile: String?
    /// Whether to refuse servers that do not staple a good OCSP response. Default: false.
    public var requiresStaple = false
    /// The minimum TLS version. Default: TLS 1.2.
    public var minimumTLS = TLSVersion.v1_2
    /// Whether to reject requests without https before anything is sent. Default: false.
    public var isHTTPSOnly = false
    /// The pins by host: "example.org", "*.example.org" (every host below, at any depth), or "*".
    /// The most specific name applies. Pins only make the checks stricter, except with
    /// ``allowsInvalidCertificates``. A pinned host requires TLS.
    public var pins: [String: Pins] = [:]
    /// How certificates in the pins are used. Default: ``PinMode/keys``.
    public var pinMode = PinMode.keys
    /// Whether to refuse hosts without pins. Default: false.
    public var requiresPins = false
    /// Whether to only report pin mismatches: one warning per host on standard error. Default:
    /// false.
    public var onlyReportsPins = false
    /// Whether pins alone decide for pinned hosts. The issuer is not checked. With key digests, the
    /// validity dates are not checked either. Prints one warning per process to standard error.
    /// Default: false.
    public var allowsInvalidCertificates = false
    /// Whether the certificate must match the host name. `false` prints one warning per process to
    /// standard error. Default: true.
    public var checksName = true
    /// The client certificates by origin, such as "https://example.org". No other server receives
    /// them. "" is the base URL's origin.
    public var clientCertificates: [String: ClientCertificate] = [:]
    /// The addresses to which the client must not connect, on any hop. Disables proxies, which
    /// would connect on the client's behalf. Default: none.
    public var deniedAddresses: Addresses = []

    /// Creates a policy with default values.
    public init() {}
}

extension ClientSettings.Values {
    /// The trust policy, assembled from the options and texts.
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

/// Printing a client certificate never shows the password.
extension TrustPolicy.ClientCertificate: CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The certificate's path, without the password.
    public var description: String { "ClientCertificate(\(certificate), ...)" }
    /// The certificate's path, without the password.
    public var debugDescription: String { description }
    /// The paths of the files only.
    public var customMirror: Mirror {
        Mirror(self, children: ["certificate": certificate, "key": key as Any])
    }
}
