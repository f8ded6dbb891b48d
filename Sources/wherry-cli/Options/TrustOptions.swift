// Wherry: the options about whom to trust, named as curl names them.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import Wherry

struct TrustOptions: ParsableArguments, Sendable {
    @Option(
        name: .customLong("cacert"),
        help: ArgumentHelp(
            "Certificates (PEM) to trust instead of the system's.", valueName: "file"),
        completion: .file())
    var caFile: String?

    @Option(
        name: .customLong("capath"),
        help: ArgumentHelp(
            "The same in a folder that 'openssl rehash' made.", valueName: "folder"),
        completion: .directory)
    var caDirectory: String?

    @Option(
        name: .customLong("crlfile"),
        help: ArgumentHelp(
            "Revoked certificates (PEM), of every CA of a chain.", valueName: "file"),
        completion: .file())
    var crlFile: String?

    @Flag(
        name: .customLong("cert-status"),
        help: "Ask the server for a good OCSP answer of its CA, stapled.")
    var certStatus = false

    @Option(
        name: .customLong("cert"),
        help: ArgumentHelp(
            "A certificate (PEM or PKCS #12) to show to the servers of the URLs given, and to no other.",
            valueName: "file"),
        completion: .file())
    var certificate: String?

    @Option(
        help: ArgumentHelp(
            "Its key (PEM), where it stands in a file of its own.", valueName: "file"),
        completion: .file())
    var key: String?

    @Option(
        name: .customLong("pass"),
        help: ArgumentHelp(
            "The password of the key: itself, @FILE, or @- for standard input.",
            discussion: "Other users can see a command line, and not a file.",
            valueName: "password"))
    var password: String?

    @Option(
        name: .customLong("pinnedpubkey"),
        help: ArgumentHelp(
            "Keys of which every server must have one: sha256//BASE64, several with ; between, or a file (PEM, DER).",
            valueName: "pins"))
    var pins: String?

    @Flag(
        name: .customLong("tlsv1.3"),
        help: "Do not speak TLS 1.2, the oldest that is spoken otherwise.")
    var requiresTLS13 = false

    @Flag(name: .customLong("https-only"), help: "Fail rather than ask without TLS.")
    var httpsOnly = false

    @Flag(
        name: .customLong("deny-private"),
        help:
            "Connect to public addresses only, wherever a name or a redirect leads. No proxy is used."
    )
    var denyPrivate = false

    @Flag(help: "Trust any certificate. Whoever sits in between can read and change everything.")
    var insecure = false

    mutating func validate() throws {
        if certificate == nil && (key != nil || password != nil) {
            throw ValidationError("--key and --pass go with --cert.")
        }
    }

    /// Sets a client's policy for the servers of URLs.
    func apply(to configuration: inout Client.Configuration, urls: [String]) throws {
        var trust = configuration.trust
        trust.caFile = caFile
        trust.caDirectory = caDirectory
        trust.crlFile = crlFile
        trust.requiresStaple = certStatus
        trust.minimumTLS = requiresTLS13 ? .v1_3 : .v1_2
        trust.isHTTPSOnly = httpsOnly
        trust.isInsecure = insecure
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
        guard let start = url.range(of: "://") else { return url }
        return String(
            url[..<(url[start.upperBound...].firstIndex { "/?#".contains($0) } ?? url.endIndex)])
    }
}
