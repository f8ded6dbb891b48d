// Wherry: the scripted loopback server for Swift tests
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The Python test server as a child process; Tests/TestServer/README.md lists its routes.
///
/// Most tests share one server and use a `Scope` each, which separates their logs and attempt
/// counters although they run at the same time:
///
///     let scope = try TestServer.shared.scope()
///     let url = scope.url("/bytes/1000?cut=400&times=1")
///     ...
///     #expect(try scope.requests().count == 2)
public final class TestServer: Sendable {
    /// The kind of the server's certificate.
    public enum Certificate: String, Sendable {
        /// For localhost and 127.0.0.1, issued by `ca`.
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

    /// The port of plain HTTP on 127.0.0.1.
    public let port: Int
    /// The port of HTTPS; nil without a certificate.
    public let tlsPort: Int?
    /// The path of a Unix socket that serves the same.
    public let unixSocket: String
    /// The PEM file of the CA to trust; nil without a certificate.
    public let ca: String?
    /// PEM files of a client certificate of that CA and its key; nil without a certificate.
    public let clientCertificate, clientKey: String?
    private let child: ChildProcess
    private let scopes = Mutex(0)

    /// Starts a separate server.
    ///
    /// - Parameters:
    ///   - certificate: Serves HTTPS too, with a certificate of that kind; nil (default): no HTTPS.
    ///   - demandsClientCertificate: Refuses TLS clients without a certificate of the CA.
    ///   - saveDirectory: The folder where `/upload-photo` keeps its files; nil (default): none.
    ///   - port: The port of plain HTTP; 0 (default) selects a free one.
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

    /// The process, for tests that end the server during a transfer.
    public var pid: Int32 { child.pid }

    /// Ends the server and its connections; a second call has no effect. `deinit` does it too.
    public func stop() {
        child.stop()
    }

    /// The HTTP URL of a path (with its query).
    public func url(_ path: String, host: String = "127.0.0.1") -> String {
        "http://\(host):\(port)\(path)"
    }

    /// The HTTPS URL of a path; without a certificate its port is 0.
    public func tlsURL(_ path: String, host: String = "localhost") -> String {
        "https://\(host):\(tlsPort ?? 0)\(path)"
    }

    /// A scope of the server for one test.
    public func scope() -> Scope {
        let number = scopes.withLock { count in
            count += 1
            return count
        }
        return Scope(server: self, key: "t\(number)")
    }

    /// The requests so far in order, restricted to `key` if one is given.
    public func requests(key: String? = nil) throws -> [LoggedRequest] {
        struct Log: Decodable { let requests: [LoggedRequest] }
        return try control(Log.self, "/_log", key: key).requests
    }

    /// Counts and peaks so far, restricted to `key` if one is given.
    public func stats(key: String? = nil) throws -> ServerStats {
        try control(ServerStats.self, "/_stats", key: key)
    }

    /// Sends a request to one of the server's own routes and returns the body; any status except
    /// 200 is an error.
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
    /// A test's scope of a server: its requests have a key as the first path segment.
    public struct Scope: Sendable {
        /// The server.
        public let server: TestServer
        /// The key of this scope's log, attempts, gates, and scripts on the server.
        public let key: String

        /// The HTTP URL of a path in this scope.
        public func url(_ path: String, host: String = "127.0.0.1") -> String {
            server.url("/@\(key)\(path)", host: host)
        }

        /// The HTTPS URL of a path in this scope.
        public func tlsURL(_ path: String, host: String = "localhost") -> String {
            server.tlsURL("/@\(key)\(path)", host: host)
        }

        /// The requests of this scope so far.
        public func requests() throws -> [LoggedRequest] {
            try server.requests(key: key)
        }

        /// Counts and peaks of this scope so far.
        public func stats() throws -> ServerStats {
            try server.stats(key: key)
        }

        /// Waits until counts are reached, without blocking a thread of Swift's own pool.
        ///
        /// `condition` is a query of `/_wait`, such as `requests=3`, `ended=2`, `received=1000`,
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

        /// Waits like `wait`, on the calling thread.
        @discardableResult
        public func waitBlocking(_ condition: String, timeout: Int = 120) throws -> ServerStats {
            try server.control(
                ServerStats.self, "/_wait", key: key, query: "\(condition)&timeout=\(timeout)")
        }

        /// Opens the gate at which requests with `gate=name` wait.
        public func open(gate name: String) throws {
            try server.control("/_signal", key: key, query: "gate=\(name)")
        }

        /// Stores the steps that `/s/name` plays, one per request; `steps` is a JSON array.
        public func script(_ name: String, _ steps: String) throws {
            let body = Data("{\"\(name)\": \(steps)}".utf8)
            try server.control("/_script", key: key, method: "POST", body: body)
        }

        /// Drops the scope's open connections.
        public func dropConnections() throws {
            try server.control("/_drop", key: key)
        }

        /// Clears the scope's requests and attempts.
        public func reset() throws {
            try server.control("/_reset", key: key)
        }
    }
}
