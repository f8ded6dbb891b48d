// Wherry: acceptance tests of downloads from mirrors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry
import WherrySystem

@Suite struct DownloadMirrorTests {
    /// The requested targets in order, without their common part.
    private func asked(_ bench: DownloadBench) throws -> [String] {
        try bench.scope.requests().map { request in
            (request.target.contains("mirror=2")
                ? "2" : request.target.contains("mirror=1") ? "1" : "0")
                + (request.header("range").map { " " + $0 } ?? "")
        }
    }

    @Test("D27 after a permanent failure the next mirror continues with the partial file")
    func dies() async throws {
        let bench = try DownloadBench()

        let end = try await bench.run(
            bench.url("cut_at=400000&etag=here"), retries: 1
        ) { request in
            request.expectedDigest = Contents.digest(Contents.v1)
            request.mirrors = [bench.url("mirror=1&etag=there")]
        }

        #expect(end.error == nil)
        #expect(try bench.contents() == Contents.v1)
        #expect(try asked(bench) == ["0", "0 bytes=400000-", "1 bytes=400000-"])
        #expect(end.restarts.isEmpty)
        #expect(end.watcher.remarks == ["truncated"])
        #expect(try bench.folder.names == ["a.bin"])
    }

    @Test("D27 each mirror is tried in turn, and the last failure is the download's")
    func all() async throws {
        let bench = try DownloadBench()

        let end = try await bench.run(bench.scope.url("/status/404"), retries: 0) { request in
            request.expectedDigest = Contents.digest(Contents.v1)
            request.mirrors = [
                bench.scope.url("/status/403?mirror=1"), bench.scope.url("/status/410?mirror=2"),
            ]
        }

        #expect(end.reason == "http_status")
        #expect(end.error?.httpStatus == 410)
        #expect(try asked(bench) == ["0", "1", "2"])
        #expect(try bench.folder.names.isEmpty)
    }

    @Test("D27 a mirror with wrong bytes is abandoned after its second chance")
    func wrongBytes() async throws {
        let bench = try DownloadBench()

        let end = try await bench.run(bench.url("seed=2")) { request in
            request.expectedDigest = Contents.digest(Contents.v1)
            request.mirrors = [bench.url("mirror=1")]
        }

        #expect(end.error == nil)
        #expect(try bench.contents() == Contents.v1)
        #expect(try asked(bench) == ["0", "0", "1"])
    }

    @Test("D27 a mirror without ranges sends the complete file, and a full disk blames no mirror")
    func noRanges() async throws {
        let bench = try DownloadBench()

        let end = try await bench.run(bench.url("cut_at=400000"), retries: 0) { request in
            request.expectedDigest = Contents.digest(Contents.v1)
            request.mirrors = [bench.url("mirror=1&ranges=0")]
        }

        #expect(end.error == nil)
        #expect(end.restarts == ["ranges_unsupported"])
        #expect(try bench.contents() == Contents.v1)
    }

    @Test("D27 mirrors without a digest are refused, and so are invalid URLs")
    func refused() async throws {
        let bench = try DownloadBench()
        let path = bench.folder.file("a.bin")
        let url = bench.url()
        let mirror = bench.url("mirror=1")
        #expect(throws: WherryError.self) {
            _ = try bench.client.begin(url, to: path) { $0.mirrors = [mirror] }
        }
        #expect(throws: WherryError.self) {
            _ = try bench.client.begin(url, to: path) { request in
                request.mirrors = ["ftp://h/x"]
                request.expectedDigest = Contents.digest(Contents.v1)
            }
        }
        #expect(try bench.scope.requests().isEmpty)
    }

    @Test("D27 a mirror of another origin gets no credentials")
    func secrets() async throws {
        let bench = try DownloadBench()
        let other = try TestServer.shared.scope()
        let far = other.url("/bytes/\(Contents.size)").replacingOccurrences(
            of: "127.0.0.1", with: "localhost")

        let end = try await bench.run(bench.scope.url("/status/404"), retries: 0) { request in
            request.headers.set("Authorization", "Bearer secret")
            request.expectedDigest = Contents.digest(Contents.v1)
            request.mirrors = [far]
        }

        #expect(end.error == nil)
        #expect(try bench.scope.requests().first?.header("authorization") == "Bearer secret")
        #expect(try other.requests().first?.header("authorization") == nil)
    }
}
