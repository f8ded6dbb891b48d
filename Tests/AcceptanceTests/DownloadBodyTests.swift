// Wherry: acceptance tests of downloads with damaged bodies: DC-B of downloads.md
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry
import WherrySystem

/// A response and its outcome.
struct BodyCase: Sendable, CustomTestStringConvertible {
    let id: String
    let path: String
    /// `nil` for a complete file.
    var reason: String?
    var requests = 1
    /// The bytes of the remaining partial file; `nil` if there is none.
    var kept: Int64?
    var content = Contents.v1

    init(
        _ id: String, _ path: String, _ reason: String? = nil, requests: Int = 1,
        kept: Int64? = nil, content: Data = Contents.v1
    ) {
        self.id = id
        self.path = path
        self.reason = reason
        self.requests = requests
        self.kept = kept
        self.content = content
    }

    var testDescription: String { id }

    private static func bytes(_ query: String) -> String { "/bytes/\(Contents.size)?\(query)" }

    static let all = [
        BodyCase("DC-B01 one drop", bytes("cut=400000&times=1"), requests: 2),
        BodyCase("DC-B01 one reset", bytes("reset=400000&times=1"), requests: 2),
        BodyCase("DC-B02 every connection dies", bytes("cut=300000"), requests: 4),
        BodyCase(
            "DC-B03 always dies at the same byte", bytes("cut_at=400000"), "truncated",
            requests: 6, kept: 400_000),
        BodyCase("DC-B04 no length, closed", bytes("no_length=1")),
        BodyCase("DC-B05 chunked", bytes("chunked=1")),
        BodyCase(
            "DC-B06 no last chunk", bytes("chunked=1&chunked_cut=1"), "truncated", requests: 6),
        BodyCase(
            "DC-B07 reset without a length", bytes("no_length=1&reset=400000"),
            "connection_reset", requests: 6),
        BodyCase("DC-B10 Repr-Digest is right", bytes("repr_digest=right")),
        BodyCase(
            "DC-B10 Repr-Digest is wrong", bytes("repr_digest=wrong"), "checksum", requests: 2),
        BodyCase("DC-B10 Digest is wrong", bytes("digest=wrong"), "checksum", requests: 2),
        BodyCase(
            "DC-B10 Content-MD5 is wrong", bytes("content_md5=wrong"), "checksum", requests: 2),
        BodyCase(
            "DC-B13 503 with Retry-After", bytes("status_first=503&status_times=1&retry_after=3"),
            requests: 2),
        BodyCase(
            "DC-B13 429 with a Retry-After too long",
            bytes("status_first=429&status_times=1&retry_after=3600"), "retry_later"),
        BodyCase("DC-B14 500 for ever", "/status/500", "http_status", requests: 6),
        BodyCase("DC-B15 404", "/status/404", "http_status"),
        BodyCase("DC-B16 no bytes", "/bytes/0", content: Data()),
        BodyCase("DC-B17 more than the length", bytes("more=1000")),
        BodyCase("DC-B17 two lengths", bytes("two_lengths=1000"), "protocol"),
        BodyCase("DR8 206 without a range", "/s/piece", "protocol"),
        BodyCase("DR10 a redirect to ftp", "/redirect-to?url=ftp%3A//h/x", "redirect_refused"),
        BodyCase(
            "DC-B18 503 when it goes on",
            bytes("cut=400000&times=1&status_next=503&change_at=2&status_times=1"),
            requests: 2),
    ]
}

@Suite struct DownloadBodyTests {
    @Test(
        "D13 a broken body is repaired by a retry, or is an error",
        arguments: BodyCase.all.filter { !$0.id.hasPrefix("DC-B18") })
    func bodies(_ example: BodyCase) async throws {
        let bench = try DownloadBench()
        try bench.scope.script(
            "piece",
            #"[{"status": 206, "headers": [["Content-Range", "bytes 0-2/9"]], "body": "abc"}]"#)
        let end = try await bench.run(bench.scope.url(example.path))

        #expect(end.reason == example.reason)
        #expect(try bench.scope.requests().count == example.requests)
        if example.reason == nil {
            #expect(try bench.contents() == example.content)
            #expect(try bench.folder.names == ["a.bin"])
            #expect(end.watcher.progresses.last?.completed == Int64(example.content.count))
            #expect(end.watcher.progresses.last?.total == Int64(example.content.count))
        } else {
            #expect(!(try bench.folder.names.contains("a.bin")))
            let partial = try bench.client.partial(of: bench.folder.file("a.bin"))
            #expect(partial?.bytes == example.kept)
            #expect(end.error?.partialPath == partial?.partialPath)
            #expect(try bench.folder.names.count == (example.kept == nil ? 0 : 2))
        }
    }

    @Test("D13 a dropped connection costs one more request: DC-B02")
    func eachByteOnce() async throws {
        let bench = try DownloadBench()
        let end = try await bench.run(bench.url("cut=300000"))
        #expect(end.error == nil)
        #expect(try bench.scope.stats().sent == Contents.size)
        #expect(end.watcher.progresses.last?.wire == Int64(Contents.size))
        let waits = end.watcher.states.filter { $0.state == .waiting }
        #expect(waits.map(\.reason) == ["truncated", "truncated", "truncated"])
        #expect(end.outcome.response?.metrics.retries == 3)
    }

    @Test(
        "C19 a download over TLS uses HTTP/1.1 by default, and HTTP/2 on request",
        .enabled(if: NginxServer.isInstalled, "nginx is missing: run scripts/setup"))
    func httpVersionOfDownloads() async throws {
        let nginx = try NginxServer.shared
        let folder = try TemporaryFolder()
        let url = nginx.tlsURL("/protocol")
        let rows: [(client: HTTPVersion, request: HTTPVersion?, String, Int)] = [
            (.automatic, nil, "HTTP/1.1", 11), (.automatic, .http2, "HTTP/2.0", 20),
            (.http2, nil, "HTTP/2.0", 20), (.http2, .http1, "HTTP/1.1", 11),
            (.http1, nil, "HTTP/1.1", 11),
        ]
        for (index, row) in rows.enumerated() {
            let client = try makeClient {
                $0.caFile = nginx.ca
                $0.httpVersion = row.client
            }
            // An existing HTTP/2 connection is not used.
            if row.client == .automatic {
                #expect(try await client.send(Request(url)).text == "HTTP/2.0")
            }
            var request = Request(url)
            request.httpVersion = row.request
            let watcher = DownloadWatcher()
            let transfer = try client.download(
                request, to: folder.file("\(index)"), observer: watcher)
            let outcome = await watcher.end()
            #expect(outcome.error == nil)
            #expect(try folder.contents("\(index)") == Data(row.2.utf8))
            #expect(outcome.response?.metrics.httpVersion == row.3)
            let command = try transfer.curlCommand()
            #expect(command.contains(row.3 == 11 ? " --http1.1" : " --http2"), "\(command)")
        }
    }

    @Test(
        "D13 a stream reset over HTTP/2 is repaired: DR15",
        .enabled(if: NginxServer.isInstalled, "nginx is missing: run scripts/setup"))
    func streamReset() async throws {
        let nginx = try NginxServer.shared
        let bench = try DownloadBench()
        let client = try makeClient {
            $0.clock = bench.clock
            $0.caFile = nginx.ca
            $0.httpVersion = .http2
        }
        let path = bench.url("cut=400000&times=2").split(separator: "/", maxSplits: 2)[2]
        let end = try await client.run(
            nginx.tlsURL("/via/\(bench.scope.server.port)/\(path)"),
            to: bench.folder.file("a.bin"), clock: bench.clock)
        #expect(end.error == nil)
        #expect(try bench.contents() == Contents.v1)
        #expect(end.outcome.response?.metrics.httpVersion == 20)
        let waits = end.watcher.states.filter { $0.state == .waiting }
        // nginx resets the stream, or ends it early after the rest of its buffer.
        #expect(waits.count == 2)
        #expect(waits.allSatisfy { ["connection_reset", "truncated"].contains($0.reason) })
        #expect(end.restarts == [])
    }

    @Test("D13 a temporary error on resume is retried: DC-B18")
    func refusalOnResume() async throws {
        let bench = try DownloadBench()
        let url = bench.scope.url("/s/file")
        let bytes = #"["bytes", 400000, 1, 0]"#
        let head = "HTTP/1.1 200 OK\\r\\nContent-Length: 1060921\\r\\nETag: \\\"x\\\"\\r\\n\\r\\n"
        try bench.scope.script(
            "file",
            """
            [{"raw": [["send", "\(head)"], \(bytes), ["fin"]]},
             {"status": 503, "body": "later"},
             {"status": 206, "headers": [["ETag", "\\"x\\""],
               ["Content-Range", "bytes 400000-1060920/1060921"]], "bytes": [660921, 1, 400000]}]
            """)
        let end = try await bench.run(url)
        #expect(end.error == nil)
        #expect(end.restarts == [])
        #expect(try bench.contents() == Contents.v1)
        #expect(
            try bench.scope.requests().map { $0.header("range") }
                == [nil, "bytes=400000-", "bytes=400000-"])
    }

    @Test("D13 a stall is detected and repaired: DC-B11")
    func stall() async throws {
        let bench = try DownloadBench()
        let watcher = DownloadWatcher(clock: bench.clock)
        var request = Request(bench.url("stall=400000&seconds=600&times=1"))
        request.idleTimeout = .zero
        request.firstByteTimeout = .zero
        let transfer = try bench.client.download(
            request, to: bench.folder.file("a.bin"), observer: watcher)
        try await bench.wait(forBytes: 400_000, of: transfer)
        // A window with bytes is followed by one without. Then the test stops the clock: the second
        // attempt would stall too.
        bench.clock.advance(by: .milliseconds(10_001))
        await bench.client.settle(bench.clock)
        bench.clock.advance(by: .milliseconds(10_001))
        let outcome = await watcher.end()
        #expect(outcome.error == nil)
        #expect(watcher.states.first { $0.state == .waiting }?.reason == "stalled")
        #expect(try bench.contents() == Contents.v1)
        #expect(try bench.scope.requests().count == 2)
        withExtendedLifetime(transfer) {}
    }

    @Test("D13 a server that never responds is abandoned: DC-B12")
    func silence() async throws {
        let bench = try DownloadBench()
        let watcher = DownloadWatcher()
        var request = Request(bench.scope.url("/silent?seconds=600"))
        request.maxRetries = 0
        request.idleTimeout = .zero
        request.firstByteTimeout = .seconds(30)
        let transfer = try bench.client.download(
            request, to: bench.folder.file("a.bin"), observer: watcher)
        try await bench.scope.wait("requests=1")
        bench.clock.advance(by: .milliseconds(30_001))
        let outcome = await watcher.end()
        #expect(outcome.error?.reason == "first_byte_timeout")
        #expect(outcome.error?.isRetryable == true)
        #expect(try bench.folder.names.isEmpty)
        withExtendedLifetime(transfer) {}
    }

    @Test("D13 the total timeout ends a wait too")
    func deadline() async throws {
        let bench = try DownloadBench()
        let end = try await bench.run(bench.scope.url("/status/503")) {
            $0.totalTimeout = .seconds(60)
        }
        #expect(end.reason == "total_timeout")
        #expect(try bench.scope.requests().count == 1)
        #expect(try bench.folder.names.isEmpty)
    }

    // MARK: D20

    @Test("D20 a matching digest publishes the file", arguments: DigestAlgorithm.allCases)
    func rightDigest(algorithm: DigestAlgorithm) async throws {
        let bench = try DownloadBench()
        let end = try await bench.run(bench.url()) {
            $0.expectedDigest = Contents.digest(Contents.v1, algorithm)
        }
        #expect(end.error == nil)
        #expect(end.watcher.states.map(\.state).contains(.verifying))
        #expect(try bench.contents() == Contents.v1)
    }

    @Test(
        "D20 a wrong byte is an error and publishes no file: DC-B09",
        arguments: DigestAlgorithm.allCases)
    func wrongDigest(algorithm: DigestAlgorithm) async throws {
        let bench = try DownloadBench()
        let end = try await bench.run(bench.url("flip=500000")) {
            $0.expectedDigest = Contents.digest(Contents.v1, algorithm)
        }
        #expect(end.reason == "checksum")
        #expect(end.error?.message.contains("expected") == true)
        #expect(end.restarts == ["checksum"])
        #expect(try bench.scope.requests().count == 2)
        #expect(try bench.folder.names.isEmpty)
    }

    @Test("D20 the digest covers all bytes across a resume, also without a validator")
    func digestAcrossResume() async throws {
        for query in ["", "no_validator=1", "weak=1"] {
            let bench = try DownloadBench()
            let end = try await bench.run(bench.url("cut=400000&times=1&" + query)) {
                $0.expectedDigest = Contents.digest(Contents.v1)
            }
            #expect(end.error == nil)
            #expect(end.restarts == [])
            #expect(try bench.scope.requests()[1].header("range") == "bytes=400000-")
            #expect(try bench.contents() == Contents.v1)
        }

        let bench = try DownloadBench()
        let end = try await bench.run(bench.url("cut=400000&times=1&no_validator=1&seed_next=2")) {
            $0.expectedDigest = Contents.digest(Contents.v2)
        }
        #expect(end.error == nil)
        #expect(end.restarts == ["checksum"])
        #expect(try bench.contents() == Contents.v2)
    }
}
