// Wherry: a certificate authority and a server with its certificates, for Swift tests.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Valid and invalid certificates, created for this run, and a scripted server that uses them.
///
/// The server name of a TLS connection selects the certificate: `expired.localhost` gets the
/// certificate of kind `expired`. `wherry_testserver/authority.py` lists the kinds.
public final class Authority: Sendable {
    private struct Announcement: Decodable {
        let port, tlsPort, tls11Port, tls12Port, anonymousPort, clientPort: Int
        let stapleGoodPort, stapleRevokedPort: Int
        let folder: String
        let pins: [String: String]
    }

    private static let started = Result { try Authority() }

    /// The authority of this test process, started on first use.
    public static var shared: Authority {
        get throws { try started.get() }
    }

    /// The TLS port for all kinds, selected by server name.
    public let tlsPort: Int
    /// The ports for TLS 1.0 and 1.1 only, for TLS 1.2 only, and for TLS without a certificate.
    public let tls11Port, tls12Port, anonymousPort: Int
    /// The port that requires a client certificate.
    public let clientPort: Int
    /// The ports with a stapled OCSP response: of the kinds `good` and `revoked`.
    public let stapleGoodPort, stapleRevokedPort: Int
    /// The pins of the kinds' keys, computed by openssl: "sha256/...".
    public let pins: [String: String]
    private let port: Int
    private let folder: String
    private let child: ChildProcess
    private let keys = Mutex(0)

    private init() throws {
        child = try ChildProcess(module: "wherry_testserver.authority", arguments: [])
        let told = try child.announced(Announcement.self)
        port = told.port
        tlsPort = told.tlsPort
        tls11Port = told.tls11Port
        tls12Port = told.tls12Port
        anonymousPort = told.anonymousPort
        clientPort = told.clientPort
        stapleGoodPort = told.stapleGoodPort
        stapleRevokedPort = told.stapleRevokedPort
        folder = told.folder
        pins = told.pins
    }

    /// Returns the path of a file, such as "ca.pem".
    public func path(_ name: String) -> String { folder + "/" + name }

    /// The path of the root certificate in PEM format.
    public var ca: String { path("ca.pem") }

    /// Returns a new key, which separates the log of one test.
    public func key() -> String {
        keys.withLock { count in
            count += 1
            return "a\(count)"
        }
    }

    /// Returns an HTTPS URL of the server, for a kind: "https://KIND.localhost:PORT/...".
    public func url(_ host: String, _ path: String, key: String, port: Int? = nil) -> String {
        "https://\(host).localhost:\(port ?? tlsPort)/@\(key)\(path)"
    }

    /// Returns the same URL without TLS.
    public func plainURL(_ host: String, _ path: String, key: String) -> String {
        "http://\(host):\(port)/@\(key)\(path)"
    }

    /// Returns the logged requests with a key.
    public func requests(key: String) throws -> [LoggedRequest] {
        struct Log: Decodable { let requests: [LoggedRequest] }
        let answer = try ControlConnection.ask(
            port: port, method: "GET", target: "/_log?key=\(key)")
        return try JSONDecoder().decode(Log.self, from: answer.body).requests
    }
}
