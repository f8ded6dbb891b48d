// Wherry: the options for TLS and certificates, named as in curl.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WherryAsync

struct TLSOptions: ParsableArguments, Sendable {
    // options: begin (scripts/make-options)
    @Flag(
        name: .customLong("https-only"),
        help: "Fail instead of sending a request without TLS.")
    var httpsOnly = false

    @Flag(
        name: .customLong("tlsv1.3"),
        help: "Require TLS 1.3. (default: TLS 1.2 or later)")
    var requireTLS13 = false

    @Flag(
        name: .customLong("cert-status"),
        help: "Require a stapled OCSP response that says the certificate is good.")
    var requireStaple = false

    @Option(
        name: .customLong("cacert"),
        help: ArgumentHelp(
            "Trust the certificates in this file (PEM) instead of the system's.",
            valueName: "file"),
        completion: .file())
    var caFile: String?

    @Option(
        name: .customLong("capath"),
        help: ArgumentHelp(
            "Trust the certificates in this directory, prepared by 'openssl rehash'.",
            valueName: "directory"),
        completion: .directory)
    var caDirectory: String?

    @Option(
        name: .customLong("crlfile"),
        help: ArgumentHelp(
            "Reject certificates revoked by these lists (PEM). Every CA of a chain needs a list.",
            valueName: "file"),
        completion: .file())
    var crlFile: String?
    // options: end

    @Option(
        name: .customLong("cert"),
        help: ArgumentHelp(
            "Present this client certificate (PEM or PKCS #12) to the servers of the URLs, and to no other.",
            valueName: "file"),
        completion: .file())
    var certificate: String?

    @Option(
        help: ArgumentHelp(
            "The key of the client certificate (PEM), if it is in another file.", valueName: "file"),
        completion: .file())
    var key: String?

    @Option(
        name: .customLong("pass"),
        help: ArgumentHelp(
            "The password of the key: the password, @FILE, or @- for standard input.",
            discussion: "Other users of this machine can see command lines; prefer a file.",
            valueName: "password"))
    var password: String?

    @Option(
        name: .customLong("pinnedpubkey"),
        help: ArgumentHelp(
            "Require each server to have one of these keys: sha256//BASE64, separated by ;, or a file (PEM, DER).",
            valueName: "pins"))
    var pins: String?

    @Flag(
        name: .customLong("deny-private"),
        help:
            "Connect to public addresses only, even after redirects. Proxies are not used."
    )
    var denyPrivate = false

    @Flag(
        help: ArgumentHelp(
            "Accept any certificate. An attacker on the network can then read and change everything.",
            discussion: "With --pinnedpubkey, the key must still be one of the pins."))
    var insecure = false

    mutating func validate() throws {
        if certificate == nil && (key != nil || password != nil) {
            throw ValidationError("--key and --pass need --cert.")
        }
    }

    /// Sets a client's policy for the servers of URLs.
    func apply(to configuration: inout Client.Configuration, urls: [String]) throws {
        applyFlags(to: &configuration)
        var trust = configuration.trust
        // As in curl, the pins are checked even if nothing else is.
        trust.isInsecure = insecure && pins == nil
        if insecure, pins != nil {
            trust.allowsInvalidCertificates = true
            trust.checksName = false
        }
        if denyPrivate { trust.deniedAddresses = .notPublic }
        if let pins { trust.pins["*"] = .init(pins.split(separator: ";").map(String.init)) }
        if let certificate {
            let password = try password.map { word in
                word.first == "@" ? try FileBytes.line(String(word.dropFirst())) : word
            }
            for url in urls {
                trust.clientCertificates[Self.origin(of: url)] = .init(
                    certificate, key: key, password: password)
            }
        }
        configuration.trust = trust
    }

    /// The URL up to its path: what follows may hold secrets, which an error would show.
    private static func origin(of url: String) -> String {
        guard let start = url.firstRange(of: "://") else { return url }
        return String(
            url[..<(url[start.upperBound...].firstIndex { "/?#".contains($0) } ?? url.endIndex)])
    }
}
