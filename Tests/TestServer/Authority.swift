// Wherry: a certificate authority and a server with its certificates, for Swift tests
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Good and bad certificates, made for this run, and a scripted server that shows them.
///
/// Which one a connection over TLS is shown is told by the name that it asks for: at
/// `expired.localhost` it is the one of kind `expired`. The kinds stand in
/// `wherry_testserver/authority.py`.
public final class Authority: Sendable {
    private struct Announcement: Decodable {
        let port, tlsPort, tls11Port, tls12Port, anonymousPort, clientPort: Int
        let stapleGoodPort, stapleRevokedPort: Int
        let folder: String
        let pins: [String: String]
    }

    private static let started = Result { try Authority() }

    /// The one of this test process, started at its first use.
    public static var shared: Authority {
        get throws { try started.get() }
    }

    /// Any kind, by name.
    public let tlsPort: Int
    /// TLS 1.0 and 1.1 alone; TLS 1.2 alone; TLS without any certificate.
    public let tls11Port, tls12Port, anonymousPort: Int
    /// Demands a certificate of the client.
    public let clientPort: Int
    /// Staple what an OCSP responder said: of the kind `good`, and of the kind `revoked`.
    public let stapleGoodPort, stapleRevokedPort: Int
    /// The pins of the kinds' keys, made by openssl: "sha256/...".
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

    /// The path of a file, such as "ca.pem".
    public func path(_ name: String) -> String { folder + "/" + name }

    /// The PEM file of the root.
    public var ca: String { path("ca.pem") }

    /// A part of the log for one test.
    public func key() -> String {
        keys.withLock { count in
            count += 1
            return "a\(count)"
        }
    }

    /// An address of the server that shows a kind: "https://KIND.localhost:PORT/...".
    public func url(_ host: String, _ path: String, key: String, port: Int? = nil) -> String {
        "https://\(host).localhost:\(port ?? tlsPort)/@\(key)\(path)"
    }

    /// The same in the clear.
    public func plainURL(_ host: String, _ path: String, key: String) -> String {
        "http://\(host):\(port)/@\(key)\(path)"
    }

    /// The requests of that part of the log.
    public func requests(key: String) throws -> [LoggedRequest] {
        struct Log: Decodable { let requests: [LoggedRequest] }
        let answer = try ControlConnection.ask(
            port: port, method: "GET", target: "/_log?key=\(key)")
        return try JSONDecoder().decode(Log.self, from: answer.body).requests
    }
}
