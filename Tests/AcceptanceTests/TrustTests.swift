// Wherry: acceptance tests of TLS: certificates, versions, revocation, client certificates
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry
import WherryCore

/// A certificate of Tests/Scenarios/certificates.json.
struct CertificateCase: Decodable, Sendable, CustomTestStringConvertible {
    let host: String
    let reason: String
    /// Which certificate it is.
    var kind: String { host.split(separator: ".").last.map(String.init) ?? host }
    var testDescription: String { host }
}

let certificateCases = Result { try scenarios("certificates.json", of: CertificateCase.self) }

/// A client that trusts the root of the test authority.
func trustingClient(
    _ authority: Authority, _ configure: (inout Client.Configuration) -> Void = { _ in }
) throws -> Client {
    try makeClient {
        $0.caFile = authority.ca
        configure(&$0)
    }
}

@Suite struct TrustTests {
    private let authority: Authority
    private let key: String

    init() throws {
        authority = try Authority.shared
        key = authority.key()
    }

    private func url(_ host: String, _ path: String = "/echo", port: Int? = nil) -> String {
        authority.url(host, path, key: key, port: port)
    }

    /// The reason why a GET fails; `nil` if it succeeds.
    private func refusal(_ client: Client, _ url: String) async -> WherryError? {
        await failure { () throws(WherryError) in try await client.get(url) }
    }

    // MARK: Certificates

    @Test(
        "S1 SEC-T2 SEC-T3 SEC-T13 each bad certificate is refused with its reason"
    )
    func badCertificates() async throws {
        let client = try trustingClient(authority)
        for row in try certificateCases.get() {
            let error = await refusal(client, url(row.host))
            #expect(error?.reason ?? "" == row.reason, "\(row.host): \(String(describing: error))")
            if row.reason != "" { #expect(error?.code == .tls) }
        }
        let good = try certificateCases.get().filter { $0.reason == "" }
        #expect(try authority.requests(key: key).count == good.count)
    }

    @Test("SEC-T4 a matching pin does not help a bad certificate")
    func pinsAddRefusals() async throws {
        for row in try certificateCases.get() {
            let pin = try #require(authority.pins[row.kind])
            let client = try trustingClient(authority) {
                $0.trust.pins["*"] = .init(pin)
            }
            let error = await refusal(client, url(row.host))
            #expect(error?.reason ?? "" == row.reason, "\(row.host): \(String(describing: error))")
        }
    }

    @Test("S1 without a custom CA the system's apply, and only insecure accepts any certificate")
    func systemRoots() async throws {
        #expect(await refusal(try makeClient(), url("good"))?.reason == "untrusted")
        let insecure = try makeClient { $0.isInsecure = true }
        for host in ["good", "expired", "wrong-name", "self-signed"] {
            #expect(try await insecure.get(url(host)).status == 200)
        }
        #expect(try authority.requests(key: key).count == 4)
    }

    @Test("S6 SEC-T13 a failure names the host, the certificate, and its problem")
    func refusalText() async throws {
        let client = try trustingClient(authority)
        for (host, words) in [
            ("expired", ["expired", "/CN=expired", "/CN=Wherry ca"]),
            ("self-signed", ["self-signed certificate", "/CN=self-signed.localhost"]),
            ("wrong-name", ["no alternative certificate", "/CN=wrong-name"]),
            ("expired-intermediate", ["expired", "/CN=inter-expired"]),
        ] {
            let error = await refusal(client, url(host))
            let message = error?.message ?? ""
            for word in words + ["https://\(host).localhost:\(authority.tlsPort)"] {
                #expect(message.contains(word), "\(message)")
            }
            #expect(error?.curlCode != 0)
        }
    }

    @Test("SEC-T8 one client's trust does not affect another, before and after")
    func identitiesApart() async throws {
        let insecure = try makeClient { $0.isInsecure = true }
        let strict = try makeClient()
        let trusting = try trustingClient(authority)
        for _ in 0..<2 {
            #expect(try await insecure.get(url("good")).status == 200)
            #expect(await refusal(strict, url("good"))?.reason == "untrusted")
            #expect(try await trusting.get(url("good")).status == 200)
        }
        let connections = Set(try authority.requests(key: key).map(\.connection))
        #expect(connections.count == 2)
    }

    // MARK: Roots

    @Test(
        "SEC-T1 roots are a file, a folder, or bytes, and unreadable ones are refused at once")
    func roots() async throws {
        let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: authority.ca)))
        let ways: [(inout Client.Configuration) -> Void] = [
            { [ca = authority.ca] in $0.trust.caFile = ca },
            { [roots = authority.path("roots")] in $0.trust.caDirectory = roots },
            { $0.trust.caCertificates = bytes },
        ]
        for way in ways {
            let client = try makeClient(nil, way)
            #expect(try await client.get(url("good")).status == 200)
            #expect(await refusal(client, url("unknown-root"))?.reason == "untrusted")
        }
        let wrong: [(String, (inout Client.Configuration) -> Void)] = [
            ("no_file", { $0.trust.caFile = "/nonexistent.pem" }),
            ("no_file", { $0.trust.caDirectory = "/nonexistent" }),
            ("no_file", { $0.trust.crlFile = "/nonexistent.pem" }),
            ("bad_certificate", { $0.trust.caFile = "/proc/version" }),
            ("bad_certificate", { $0.trust.crlFile = "/proc/version" }),
            ("bad_certificate", { $0.trust.caCertificates = [1, 2, 3] }),
            ("bad_certificate", { $0.trust.caCertificates = Array(bytes.dropLast(40)) }),
            (
                "bad_value",
                { [ca = authority.ca] in
                    $0.trust.caFile = ca
                    $0.trust.caCertificates = bytes
                }
            ),
        ]
        for (reason, way) in wrong {
            #expect(await failure { () throws(WherryError) in try Client(way) }?.reason == reason)
        }
    }

    // MARK: Versions

    @Test("SEC-T2 TLS 1.2 is the oldest version, 1.3 is allowed; anonymous ciphers are refused")
    func versions() async throws {
        let client = try trustingClient(authority)
        let newest = try trustingClient(authority) { $0.trust.minimumTLS = .v1_3 }
        for port in [authority.tls11Port, authority.anonymousPort] {
            for client in [client, newest] {
                let error = await refusal(client, url("good", port: port))
                #expect(error?.reason == "tls_protocol", "\(String(describing: error))")
            }
        }
        #expect(try await client.get(url("good", port: authority.tls12Port)).status == 200)
        #expect(
            await refusal(newest, url("good", port: authority.tls12Port))?.reason == "tls_protocol")
        #expect(try await newest.get(url("good")).status == 200)
        #expect(try authority.requests(key: key).count == 2)
    }

    // MARK: Revocation

    @Test("SEC-T9 a given revocation list is enforced")
    func revoked() async throws {
        let careless = try trustingClient(authority)
        #expect(try await careless.get(url("revoked")).status == 200)
        let client = try trustingClient(authority) { $0.trust.crlFile = authority.path("crl.pem") }
        let error = await refusal(client, url("revoked"))
        #expect(error?.reason == "revoked" && error?.message.contains("/CN=revoked") == true)
        #expect(try await client.get(url("good")).status == 200)
        // The list of this chain's own CA is missing.
        #expect(await refusal(client, url("chained"))?.reason == "untrusted")
    }

    @Test("S10 SEC-T9 if a staple is required, a missing or bad one is refused")
    func staples() async throws {
        let client = try trustingClient(authority) { $0.trust.requiresStaple = true }
        let plain = try trustingClient(authority)
        let good = "https://good.localhost:\(authority.stapleGoodPort)/"
        let revoked = "https://revoked.localhost:\(authority.stapleRevokedPort)/"
        #expect(try await client.get(good).status == 200)
        #expect(await refusal(client, revoked)?.reason == "revoked")
        #expect(await refusal(client, url("good"))?.reason == "untrusted")
        #expect(try await plain.get(revoked).status == 200)
    }

    // MARK: Client certificates

    @Test("S7 SEC-T10 a client certificate is PEM or PKCS 12, and is sent only to its origin")
    func clientCertificates() async throws {
        let origin = "https://good.localhost:\(authority.clientPort)"
        func client(_ certificate: TrustPolicy.ClientCertificate?) throws -> Client {
            try trustingClient(authority) { $0.trust.clientCertificates[origin] = certificate }
        }
        let pem = authority.path("client.pem")
        for certificate in [
            TrustPolicy.ClientCertificate(pem, key: authority.path("client.key")),
            .init(pem, key: authority.path("client.locked.key"), password: "open sesame"),
            .init(authority.path("client.both.pem")),
            .init(authority.path("client.p12"), password: "open sesame"),
        ] {
            let client = try client(certificate)
            #expect(try await client.get(url("good", port: authority.clientPort)).status == 200)
            // The same server under another name is another origin.
            let error = await refusal(client, url("chained", port: authority.clientPort))
            #expect(error?.reason == "client_certificate", "\(String(describing: error))")
        }
        #expect(try authority.requests(key: key).count == 4)
        for certificate in [
            nil,
            TrustPolicy.ClientCertificate(
                authority.path("alien.pem"), key: authority.path("alien.key")),
        ] {
            let error = await refusal(
                try client(certificate), url("good", port: authority.clientPort))
            #expect(error?.reason == "client_certificate", "\(String(describing: error))")
        }
        // A wrong password, a missing one, and a key that belongs to another certificate.
        for certificate in [
            TrustPolicy.ClientCertificate(authority.path("client.p12"), password: "shut"),
            .init(pem, key: authority.path("client.locked.key")),
            .init(pem, key: authority.path("alien.key")),
        ] {
            let error = await refusal(
                try client(certificate), url("good", port: authority.clientPort))
            #expect(error?.reason == "tls", "\(String(describing: error))")
            #expect(error?.message.contains("shut") == false)
        }
        #expect(try authority.requests(key: key).count == 4)
    }

    @Test("S7 SEC-T10 a redirect does not send a client certificate to another origin")
    func certificateStaysAtHome() async throws {
        let origin = "https://good.localhost:\(authority.clientPort)"
        let client = try trustingClient(authority) {
            $0.trust.clientCertificates[origin] = .init(authority.path("client.both.pem"))
        }
        let away =
            url("chained", port: authority.clientPort)
            .addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        let error = await refusal(
            client, url("good", "/redirect-to?url=\(away)", port: authority.clientPort))
        #expect(error?.reason == "client_certificate", "\(String(describing: error))")
        #expect(try authority.requests(key: key).count == 1)
    }

    @Test("S7 an unusable client certificate is refused when the client is created")
    func badClientCertificates() async throws {
        let pem = authority.path("client.pem")
        for (reason, origin, certificate) in [
            ("no_file", "https://a", TrustPolicy.ClientCertificate("/nonexistent.pem")),
            ("bad_certificate", "https://a", .init("/proc/version")),
            ("bad_certificate", "https://a", .init(pem)),
            ("bad_certificate", "https://a", .init(pem, key: "/proc/version")),
            ("bad_url", "http://a", .init(authority.path("client.both.pem"))),
            ("bad_url", "", .init(authority.path("client.both.pem"))),
            ("bad_url", "a b", .init(authority.path("client.both.pem"))),
        ] {
            let error = await failure { () throws(WherryError) in
                try Client { $0.trust.clientCertificates[origin] = certificate }
            }
            #expect(error?.reason == reason, "\(String(describing: error))")
        }
        // The base URL's origin if none is named.
        let client = try trustingClient(authority) {
            $0.baseURL = url("good", "/", port: authority.clientPort)
            $0.trust.clientCertificates[""] = .init(authority.path("client.both.pem"))
        }
        #expect(try await client.get("echo").status == 200)
    }

    @Test(
        "SEC-T4 SEC-C10 a background session refuses settings that its records cannot keep")
    func backgroundSessions() async throws {
        let ways: [(inout Client.Configuration) -> Void] = [
            { [pins = authority.pins] in $0.trust.pins["*"] = .init(pins["good"] ?? "") },
            { [pem = authority.path("client.both.pem")] in
                $0.trust.clientCertificates["https://a"] = .init(pem)
            },
            { $0.trust.caCertificates = [1] },
            { $0.credentials = Credentials(user: "skye", password: "secret", scheme: .basic) },
        ]
        for way in ways {
            let error = await failure { () throws(WherryError) in
                try BackgroundSession("trust", way)
            }
            #expect(error?.reason == "bad_option", "\(String(describing: error))")
        }
    }

    // MARK: https only, and addresses

    @Test("S10 https only refuses other URLs")
    func httpsOnly() async throws {
        let client = try trustingClient(authority) { $0.trust.isHTTPSOnly = true }
        let plain = authority.plainURL("127.0.0.1", "/echo", key: key)
        let error = await refusal(client, plain)
        #expect(error?.reason == "https_only" && error?.code == .argument)
        let folder = try TemporaryFolder()
        let download = await failure { () throws(WherryError) in
            try client.download(plain, to: folder.path + "/file")
        }
        #expect(download?.reason == "https_only")
        #expect(try await client.get(url("good")).status == 200)
        #expect(try authority.requests(key: key).count == 1)
        let base = await failure { () throws(WherryError) in
            try Client {
                $0.trust.isHTTPSOnly = true
                $0.baseURL = "http://example.org"
            }
        }
        #expect(base?.reason == "https_only")
        #expect(
            await failure { () throws(WherryError) in try client.setBaseURL("http://a") }?.reason
                == "https_only")
    }

    @Test(
        "SEC-U7 denied addresses get no connection, in any spelling and at any redirect"
    )
    func deniedAddresses() async throws {
        let client = try trustingClient(authority) {
            $0.trust.deniedAddresses = .notPublic
            $0.proxy = nil
        }
        let allowing = try trustingClient(authority) {
            $0.trust.deniedAddresses = [.linkLocal, .privateUse]
        }
        for host in [
            "127.0.0.1", "127.1", "2130706433", "0x7f.1", "0177.0.0.1", "localhost", "a.localhost",
            "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0",
        ] {
            let error = await refusal(client, authority.plainURL(host, "/echo", key: key))
            #expect(
                error?.reason == "address_denied" && error?.isRetryable == false,
                "\(host): \(String(describing: error))")
        }
        #expect(await refusal(client, url("good"))?.reason == "address_denied")
        #expect(
            await refusal(client, "http://169.254.169.254/latest")?.message.contains("metadata")
                == true)
        for target in ["http://169.254.169.254/latest", "http://10.1.2.3/", "http://[fe80::1]/"] {
            let escaped = target.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
            let hop = authority.plainURL("127.0.0.1", "/redirect-to?url=\(escaped)", key: key)
            #expect(await refusal(allowing, hop)?.reason == "address_denied")
        }
        // Only the redirects themselves were requested.
        #expect(try authority.requests(key: key).count == 3)
        let proxied = await failure { () throws(WherryError) in
            try Client {
                $0.trust.deniedAddresses = .loopback
                $0.proxy = "http://127.0.0.1:1"
            }
        }
        #expect(proxied?.reason == "bad_value")
    }
}
