// Wherry: validation of a trust policy before anything is sent.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherrySystem
import WherryTransport

extension TrustPolicy {
    /// Returns the policy in the transport's form.
    ///
    /// - Throws: `bad_pin`, `bad_certificate`, `bad_value`, `bad_url`, or the system's error for a
    ///   file that cannot be read.
    package func resolved(base: HTTPURL?, proxies: [String]) throws(WherryError) -> TransportTrust {
        var trust = TransportTrust()
        trust.caDirectory = caDirectory
        trust.caCertificates = caCertificates
        trust.crlFile = crlFile
        trust.requiresStaple = requiresStaple
        trust.requiresTLS13 = minimumTLS == .v1_3
        trust.allowsInvalid = allowsInvalidCertificates
        trust.checksName = checksName
        trust.requiresPins = requiresPins
        trust.onlyReportsPins = onlyReportsPins
        trust.denied = AddressClasses(rawValue: deniedAddresses.rawValue)
        trust.pins = try pinTable()
        try checkFiles()
        for (origin, certificate) in clientCertificates {
            let place = try Self.place(of: origin, base)
            trust.identities[place.text] = try certificate.identity()
        }
        try checkTogether(trust, proxies)
        return trust
    }

    /// Whether nothing is checked. Two of AFNetworking's switches together mean the same as
    /// `isInsecure`.
    package var trustsAnybody: Bool {
        isInsecure || (allowsInvalidCertificates && !checksName && pins.isEmpty && !requiresPins)
    }

    /// Returns the pins by host. Reads all files.
    package func pinTable() throws(WherryError) -> PinTable {
        var table = PinTable()
        for (host, pins) in pins {
            guard table.set(host, try pins.resolved(host, pinMode)) else {
                throw WherryError(
                    .badPin,
                    "\"\(host)\" cannot be pinned. Use a host (\"example.org\"), all hosts below one (\"*.example.org\"), or \"*\"."
                )
            }
        }
        return table
    }

    private func checkTogether(_ trust: TransportTrust, _ proxies: [String]) throws(WherryError) {
        func require(_ holds: Bool, _ reason: ErrorReason, _ text: String) throws(WherryError) {
            if !holds { throw WherryError(reason, text) }
        }
        try require(
            !isInsecure || (pins.isEmpty && !requiresPins), .badPin,
            "Pins cannot be checked while certificate verification is disabled. Allow invalid certificates instead, and pins are still checked."
        )
        try require(
            !requiresPins || !pins.isEmpty, .badPin,
            "Every host must have pins, but no pins are set. Add pins.")
        try require(
            !allowsInvalidCertificates || !checksName || !pins.isEmpty, .badPin,
            "Invalid certificates cannot be allowed without pins. Add pins.")
        try require(
            !onlyReportsPins || !allowsInvalidCertificates, .badPin,
            "Invalid certificates cannot be allowed with pins that only report. Enforce the pins, or do not allow invalid certificates."
        )
        try require(
            pinMode == .keys || TrustedCertificates.areSupported || pins.isEmpty, .badPin,
            "Certificates cannot be pinned: libcurl does not use a supported OpenSSL. Pin public keys instead."
        )
        try require(
            pinMode == .keys || !proxies.contains { $0.asciiLowercased.hasPrefix("https://") },
            .badPin,
            "Certificates cannot be pinned with an https proxy. Pin public keys instead.")
        try require(
            caCertificates == nil || caFile == nil, .badValue,
            "CA certificates are set both as a file and as bytes. Set only one of them.")
        try require(
            deniedAddresses.isEmpty || proxies.isEmpty, .badValue,
            "Denied addresses cannot be combined with a proxy, because the proxy makes the connection. Remove one of them."
        )
    }

    private func checkFiles() throws(WherryError) {
        if let caFile {
            try Self.check(
                caFile, "CA certificate", "BEGIN CERTIFICATE", "BEGIN TRUSTED", "BEGIN X509")
        }
        if let crlFile { try Self.check(crlFile, "certificate revocation list", "BEGIN X509 CRL") }
        if let caCertificates, !TrustAnchors.areOrdinary(caCertificates),
            Certificate.all(in: caCertificates) == nil
                || !Self.holds(caCertificates, ["BEGIN CERTIFICATE"])
        {
            throw WherryError(
                .badCertificate,
                "Could not parse the CA certificates given as bytes: they are not PEM, or one of them is damaged"
            )
        }
        guard let caDirectory else { return }
        for folder in caDirectory.split(separator: ":") {
            do throws(SystemError) { _ = try Directory.open(String(folder)) } catch {
                throw WherryError(error)
            }
        }
    }

    private static func check(_ path: String, _ what: String, _ marks: String...)
        throws(WherryError)
    {
        guard holds(try contents(path), marks) else {
            throw WherryError(.badCertificate, "\(path) contains no \(what) in PEM format")
        }
    }

    static func holds(_ bytes: [UInt8], _ marks: [String]) -> Bool {
        let text = String(decoding: bytes, as: UTF8.self)
        return marks.contains { text.contains("-----\($0)") }
    }

    /// Reads a certificate file, at most 16 MiB.
    static func contents(_ path: String) throws(WherryError) -> [UInt8] {
        do throws(SystemError) {
            let file = try File.open(path, [.read, .following])
            return try file.read(Int(min(file.status().size, 16 << 20)), at: 0)
        } catch {
            throw WherryError(error)
        }
    }

    /// Returns the origin of a client certificate.
    private static func place(of origin: String, _ base: HTTPURL?) throws(WherryError) -> Origin {
        var url = base
        if !origin.isEmpty {
            do {
                url = try HTTPURL(origin, as: "URL of a client certificate")
            } catch {
                throw WherryError(.badURL, error.message)
            }
        }
        guard let url else {
            throw WherryError(
                .badURL,
                "The client certificate has no origin. Name its origin, or set a base URL.")
        }
        guard url.origin.isSecure else {
            throw WherryError(
                .badURL,
                "A client certificate is sent only over https, and \(url.origin.text) is not https. Use an https URL."
            )
        }
        return url.origin
    }
}

extension TrustPolicy.Pins {
    fileprivate func resolved(_ host: String, _ mode: TrustPolicy.PinMode) throws(WherryError)
        -> HostPins
    {
        var resolved = HostPins()
        resolved.expires = expires
        var found: [Certificate] = []
        for pin in pins {
            if let digest = Self.digest(pin) {
                guard Base64.decode(digest)?.count == 32 else {
                    throw WherryError(
                        .badPin,
                        "The pin \"\(pin)\" of \(host) is not valid. Use \"sha256/\" and 32 bytes in Base64."
                    )
                }
                resolved.keys.append(digest)
            } else {
                found += try Self.certificates(pin, host)
            }
        }
        for bytes in certificates {
            guard let some = Certificate.all(in: bytes) else {
                throw WherryError(
                    .badPin,
                    "The bytes given as a pin of \(host) are neither a certificate nor a public key. Use PEM or DER."
                )
            }
            found += some
        }
        for certificate in found {
            if mode == .keys || certificate.der.isEmpty {
                resolved.keys.append(certificate.keyDigest)
            } else {
                resolved.anchors += certificate.der
            }
        }
        guard !resolved.keys.isEmpty || !resolved.anchors.isEmpty else {
            throw WherryError(.badPin, "\(host) has no pins. Add a pin, or remove the host.")
        }
        return resolved
    }

    /// Returns the Base64 text after "sha256/", or after curl's "sha256//".
    private static func digest(_ pin: String) -> String? {
        guard pin.hasPrefix("sha256/") else { return nil }
        let rest = pin.dropFirst(7)
        // 32 bytes are 44 Base64 digits, so an additional slash is curl's.
        return String(rest.utf8.count == 45 && rest.first == "/" ? rest.dropFirst() : rest)
    }

    private static func certificates(_ path: String, _ host: String) throws(WherryError)
        -> [Certificate]
    {
        let isOtherDigest = ["sha1/", "sha384/", "sha512/", "md5/"].contains { path.hasPrefix($0) }
        guard !isOtherDigest, path.utf8.contains(0x2F) || path.utf8.contains(0x2E) else {
            throw WherryError(
                .badPin,
                "The pin \"\(path)\" of \(host) is not valid. Use \"sha256/...\" or the path of a file."
            )
        }
        var files = [path]
        if let folder = try? Directory.open(path) {
            do throws(SystemError) {
                files = try folder.names().sorted().filter { name in
                    [".pem", ".crt", ".cer", ".der"].contains { name.asciiLowercased.hasSuffix($0) }
                }.map { folder.path(of: $0) }
            } catch {
                throw WherryError(error)
            }
        }
        var found: [Certificate] = []
        for file in files {
            guard let some = Certificate.all(in: try TrustPolicy.contents(file)) else {
                throw WherryError(
                    .badPin,
                    "\(file), a pin of \(host), contains no valid certificate or public key. Use PEM or DER."
                )
            }
            found += some
        }
        return found
    }
}

extension TrustPolicy.ClientCertificate {
    fileprivate func identity() throws(WherryError) -> ClientIdentity {
        let bytes = try TrustPolicy.contents(certificate)
        let isPEM = TrustPolicy.holds(bytes, ["BEGIN CERTIFICATE", "BEGIN TRUSTED"])
        guard isPEM || bytes.first == 0x30 else {
            throw WherryError(
                .badCertificate,
                "\(certificate) contains no certificate in PEM or PKCS #12 format")
        }
        if let key {
            guard TrustPolicy.holds(try TrustPolicy.contents(key), ["BEGIN "]) else {
                throw WherryError(.badCertificate, "\(key) contains no key in PEM format")
            }
        } else if isPEM {
            let text = String(decoding: bytes, as: UTF8.self)
            guard text.contains("PRIVATE KEY-----") else {
                throw WherryError(
                    .badCertificate,
                    "\(certificate) contains no private key. " + OptionAdvice.keyFile.text)
            }
        }
        return ClientIdentity(
            certificate: certificate, isPKCS12: !isPEM, key: key ?? (isPEM ? certificate : nil),
            password: password)
    }
}
