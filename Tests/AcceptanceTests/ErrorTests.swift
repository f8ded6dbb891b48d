// Wherry: acceptance tests of errors: causes every reason of docs/errors.md
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry
import WherryCore
import WherrySystem

@Suite struct ErrorTests {
    /// The reasons that a Swift program can get, each with a cause below.
    static let met: [ErrorReason] = [
        .badOption, .badValue, .badHeader, .badMethod, .badURL, .badParameters, .badJSON,
        .badDigest, .badPath, .noImages, .notFound, .closed, .needsQueue, .connectTimeout,
        .firstByteTimeout, .idleTimeout, .totalTimeout, .stalled, .cancelled, .refused, .resolve,
        .connect, .connectionReset, .truncated, .badProtocol, .badEncoding, .lengthUnverified,
        .proxy, .unstable, .untrusted, .certificateExpired, .wrongName, .tls, .httpStatus,
        .contentType, .badJSONBody, .tooManyRedirects, .redirectRefused, .expired, .retryLater,
        .exists, .isDirectory, .noFile, .fileChanged, .badStorage, .badDirectory, .checksum,
        .badImage, .unsupportedImage, .truncatedImage, .imageTooLarge, .unsupportedOption,
        .tooLarge, .headerTooLarge, .noMemory, .busy, .alreadyRunning,
    ]
    /// Reasons that occur as states of a download, or that only another language or another user of
    /// the system can get, each with the file of its test.
    static let elsewhere: [ErrorReason: String] = [
        .bodySpent: "AcceptanceTests/AuthTests.swift",
        .badPin: "AcceptanceTests/PinTests.swift", .pin: "AcceptanceTests/PinTests.swift",
        .badCertificate: "AcceptanceTests/TrustTests.swift",
        .httpsOnly: "AcceptanceTests/TrustTests.swift",
        .addressDenied: "AcceptanceTests/TrustTests.swift",
        .revoked: "AcceptanceTests/TrustTests.swift",
        .tlsProtocol: "AcceptanceTests/TrustTests.swift",
        .clientCertificate: "AcceptanceTests/TrustTests.swift",
        .alreadyStarted: "C/test_groups.c", .lastPage: "C/test_pages.c",
        .replaced: "AcceptanceTests/EndpointTests.swift",
        .offline: "AcceptanceTests/ReachabilityTests.swift",
        .metered: "AcceptanceTests/ReachabilityTests.swift",
        .noNetworkState: "WherryReachabilityTests/ReachabilityCenterTests.swift",
        .badHandle: "C/test_handles.c", .badArgument: "C/test_handles.c",
        .badText: "C/test_handles.c", .resolved: "C/test_hooks.c",
        .wrongState: "C/test_streams.c", .hookExpired: "C/test_hooks.c",
        .timeout: "C/test_handles.c", .changed: "AcceptanceTests/DownloadResumeTests.swift",
        .noValidator: "AcceptanceTests/DownloadResumeTests.swift",
        .rangesUnsupported: "AcceptanceTests/DownloadResumeTests.swift",
        .badRange: "AcceptanceTests/DownloadResumeTests.swift",
        .rangeNotSatisfiable: "AcceptanceTests/DownloadResumeTests.swift",
        .encoding: "AcceptanceTests/DownloadResumeTests.swift",
        .journalInvalid: "AcceptanceTests/DownloadFileTests.swift",
        .alreadyComplete: "AcceptanceTests/DownloadFileTests.swift",
        .noSpace: "AcceptanceTests/DownloadDiskTests.swift",
        .readOnly: "AcceptanceTests/DownloadDiskTests.swift",
        .noPermission: "AcceptanceTests/DownloadDiskTests.swift",
        .io: "WherryDownloadsTests/PartFileTests.swift",
        .forked: "AcceptanceTests/ForkTests.swift",
        .damagedJob: "AcceptanceTests/BackgroundDamageTests.swift",
        .tooManyFiles: "../bindings/python/tests/test_descriptors.py",
        .missing: "AcceptanceTests/TimedCacheTests.swift",
        .damaged: "AcceptanceTests/TimedCacheTests.swift",
        .clock: "AcceptanceTests/TimedCacheTests.swift",
        .stale: "AcceptanceTests/TimedCacheTests.swift",
        .appVersion: "AcceptanceTests/TimedCacheTests.swift",
        .cacheVersion: "AcceptanceTests/TimedCacheTests.swift",
        .unsafeStateDirectory: "AcceptanceTests/BackgroundProcessTests.swift",
        .noAgent: "AcceptanceTests/BackgroundCrashTests.swift",
        .oldLibcurl: "C/test_loading.c",
        .interrupted: "WherryBackgroundTests/AgentMachineTests.swift",
    ]

    /// libcurl's codes for a reason, from docs/errors.md.
    private static func curlCodes(of reason: ErrorReason) throws -> [Int32] {
        let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../docs/errors.md")
        let text = try String(contentsOf: path, encoding: .utf8)
        let table = try #require(
            text.components(separatedBy: "## Foundation and libcurl codes").last)
        let row = table.components(separatedBy: "\n").first {
            $0.hasPrefix("| `\(reason.rawValue)` |")
        }
        return try #require(row).matches(of: /\(([0-9]+)\)/).compactMap { Int32($0.1) }
    }

    private let bench: DownloadBench
    private var scope: TestServer.Scope { bench.scope }
    private var clock: ManualClock { bench.clock }
    private var client: Client { bench.client }

    init() throws { bench = try DownloadBench() }

    @Test("R16 every reason has a cause, here or in the named file")
    func isComplete() throws {
        let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent()
        for reason in ErrorReason.allCases where reason != .internal {
            let isHere = Self.met.contains(reason)
            #expect(isHere != (Self.elsewhere[reason] != nil), "\(reason.rawValue)")
            guard let file = Self.elsewhere[reason] else { continue }
            let text = try String(contentsOf: tests.appendingPathComponent(file), encoding: .utf8)
            #expect(text.contains("\"\(reason.rawValue)\""), "\(reason.rawValue) in \(file)")
        }
    }

    @Test("R16 codes are reported by name")
    func codes() {
        let error = WherryError(.untrusted, "Nobody knows it")
        #expect("\(error.code)" == "tls" && String(describing: WherryError.Code.http) == "http")
        let names = Set(ErrorReason.allCases.map { "\($0.code)" })
        #expect(
            names == [
                "argument", "busy", "cache_miss", "cancelled", "file", "forked", "http", "image",
                "internal", "limit", "network", "state", "timeout", "tls",
            ])
    }

    @Test("R16 each reason is produced as in the table", arguments: met)
    func reason(reason: ErrorReason) async throws {
        let error = try #require(try await provoke(reason), "nothing failed")
        #expect(error.reason == reason.rawValue, "\(error)")
        #expect(error.code == reason.code)
        if error.curlCode != 0 {
            #expect(try Self.curlCodes(of: reason).contains(error.curlCode), "\(error.curlCode)")
        }
        #expect(error.message.count > 10 && !error.message.contains("secret"), "\(error.message)")
        switch error.code {
        case .argument, .state, .image:
            #expect(try scope.requests().isEmpty, "nothing may be sent")
            #expect(error.httpStatus == 0 && error.response == nil)
        case .http:
            #expect(error.httpStatus >= 200 && error.response?.status == error.httpStatus)
        default: break
        }
    }

    /// The failure when this is sent.
    private func sent(
        _ url: String, on other: Client? = nil, _ change: (inout Request) -> Void = { _ in }
    ) async -> WherryError? {
        var request = Request(url)
        change(&request)
        let made = request
        return await failure { () throws(WherryError) in try await (other ?? client).send(made) }
    }

    /// The result of this download.
    private func loaded(
        _ url: String, to name: String = "a.bin", retries: Int = 0, on other: Client? = nil,
        _ change: (inout Request) -> Void = { _ in }
    ) async -> WherryError? {
        do {
            return try await (other ?? client).run(url, to: bench.folder.file(name), clock: clock) {
                $0.maxRetries = retries
                change(&$0)
            }.error
        } catch {
            return error
        }
    }

    /// The result of a request after the server was silent for this time.
    private func waited(
        _ time: Duration, _ change: (inout Request) -> Void
    ) async throws -> WherryError? {
        var request = Request("silent")
        change(&request)
        let handle = try client.start(request)
        try await scope.wait("requests=1")
        // Silence counts from the last sent byte; this much more exceeds every limit.
        clock.advance(by: .milliseconds(Int64(time / .milliseconds(1))))
        return await failure { () throws(WherryError) in try await handle.value }
    }

    /// A server with such a certificate, and the resulting failure.
    private func secure(
        _ certificate: TestServer.Certificate, path: String = "/empty", trusts: Bool = true,
        downloads: Bool = false
    ) async throws -> WherryError? {
        let server = try TestServer(certificate: certificate)
        defer { server.stop() }
        let client = try makeClient { if trusts { $0.caFile = server.ca } }
        let error =
            downloads
            ? await loaded(server.tlsURL(path), on: client)
            : await sent(server.tlsURL(path), on: client)
        if !downloads { #expect(try server.requests().isEmpty) }
        return error
    }

    private func uploaded(
        _ image: Image, _ compression: Compression = Compression()
    ) async -> WherryError? {
        await failure { () throws(WherryError) in
            try await client.upload([image], to: "sink", name: "p", compression: compression).value
        }
    }

    private func provoke(_ reason: ErrorReason) async throws -> WherryError? {
        switch reason.code {
        case .argument, .state: try await provokeMisuse(reason)
        case .timeout, .cancelled: try await provokeTime(reason)
        case .network, .tls: try await provokeNetwork(reason)
        case .http: try await provokeResponse(reason)
        case .image, .limit: try await provokeLimit(reason)
        default: try await provokeFile(reason)
        }
    }

    private func provokeMisuse(_ reason: ErrorReason) async throws -> WherryError? {
        switch reason {
        case .badOption:
            return await failure { () throws(WherryError) in
                try client.configure { $0.proxy = "http://user:secret@127.0.0.1:1" }
            }
        case .badValue:
            return await failure { () throws(WherryError) in try client.setMaxPerHost(-1) }
        case .badHeader: return await sent("echo") { $0.headers["X"] = "a\r\nEvil: secret" }
        case .badMethod: return await sent("echo") { $0.method = "GE T" }
        case .badURL: return await sent("ftp://user:secret@127.0.0.1/")
        case .badParameters: return await sent("echo") { $0.parameters = ["a": .double(.nan)] }
        case .badJSON:
            return await failure { () throws(WherryError) in try JSON(parsing: #"{"a": secret}"#) }
        case .badDigest:
            return await failure { () throws(WherryError) in
                try ExpectedDigest(.sha256, text: "abc")
            }
        case .badPath: return await loaded(bench.url(), to: "a\0b")
        case .noImages:
            return await failure { () throws(WherryError) in
                try await client.upload([], to: "sink", name: "p").value
            }
        case .notFound: return await sent("echo") { $0.base = "nowhere" }
        case .closed:
            client.close()
            return await sent("echo")
        default:
            try client.setHooks(.adapting { $0 })
            return await failure { () throws(WherryError) in try client.perform(Request("echo")) }
        }
    }

    private func provokeTime(_ reason: ErrorReason) async throws -> WherryError? {
        switch reason {
        case .connectTimeout:
            let listener = try Listener()
            listener.fill()
            let error = await sent("http://127.0.0.1:\(listener.port)/") {
                $0.connectTimeout = .milliseconds(50)
            }
            withExtendedLifetime(listener) {}
            return error
        case .firstByteTimeout:
            return try await waited(.seconds(31)) { $0.firstByteTimeout = .seconds(30) }
        case .idleTimeout: return try await waited(.seconds(21)) { $0.idleTimeout = .seconds(20) }
        case .totalTimeout: return try await waited(.seconds(4)) { $0.totalTimeout = .seconds(3) }
        case .stalled:
            var request = Request(bench.url("stall=400000&seconds=600"))
            request.idleTimeout = .zero
            request.maxRetries = 0
            request.firstByteTimeout = .zero
            let watcher = DownloadWatcher()
            let transfer = try client.download(
                request, to: bench.folder.file("a.bin"), observer: watcher)
            try await bench.wait(forBytes: 400_000, of: transfer)
            // A window with bytes is followed by one without.
            clock.advance(by: .milliseconds(10_001))
            await client.settle(clock)
            clock.advance(by: .milliseconds(10_001))
            return await watcher.end().error
        case .cancelled:
            let handle = try client.start(Request("silent"))
            handle.cancel()
            return await failure { () throws(WherryError) in try await handle.value }
        default:
            struct No: Error {}
            return await failure { () throws(WherryError) in
                try await client.send(Request("echo"), hooks: .adapting { _ in throw No() })
            }
        }
    }

    private func provokeNetwork(_ reason: ErrorReason) async throws -> WherryError? {
        switch reason {
        // An unreachable resolver takes its time, which the timeout would cut short.
        case .resolve:
            return await sent("http://no-such-host.invalid/") { $0.connectTimeout = .zero }
        case .connect: return await sent("http://127.0.0.1:1/")
        case .connectionReset: return await sent("bytes/1000?reset=500")
        case .truncated: return await sent("bytes/1000?cut=500")
        case .badProtocol: return await sent("bytes/100?two_lengths=50")
        case .badEncoding: return await sent("bytes/1000?header=Content-Encoding:gzip")
        case .lengthUnverified:
            return try await secure(
                .good, path: "/bytes/1000?no_length=1&cut=400&unclean=1", downloads: true)
        case .proxy:
            let client = try makeClient { $0.proxy = "http://no-such-proxy.invalid:1" }
            return await sent("http://127.0.0.1:1/", on: client) { $0.connectTimeout = .zero }
        case .unstable:
            // Another file each time, with enough bytes to be worth a retry.
            let steps = (1...9).map { number in
                #"{"raw": [["send", "HTTP/1.1 200 OK\r\nETag: \"\#(number)\"\r\nContent-Length: 900000\r\n\r\n"], ["bytes", 300000], ["fin"]]}"#
            }
            try scope.script("moving", "[" + steps.joined(separator: ", ") + "]")
            return await loaded(scope.url("/s/moving"), retries: 5)
        case .untrusted: return try await secure(.selfSigned, trusts: false)
        case .certificateExpired: return try await secure(.expired)
        case .wrongName: return try await secure(.wrongName)
        default:
            let listener = try Listener()
            listener.speakPlainly()
            let error = await sent("https://127.0.0.1:\(listener.port)/")
            withExtendedLifetime(listener) {}
            return error
        }
    }

    private func provokeResponse(_ reason: ErrorReason) async throws -> WherryError? {
        switch reason {
        case .httpStatus: return await sent("status/418")
        case .contentType: return await sent("bytes/10") { $0.wantsJSON = true }
        case .badJSONBody:
            return await sent("status/200?type=application/json&body=%7B") { $0.wantsJSON = true }
        case .tooManyRedirects: return await sent("loop")
        case .redirectRefused: return await sent("redirect-to?url=file:///etc/passwd")
        case .expired:
            let url = bench.url("cut=400000&status_next=403&change_at=2")
            #expect(await loaded(url)?.reason == "truncated")
            return await loaded(url)
        default:
            return await loaded(
                bench.url("status_first=503&status_times=9&retry_after=3600"), retries: 5)
        }
    }

    private func provokeLimit(_ reason: ErrorReason) async throws -> WherryError? {
        let picture = try Image.pixels(
            [UInt8](repeating: 9, count: 64 * 64 * 3), .rgb8, width: 64, height: 64)
        switch reason {
        case .badImage: return await uploaded(.bytes(Bytes("no picture at all")))
        case .unsupportedImage: return await uploaded(.bytes(Bytes("II*\0\u{8}\0\0\0\0\0\0\0\0\0")))
        case .truncatedImage:
            var request = Request("echo", method: "POST")
            request.add(.image("p", picture, Compression(quality: 0.9, type: "jpg")))
            let sent = try await client.send(request).body.array
            // The JPEG of the echoed form, cut in the middle.
            struct Echoed: Decodable { let body: String }
            let echoed = try JSONDecoder().decode(Echoed.self, from: Data(sent))
            let form = try #require(Data(base64Encoded: echoed.body))
            let start = try #require(form.range(of: Data([0xFF, 0xD8, 0xFF]))?.lowerBound)
            let end = try #require(form.range(of: Data([0xFF, 0xD9]))?.lowerBound)
            try scope.reset()
            return await uploaded(
                .data(form[start..<(start + (end - start) / 2)]), Compression(quality: 0.5))
        case .imageTooLarge:
            var compression = Compression(quality: 0.5)
            compression.maxPixels = 64 * 64 - 1
            return await uploaded(picture, compression)
        case .unsupportedOption:
            var compression = Compression(quality: 0.5)
            compression.format = .gif
            return await uploaded(picture, compression)
        case .tooLarge: return await sent("bytes/2000") { $0.maxBodyBytes = 1999 }
        case .headerTooLarge: return await sent("headers?count=300&size=10")
        default:
            // More than the available addresses.
            return await sent("bytes/100?length=999999999999999999") { $0.maxBodyBytes = .max }
        }
    }

    private func provokeFile(_ reason: ErrorReason) async throws -> WherryError? {
        let path = bench.folder.file("a.bin")
        switch reason {
        case .exists:
            try Data().write(to: URL(fileURLWithPath: path))
            return await loaded(bench.url())
        case .isDirectory: return await loaded(bench.url(), to: "")
        case .noFile:
            return await sent("sink") { $0.body = .file(path: path, contentType: nil) }
        case .fileChanged:
            let size = 64 << 20
            #expect(FileManager.default.createFile(atPath: path, contents: nil))
            #expect(truncate(path, off_t(size)) == 0)
            var request = Request("sink?stall=1&gate=go", method: "PUT")
            request.body = .file(path: path, contentType: nil)
            let handle = try client.start(request)
            try await scope.wait("requests=1")
            #expect(truncate(path, 0) == 0)
            try scope.open(gate: "go")
            return await failure { () throws(WherryError) in try await handle.value }
        case .badStorage:
            try Data().write(to: URL(fileURLWithPath: path))
            return await failure { () throws(WherryError) in
                try Client { $0.storageDirectory = path }
            }
        case .badDirectory:
            try Data().write(to: URL(fileURLWithPath: path))
            return await loaded(bench.url(), to: "a.bin/b.bin")
        case .checksum:
            return await loaded(bench.url()) { $0.expectedDigest = Contents.digest(Contents.v2) }
        case .busy, .alreadyRunning:
            let (first, watcher) = try client.begin(bench.url("hold=400000&gate=go"), to: path)
            let error = await loaded(
                bench.url(reason == .busy ? "seed=2" : "hold=400000&gate=go"))
            try scope.open(gate: "go")
            #expect(await watcher.end().error == nil)
            withExtendedLifetime(first) {}
            return error
        default: return nil
        }
    }
}

/// A socket that listens and speaks no protocol.
final class Listener {
    private var sockets: [Int32] = []
    let port: UInt16

    init() throws {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        sockets.append(listener)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(listener, pointer, length) == 0 && listen(listener, 0) == 0
                    && getsockname(listener, pointer, &length) == 0
            }
        }
        port = UInt16(bigEndian: address.sin_port)
        try #require(isListening)
    }

    /// Fills the queue of connections, so that further SYNs get no response.
    func fill() {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        address.sin_port = port.bigEndian
        for _ in 0..<4 {
            let filler = socket(
                AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
            sockets.append(filler)
            withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    _ = connect(filler, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
        }
    }

    /// Accepts one connection and answers its TLS handshake with plain HTTP.
    func speakPlainly() {
        let listener = sockets[0]
        Thread.detachNewThread {
            let connection = accept(listener, nil, nil)
            var bytes = [UInt8](repeating: 0, count: 16_384)
            _ = recv(connection, &bytes, bytes.count, 0)
            let answer = Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8)
            _ = send(connection, answer, answer.count, Int32(MSG_NOSIGNAL))
            close(connection)
        }
    }

    deinit { for socket in sockets { close(socket) } }
}
