// Wherry: the scripted loopback server for Swift tests.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The Python test server as a child process; Tests/TestServer/README.md lists its routes.
///
/// Most tests share one server, and each test uses its own `Scope`. A scope has a separate log and
/// separate attempt counters, even if tests run at the same time:
///
///     let scope = try TestServer.shared.scope()
///     let url = scope.url("/bytes/1000?cut=400&times=1")
///     ...
///     #expect(try scope.requests().count == 2)
public final class TestServer: Sendable {
    /// The kind of the server's certificate.
    public enum Certificate: String, Sendable {
        /// Issued by `ca` for localhost and 127.0.0.1.
        case good
        /// Issued by `ca` for another host.
        case wrongName = "wrong-name"
        /// Issued by `ca`, expired.
        case expired
        /// Self-signed.
        case selfSigned = "self-signed"
    }

    private struct Announcement: Decodable {
        let port: Int
        let tlsPort: Int?
        let ca, clientCert, clientKey: String?
        let unix: String
    }

    private static let started = Result { try TestServer() }

    /// The server of this test process (plain HTTP), started on first use.
    public static var shared: TestServer {
        get throws { try started.get() }
    }

    /// The port for plain HTTP on 127.0.0.1.
    public let port: Int
    /// The port for HTTPS; nil without a certificate.
    public let tlsPort: Int?
    /// The path of a Unix socket that serves the same routes.
    public let unixSocket: String
    /// The path of the CA certificate to trust (PEM); nil without a certificate.
    public let ca: String?
    /// The paths of a client certificate issued by the CA and of its key (PEM); nil without a
    /// certificate.
    public let clientCertificate, clientKey: String?
    private let child: ChildProcess
    private let scopes = Mutex(0)

    /// Starts a separate server.
    ///
    /// - Parameters:
    ///   - certificate: The kind of certificate for HTTPS; nil (default) for no HTTPS.
    ///   - demandsClientCertificate: Whether to reject TLS clients without a certificate of the CA.
    ///   - saveDirectory: The folder where `/upload-photo` saves files; nil (default) saves none.
    ///   - port: The port for plain HTTP; 0 (default) selects a free one.
    public init(
        certificate: Certificate? = nil, demandsClientCertificate: Bool = false,
        saveDirectory: String? = nil, port: Int = 0
    ) throws {
        var arguments = ["--port", String(port), "--parent-pid", String(getpid())]
        if let certificate { arguments += ["--tls-make", certificate.rawValue] }
        if demandsClientCertificate { arguments.append("--tls-demand-client") }
        if let saveDirectory { arguments += ["--save-dir", saveDirectory] }
        child = try ChildProcess(module: "wherry_testserver", arguments: arguments)
        let told = try child.announced(Announcement.self)
        self.port = told.port
        tlsPort = told.tlsPort
        unixSocket = told.unix
        ca = told.ca
        clientCertificate = told.clientCert
        clientKey = told.clientKey
    }

    /// The process ID, for tests that kill the server during a transfer.
    public var pid: Int32 { child.pid }

    /// Stops the server and closes its connections. A second call has no effect. `deinit` also
    /// stops it.
    public func stop() {
        child.stop()
    }

    /// Returns the HTTP URL of a path, which may include a query.
    public func url(_ path: String, host: String = "127.0.0.1") -> String {
        "http://\(host):\(port)\(path)"
    }

    /// Returns the HTTPS URL of a path. Without a certificate, its port is 0.
    public func tlsURL(_ path: String, host: String = "localhost") -> String {
        "https://\(host):\(tlsPort ?? 0)\(path)"
    }

    /// Returns a new scope of the server for one test.
    public func scope() -> Scope {
        let number = scopes.withLock { count in
            count += 1
            return count
        }
        return Scope(server: self, key: "t\(number)")
    }

    /// Returns the requests so far, in order; only those with `key` if one is given.
    public func requests(key: String? = nil) throws -> [LoggedRequest] {
        struct Log: Decodable { let requests: [LoggedRequest] }
        return try control(Log.self, "/_log", key: key).requests
    }

    /// Returns counts and maximums so far; only of requests with `key` if one is given.
    public func stats(key: String? = nil) throws -> ServerStats {
        try control(ServerStats.self, "/_stats", key: key)
    }

    /// Sends a request to one of the server's control routes and returns the body. Throws for any
    /// status except 200.
    @discardableResult
    public func control(
        _ path: String, key: String? = nil, query: String = "", method: String = "GET",
        body: Data = Data()
    ) throws -> Data {
        let parts = [key.map { "key=\($0)" }, query.isEmpty ? nil : query].compactMap { $0 }
        let target = parts.isEmpty ? path : "\(path)?\(parts.joined(separator: "&"))"
        let answer = try ControlConnection.ask(
            port: port, method: method, target: target, body: body)
        guard answer.status == 200 else {
            let words = String(decoding: answer.body, as: UTF8.self)
            throw TestServerError("\(target) answered \(answer.status): \(words)")
        }
        return answer.body
    }

    func control<Answer: Decodable>(
        _ type: Answer.Type, _ path: String, key: String?, query: String = ""
    ) throws -> Answer {
        try JSONDecoder().decode(type, from: control(path, key: key, query: query))
    }
}

extension TestServer {
    /// A scope of the server for one test: the first path segment of its requests is a key.
    public struct Scope: Sendable {
        /// The server.
        public let server: TestServer
        /// The key that separates the scope's log, attempts, gates and scripts.
        public let key: String

        /// Returns the HTTP URL of a path in this scope.
        public func url(_ path: String, host: String = "127.0.0.1") -> String {
            server.url("/@\(key)\(path)", host: host)
        }

        /// Returns the HTTPS URL of a path in this scope.
        public func tlsURL(_ path: String, host: String = "localhost") -> String {
            server.tlsURL("/@\(key)\(path)", host: host)
        }

        /// Returns the requests of this scope so far.
        public func requests() throws -> [LoggedRequest] {
            try server.requests(key: key)
        }

        /// Returns counts and maximums of this scope so far.
        public func stats() throws -> ServerStats {
            try server.stats(key: key)
        }

        /// Waits until counts are reached, without blocking a thread of Swift's pool.
        ///
        /// `condition` is a query for `/_wait`, such as `requests=3`, `ended=2`, `received=1000` or
        /// `open_most=0`. Throws after `timeout` seconds.
        @discardableResult
        public func wait(_ condition: String, timeout: Int = 120) async throws -> ServerStats {
            try await withCheckedThrowingContinuation { continuation in
                Thread.detachNewThread {
                    let result = Result { try waitBlocking(condition, timeout: timeout) }
                    continuation.resume(with: result)
                }
            }
        }

        /// Like `wait`, but blocks the calling thread.
        @discardableResult
        public func waitBlocking(_ condition: String, timeout: Int = 120) throws -> ServerStats {
            try server.control(
                ServerStats.self, "/_wait", key: key, query: "\(condition)&timeout=\(timeout)")
        }

        /// Opens a gate, at which requests with `gate=name` wait.
        public func open(gate name: String) throws {
            try server.control("/_signal", key: key, query: "gate=\(name)")
        }

        /// Stores the steps of `/s/name`, one per request. `steps` is a JSON array.
        public func script(_ name: String, _ steps: String) throws {
            let body = Data("{\"\(name)\": \(steps)}".utf8)
            try server.control("/_script", key: key, method: "POST", body: body)
        }

        /// Drops the open connections of this scope.
        public func dropConnections() throws {
            try server.control("/_drop", key: key)
        }

        /// Clears the requests and attempt counters of this scope.
        public func reset() throws {
            try server.control("/_reset", key: key)
        }
    }
}
