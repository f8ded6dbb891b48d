// Wherry: the trust settings of a transport.
// SPDX-License-Identifier: Apache-2.0

/// All settings that decide which servers are trusted, with files read and names validated.
package struct TransportTrust: Hashable, Sendable {
    /// Directories of CA certificates, hashed like `openssl rehash`, instead of the system's;
    /// separated by ":".
    package var caDirectory: String?
    /// PEM certificates to trust instead of the system's.
    package var caCertificates: [UInt8]?
    /// A PEM file with revocation lists of every CA in a chain.
    package var crlFile: String?
    /// Whether to require a good stapled OCSP response.
    package var requiresStaple = false
    package var requiresTLS13 = false
    /// Whether pins alone decide about a host that has pins.
    package var allowsInvalid = false
    package var checksName = true
    package var pins = PinTable()
    /// Whether to reject hosts without pins.
    package var requiresPins = false
    /// Whether to report pin mismatches without rejecting the host.
    package var onlyReportsPins = false
    /// Client certificates by the text of the origin they are sent to.
    package var identities: [String: ClientIdentity] = [:]
    /// The blocked address classes.
    package var denied: AddressClasses = []
    /// Whether to look for OpenSSL. `false` acts as if libcurl used another TLS library; for tests.
    package var findsOpenSSL = true

    package init() {}

    /// Whether the settings depend on the host.
    var isByHost: Bool { requiresPins || !pins.isEmpty || !identities.isEmpty }

    /// Whether certificates can be checked, through callbacks of the OpenSSL library that libcurl
    /// uses.
    var canCheck: Bool { findsOpenSSL && TrustedCertificates.areSupported }
}

/// A client certificate and its key.
package struct ClientIdentity: Hashable, Sendable {
    /// The path of a PEM file, or of a PKCS #12 file that includes the key.
    package var certificate: String
    package var isPKCS12: Bool
    /// The path of a PEM file; `nil` if the certificate's file contains the key.
    package var key: String?
    package var password: String?

    package init(certificate: String, isPKCS12: Bool, key: String?, password: String?) {
        self.certificate = certificate
        self.isPKCS12 = isPKCS12
        self.key = key
        self.password = password
    }
}

/// The pins of a host or of the subdomains of a domain. They apply in addition to the usual checks.
package struct HostPins: Hashable, Sendable {
    /// The allowed server keys: base64 of the SHA-256 of the SubjectPublicKeyInfo. Empty allows any
    /// key.
    package var keys: [String] = []
    /// The allowed trust anchors: concatenated DER certificates, one of which must end the chain.
    /// Empty allows any.
    package var anchors: [UInt8] = []
    /// The expiry time of the pins, in seconds since 1970.
    package var expires: Int64?

    package init() {}
}

/// Pins by host name. The most specific name applies.
package struct PinTable: Hashable, Sendable {
    private var exact: [String: HostPins] = [:]
    /// Pins by parent domain; "" matches every host.
    private var below: [String: HostPins] = [:]

    package init() {}

    package var isEmpty: Bool { exact.isEmpty && below.isEmpty }

    /// Adds pins for "example.org", "*.example.org" (all subdomains, at any depth) or "*" (all
    /// hosts). Returns `false` for anything else.
    package mutating func set(_ pattern: String, _ pins: HostPins) -> Bool {
        if pattern == "*" {
            below[""] = pins
            return true
        }
        let isBelow = pattern.hasPrefix("*.")
        let name = isBelow ? String(pattern.dropFirst(2)) : pattern
        guard let host = HTTPURL.hostName(name), !isBelow || !host.hasPrefix("[") else {
            return false
        }
        if isBelow { below[host] = pins } else { exact[host] = pins }
        return true
    }

    /// Returns the pins of an origin's host.
    package func pins(of host: String) -> HostPins? {
        if isEmpty { return nil }
        // A name that has no ASCII form cannot be looked up either.
        let host = HTTPURL.hostName(host) ?? host
        if let pins = exact[host] { return pins }
        var rest = Substring(host)
        while let dot = rest.firstIndex(of: ".") {
            rest = rest[rest.index(after: dot)...]
            if let pins = below[String(rest)] { return pins }
        }
        return below[""]
    }
}

extension HTTPURL {
    /// Returns the normalized form of a host for lookup and comparison: lower-case ASCII, IPv6 in
    /// brackets, no trailing dot. `nil` if it is not a host name.
    package static func hostName(_ text: String) -> String? {
        let bytes = text.utf8
        let isBracketed = bytes.first == UInt8(ascii: "[")
        let isBare = bytes.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F: true
            case UInt8(ascii: ":"), UInt8(ascii: "["), UInt8(ascii: "]"): isBracketed
            default: byte >= 0x80
            }
        }
        guard isBare, let name = asciiHost(text)?.asciiLowercased else { return nil }
        let host = name.hasSuffix(".") ? String(name.dropLast()) : name
        return host.isEmpty || host.hasPrefix(".") || host.contains("..") ? nil : host
    }
}
