// Wherry: the index of CA certificates
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import WherrySystem

@testable import WherryTransport

@Suite struct TrustAnchorsTests {
    private static let begin = "-----BEGIN CERTIFICATE-----\n"
    private static let end = "-----END CERTIFICATE-----\n"

    private func pem() throws -> String {
        try String(contentsOfFile: NginxServer.shared.ca, encoding: .utf8)
    }

    private func count(_ text: String) -> Int? {
        TrustAnchors(bytes: Array(text.utf8))?.count
    }

    @Test(
        "SEC-T1 ordinary certificates are indexed, with any text around them",
        .enabled(if: NginxServer.isInstalled, "nginx is missing: run scripts/setup"))
    func ordinary() throws {
        let one = try pem()
        #expect(count(one) == 1)
        #expect(count("# Root\n\n" + one + "text\n" + one) == 2)
        #expect(count(one.replacingOccurrences(of: "\n", with: "\r\n")) == 1)
        #expect(count(one.trimmingCharacters(in: .newlines)) == 1)
        #expect(count(String(repeating: one, count: 1_000)) == 1_000)
    }

    @Test(
        "SEC-T1 libcurl loads what OpenSSL may read differently",
        .enabled(if: NginxServer.isInstalled, "nginx is missing: run scripts/setup"))
    func unusual() throws {
        let one = try pem()
        let lines = one.split(separator: "\n", omittingEmptySubsequences: false)
        let start = try #require(lines.firstIndex { $0.hasPrefix("-----BEGIN") })
        let longer = lines[...start] + [lines[start + 1] + "AAAA"] + lines[(start + 2)...]
        let shorter = lines[...start] + [lines[start + 1].dropLast(4)] + lines[(start + 2)...]
        let texts = [
            "", "\n", "text\n", Self.begin, Self.begin + Self.end,
            Self.begin + "AAAA\n" + Self.end, Self.begin + "AA=A\n" + Self.end,
            Self.begin + "====\n" + Self.end, Self.begin + "A\n" + Self.end,
            Self.begin + "Proc-Type: 4,ENCRYPTED\n\n" + one,
            one + Self.begin, one + Self.end, one + "-----BEGIN X509 CRL-----\n",
            one + "-----BEGIN TRUSTED CERTIFICATE-----\n", one + "--------\n",
            one + "\0", String(repeating: "x", count: 251) + "\n" + one,
            one.replacingOccurrences(of: "-----END", with: "----END"),
            one.replacingOccurrences(of: "\n-----END", with: "\n\n-----END"),
            longer.joined(separator: "\n"), shorter.joined(separator: "\n"),
        ]
        for text in texts { #expect(count(text) == nil, "\(text)") }
        // A certificate that is cut anywhere.
        let body = one.components(separatedBy: Self.begin)[1].components(separatedBy: "-----END")[0]
        let der = try #require(Data(base64Encoded: body.replacingOccurrences(of: "\n", with: "")))
        for length in 0..<der.count {
            let text = der.prefix(length).base64EncodedString(options: .lineLength64Characters)
            let cut = text.replacingOccurrences(of: "\r\n", with: "\n")
            #expect(count(Self.begin + cut + "\n" + Self.end) == nil, "\(length)")
        }
    }

    @Test(
        "SEC-T1 a file is indexed once while it is used, and again after it has changed",
        .enabled(if: NginxServer.isInstalled, "nginx is missing: run scripts/setup"))
    func sharing() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "wherry-anchors-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("roots.pem").path
        let one = try pem()
        #expect(TrustAnchors(file: path) == nil)
        try one.write(toFile: path, atomically: true, encoding: .utf8)
        let first = try #require(TrustAnchors(file: path))
        let others = (0..<1_000).compactMap { _ in TrustAnchors(file: path) }
        #expect(others.count == 1_000 && others.allSatisfy { $0.identity == first.identity })
        try (one + one).write(toFile: path, atomically: true, encoding: .utf8)
        let second = try #require(TrustAnchors(file: path))
        #expect(second.count == 2 && first.count == 1)
        // Written again with the same contents.
        try (one + one).write(toFile: path, atomically: true, encoding: .utf8)
        #expect(TrustAnchors(file: path)?.identity == second.identity)
        try FileManager.default.removeItem(atPath: path)
        #expect(TrustAnchors(file: path) == nil)
        #expect(TrustAnchors(file: folder.path) == nil)
        #expect(TrustAnchors(file: "/dev/null") == nil)
    }

    @Test(
        "SEC-T1 a connection is refused if libcurl has loaded other certificates",
        .enabled(if: OpenSSL.isInstalled, "libssl.so.3 is missing"),
        .enabled(if: NginxServer.isInstalled, "nginx is missing: run scripts/setup"))
    func alone() throws {
        let path = try NginxServer.shared.ca
        let anchors = try #require(TrustAnchors(file: path))
        let empty = try #require(OpenSSL.context())
        defer { OpenSSL.free(empty) }
        #expect(anchors.use(for: empty).rawValue == 0)
        let loaded = try #require(OpenSSL.context(trusting: path))
        defer { OpenSSL.free(loaded) }
        #expect(anchors.use(for: loaded).rawValue != 0)
    }
}

/// Functions of the OpenSSL that libcurl uses.
private enum OpenSSL {
    nonisolated(unsafe) private static let library = dlopen("libssl.so.3", RTLD_NOW)

    static var isInstalled: Bool { library != nil }

    private static func function<Function>(_ name: String, _: Function.Type) -> Function {
        unsafeBitCast(dlsym(library, name), to: Function.self)
    }

    /// Creates an SSL_CTX. A file that is given is loaded, as libcurl does.
    static func context(trusting file: String? = nil) -> UnsafeMutableRawPointer? {
        typealias Method = @convention(c) () -> UnsafeRawPointer?
        typealias New = @convention(c) (UnsafeRawPointer?) -> UnsafeMutableRawPointer?
        typealias Load =
            @convention(c) (
                UnsafeMutableRawPointer?, UnsafePointer<CChar>?, UnsafePointer<CChar>?
            ) -> CInt
        let method = function("TLS_client_method", Method.self)()
        let made = function("SSL_CTX_new", New.self)(method)
        guard let file else { return made }
        return function("SSL_CTX_load_verify_locations", Load.self)(made, file, nil) == 1
            ? made : nil
    }

    static func free(_ context: UnsafeMutableRawPointer) {
        typealias Free = @convention(c) (UnsafeMutableRawPointer?) -> Void
        function("SSL_CTX_free", Free.self)(context)
    }
}
