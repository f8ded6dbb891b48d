// Wherry: whom a transport trusts.
// SPDX-License-Identifier: Apache-2.0

/// All that decides whether a server is spoken to, with every file read and every name checked.
package struct TransportTrust: Hashable, Sendable {
    /// Folders of roots, hashed as `openssl rehash` does, instead of the system's; separated by ":".
    package var caDirectory: String?
    /// PEM certificates to trust instead of the system's.
    package var caCertificates: [UInt8]?
    /// A PEM file with a list of revoked certificates of every CA of a chain.
    package var crlFile: String?
    /// A server that staples no good answer of its CA's OCSP responder is refused.
    package var requiresStaple = false
    package var requiresTLS13 = false
    /// Where there are pins, they alone vouch for a certificate.
    package var allowsInvalid = false
    package var checksName = true
    package var pins = PinTable()
    /// A host without pins is refused.
    package var requiresPins = false
    /// What pins would refuse is told of, and goes on.
    package var onlyReportsPins = false
    /// By the text of the origin that each is shown to.
    package var identities: [String: ClientIdentity] = [:]
    /// Addresses that are not connected to.
    package var denied: AddressClasses = []

    package init() {}

    /// Whether hosts differ in what they are held to.
    var isByHost: Bool { requiresPins || !pins.isEmpty || !identities.isEmpty }
}

/// A certificate that a client shows, and its key.
package struct ClientIdentity: Hashable, Sendable {
    /// PEM, or PKCS #12 with the key in it.
    package var certificate: String
    package var isPKCS12: Bool
    /// PEM; `nil` where it stands beside the certificate.
    package var key: String?
    package var password: String?

    package init(certificate: String, isPKCS12: Bool, key: String?, password: String?) {
        self.certificate = certificate
        self.isPKCS12 = isPKCS12
        self.key = key
        self.password = password
    }
}

/// What one host, or the hosts below a name, are held to beside the ordinary rules.
package struct HostPins: Hashable, Sendable {
    /// One must be that of the server's own key: base64 of the SHA-256 of its
    /// SubjectPublicKeyInfo. Empty: any key.
    package var keys: [String] = []
    /// Certificates (DER, one after the other); the chain must lead to one of them. Empty: any.
    package var anchors: [UInt8] = []
    /// Seconds since 1970 from which on they count no more.
    package var expires: Int64?

    package init() {}
}

/// Pins by the names of hosts. The most specific name counts.
package struct PinTable: Hashable, Sendable {
    private var exact: [String: HostPins] = [:]
    /// By the name that hosts are below; "" is every host.
    private var below: [String: HostPins] = [:]

    package init() {}

    package var isEmpty: Bool { exact.isEmpty && below.isEmpty }

    /// Adds pins for "example.org", "*.example.org" (every host below, at any depth) or "*" (every
    /// host). `false` if it is none of these.
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

    /// What a host of an origin is held to.
    package func pins(of host: String) -> HostPins? {
        if isEmpty { return nil }
        // A name that libcurl could not write in ASCII has no address either.
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
    /// A host as it is looked up and compared: in ASCII and small letters, IPv6 in brackets, without
    /// the dot that may end it; `nil` if it is no host's name.
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
