// Wherry: nginx for Swift tests.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// nginx on free loopback ports, with plain HTTP/1.1 and with HTTP/2 over TLS.
///
/// Routes: `/ok` (JSON), `/protocol`, `/connection`, and the static files `1k.bin`, `64k.bin`,
/// `1m.bin`, `16m.bin` (the bytes of `TestPattern` with seed 1) and `hello.txt`. The files are also
/// available under `/limited/` (2 MB/s per connection) and `/packed/` (gzip). `/via/PORT/` forwards
/// to another server. nginx stops with `stop`, `deinit`, or this process.
public final class NginxServer: Sendable {
    private struct Announcement: Decodable {
        let port, tlsPort: Int?
        let ca, root, missing: String?
    }

    /// Whether nginx is installed. A test that needs nginx has the trait `.enabled(if:
    /// NginxServer.isInstalled, "nginx is missing: run scripts/setup")`.
    public static let isInstalled: Bool = {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        return (folders.map(String.init) + ["/usr/sbin", "/usr/local/sbin"]).contains {
            FileManager.default.isExecutableFile(atPath: $0 + "/nginx")
        }
    }()

    private static let started = Result { try NginxServer() }

    /// The nginx of this test process, started on first use.
    public static var shared: NginxServer {
        get throws { try started.get() }
    }

    /// The ports for plain HTTP and for HTTPS.
    public let port, tlsPort: Int
    /// The path of the CA certificate to trust (PEM).
    public let ca: String
    /// The folder of the static files.
    public let root: String
    private let child: ChildProcess

    /// Starts a separate nginx. `root` is a folder of static files (default: the files listed
    /// above).
    public init(
        root: String? = nil, workers: Int = 1, certificate: TestServer.Certificate = .good
    ) throws {
        var arguments = ["--workers", String(workers), "--kind", certificate.rawValue]
        if let root { arguments += ["--root", root] }
        child = try ChildProcess(module: "wherry_testserver.nginx", arguments: arguments)
        let told = try child.announced(Announcement.self)
        guard let port = told.port, let tlsPort = told.tlsPort, let ca = told.ca,
            let root = told.root
        else {
            throw TestServerError(told.missing ?? "nginx told nothing of its ports")
        }
        self.port = port
        self.tlsPort = tlsPort
        self.ca = ca
        self.root = root
    }

    /// Stops nginx. A second call has no effect. `deinit` also stops it.
    public func stop() {
        child.stop()
    }

    /// Returns the plain HTTP URL of a path.
    public func url(_ path: String) -> String {
        "http://127.0.0.1:\(port)\(path)"
    }

    /// Returns the HTTPS URL of a path (HTTP/2 if the client offers it).
    public func tlsURL(_ path: String) -> String {
        "https://localhost:\(tlsPort)\(path)"
    }
}
