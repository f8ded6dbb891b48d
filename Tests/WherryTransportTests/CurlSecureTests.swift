// Wherry: the libcurl transport over TLS and HTTP/2: streams, resets, certificates, missing lengths
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import WherrySystem

@testable import WherryTransport

@Suite struct CurlSecureTests {
    private func trusting(_ ca: String?) -> TransportConfiguration {
        var configuration = TransportConfiguration()
        configuration.caFile = ca
        return configuration
    }

    // MARK: HTTP/2

    @Test(.enabled(if: NginxServer.isInstalled, "nginx is missing: run scripts/setup"))
    func `endless streams leave the connections to other hosts`() throws {
        let nginx = try NginxServer.shared
        let scope = try TestServer.shared.scope()
        var configuration = trusting(nginx.ca)
        configuration.maxPerHost = 2
        configuration.maxConnections = 2
        try withTransport(configuration) { transport in
            let path = scope.url("/bytes/20?hold=10&gate=g").split(separator: "/", maxSplits: 2)[2]
            let target = nginx.tlsURL("/via/\(scope.server.port)/\(path)")
            let held = try (0..<6).map { _ in
                try Call(
                    "GET", target, receiver: RecordingReceiver(.deliver(offset: 0, eager: true))
                ).start(on: transport)
            }
            for call in held { #expect(call.receiver.wait { $0.pieceBytes == 10 }) }
            #expect(held[0].receiver.heard.withLock { $0.heads[0].httpVersion } == 20)
            let plain = try (0..<4).map { _ in
                try Call("GET", scope.url("/bytes/10")).start(on: transport)
            }
            for call in plain { #expect(try call.result().error == nil) }
            #expect(held.allSatisfy { !$0.receiver.isFinished })
            try scope.open(gate: "g")
            for call in held { #expect(try call.result().error == nil) }
            #expect(held[5].receiver.delivered == TestPattern.bytes(count: 20))
        }
    }

    @Test(.enabled(if: NginxServer.isInstalled, "nginx is missing: run scripts/setup"))
    func `connections of both versions to one host are reused, each with its version`() throws {
        let nginx = try NginxServer.shared
        try withTransport(trusting(nginx.ca)) { transport in
            func version(_ asked: Int32) throws -> (Int?, isReused: Bool) {
                let call = try Call("GET", nginx.tlsURL("/ok")) { $0.httpVersion = asked }
                let result = try call.start(on: transport).result()
                #expect(result.error == nil)
                return (result.head?.httpVersion, result.metrics.isReused)
            }
            let (first, old) = (try version(0), try version(11))
            #expect(first == (20, false) && old == (11, false))
            for _ in 0..<20 {
                let next = try version(11)
                #expect(next == (11, true))
                // Whichever one it gets.
                let any = try version(0)
                #expect(any.isReused)
            }
        }
    }

    @Test(.enabled(if: NginxServer.isInstalled, "nginx is missing: run scripts/setup"))
    func `a stream reset is reported as a dropped connection`() throws {
        let nginx = try NginxServer.shared
        let scope = try TestServer.shared.scope()
        try withTransport(trusting(nginx.ca)) { transport in
            let path = scope.url("/bytes/1000000?cut=400000").split(separator: "/", maxSplits: 2)[2]
            let result = try Call("GET", nginx.tlsURL("/via/\(scope.server.port)/\(path)"))
                .start(on: transport).result()
            #expect(result.head?.httpVersion == 20)
            #expect(result.error?.kind == .reset, "\(String(describing: result.error))")
            // The other streams of the connection are not affected.
            let next = try Call("GET", nginx.tlsURL("/ok")).start(on: transport).result()
            #expect(next.error == nil && next.metrics.isReused)
        }
    }

    // MARK: The handshake

    @Test(arguments: [
        (BreakingListener.End.reset, TransportError.Kind.reset), (.close, .reset), (.answer, .tls),
    ])
    func `a drop during the handshake is a dropped connection, a lack of TLS another error`(
        end: BreakingListener.End, kind: TransportError.Kind
    ) throws {
        let listener = try BreakingListener(end)
        defer { listener.stop() }
        try withTransport { transport in
            let error = try Call("GET", "https://127.0.0.1:\(listener.port)/").start(on: transport)
                .result().error
            #expect(error?.kind == kind, "\(String(describing: error))")
        }
    }

    @Test func `a certificate of another host is reported as such for any host name`() throws {
        let server = try TestServer(certificate: .wrongName)
        try withTransport(trusting(server.ca)) { transport in
            for host in ["localhost", "expired.localhost"] {
                let error = try Call("GET", server.tlsURL("/empty", host: host)).start(
                    on: transport
                )
                .result().error
                #expect(error?.kind == .wrongName, "\(String(describing: error))")
            }
        }
    }

    // The rule for subjectAltName is Wherry's, in an OpenSSL callback. Without the callback a
    // common name counted again.
    @Test func `SEC-T3 nothing is sent over TLS if certificates cannot be checked`() throws {
        let server = try TestServer(certificate: .good)
        for isInsecure in [false, true] {
            var configuration = trusting(server.ca)
            configuration.trust.findsOpenSSL = false
            configuration.insecure = isInsecure
            try withTransport(configuration) { transport in
                let call = try Call("GET", server.tlsURL("/empty"))
                let error = try call.start(on: transport).result().error
                #expect((error == nil) == isInsecure, "\(String(describing: error))")
                guard !isInsecure else { return }
                #expect(error?.kind == .tls)
                #expect(error?.message.contains("Install a libcurl") == true)
            }
        }
        #expect(try server.requests().count == 1)
    }

    // MARK: Lengths

    @Test func `a body over TLS without a length is verified only by close_notify`()
        throws
    {
        let server = try TestServer(certificate: .good)
        try withTransport(trusting(server.ca)) { transport in
            for (path, method, isUnverified) in [
                ("/bytes/1000?no_length=1&cut=400&unclean=1", "GET", true),
                ("/bytes/1000?no_length=1&cut=0&unclean=1", "GET", true),
                ("/bytes/0?no_length=1", "GET", false), ("/bytes/1000?no_length=1", "GET", false),
                ("/bytes/1000?no_length=1&cut=0", "GET", false),
                ("/bytes/1000?no_length=1", "HEAD", false), ("/bytes/0", "GET", false),
                ("/bytes/0?chunked=1", "GET", false), ("/status/204", "GET", false),
            ] {
                let result = try Call(method, server.tlsURL(path)).start(on: transport).result()
                #expect(result.error == nil, "\(method) \(path)")
                #expect(result.isLengthUnverified == isUnverified, "\(method) \(path)")
            }
        }
    }
}

/// Accepts connections, and drops each after its first bytes.
final class BreakingListener: Sendable {
    enum End: Sendable { case reset, close, answer }

    let port: Int
    private let descriptor: Int32
    private let thread: NativeThread

    init(_ end: End) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
            }
        }
        try #require(isBound && listen(descriptor, 8) == 0)
        port = Int(UInt16(bigEndian: address.sin_port))
        self.descriptor = descriptor
        thread = try NativeThread(name: "listener") {
            while true {
                let connection = accept(descriptor, nil, nil)
                guard connection >= 0 else { return }
                var byte: UInt8 = 0
                _ = recv(connection, &byte, 1, 0)
                if end == .reset {
                    var option = linger(l_onoff: 1, l_linger: 0)
                    setsockopt(
                        connection, SOL_SOCKET, SO_LINGER, &option,
                        socklen_t(MemoryLayout<linger>.size))
                } else {
                    // With unread bytes the end would be a reset.
                    var rest = [UInt8](repeating: 0, count: 65_536)
                    _ = recv(connection, &rest, rest.count, 0)
                    let words = Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8)
                    if end == .answer { _ = send(connection, words, words.count, 0) }
                }
                close(connection)
            }
        }
    }

    func stop() {
        shutdown(descriptor, Int32(SHUT_RDWR))
        thread.join()
        close(descriptor)
    }
}
