// Wherry: acceptance tests of downloads
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry
import WherrySystem

@Suite struct DownloadTests {
    private let scope: TestServer.Scope
    private let client: Client
    private let folder: TemporaryFolder

    init() throws {
        scope = try TestServer.shared.scope()
        client = try makeClient(scope)
        folder = try TemporaryFolder()
    }

    private func url(_ query: String = "") -> String {
        scope.url("/bytes/\(Contents.size)" + (query.isEmpty ? "" : "?" + query))
    }

    // MARK: D1

    @Test("D1 a download is a GET with the caller's headers and without default parameters")
    func defaults() async throws {
        try client.setParameter("default", "1")
        try client.setHeader("X-Client", "c")
        let end = try await client.run(url(), to: folder.file("a.bin")) { request in
            request.headers["X-Own"] = "o"
            request.parameters = ["own": 2]
        }
        #expect(end.error == nil)
        #expect(end.path == folder.file("a.bin"))
        #expect(end.outcome.response?.status == 200)
        #expect(try folder.contents("a.bin") == Contents.v1)
        #expect(try folder.names == ["a.bin"])
        let sent = try #require(try scope.requests().first)
        #expect(sent.method == "GET")
        #expect(sent.target.hasSuffix("?own=2"))
        #expect(sent.header("x-own") == "o" && sent.header("x-client") == "c")
        #expect(sent.header("accept-encoding") == "identity")
        #expect(sent.header("range") == nil)
    }
    // MARK: D18, D21

    @Test("D18 the response decides the target, and the resume offset is reported first")
    func lateDestination() async throws {
        let bench = try DownloadBench()
        let url = bench.url(
            "cut=400000&times=1&disposition="
                + ParameterEncoding.escaped("attachment; filename=x.bin"))
        func run() async throws -> DownloadEnd {
            try await bench.client.run(url, to: bench.folder.path) { request in
                request.savesIntoDirectory = true
                request.maxRetries = 0
                request.set(.wantHeaders, 1)
            }
        }
        #expect(try await run().reason == "truncated")

        let end = try await run()

        #expect(end.path == bench.folder.file("x.bin"))
        var told: [String] = []
        for event in end.watcher.events {
            switch event {
            case .headers(let response):
                told.append("\(response.status) " + (response.header("content-range") ?? ""))
            case .progress(let progress) where progress.completed == progress.resumedAt:
                told.append("\(progress.completed) of \(progress.total ?? -1)")
            case .done(let outcome): told.append(outcome.path.map { "moved to " + $0 } ?? "failed")
            default: break
            }
        }
        #expect(
            told == [
                "206 bytes 400000-1060920/1060921", "400000 of 1060921",
                "moved to " + bench.folder.file("x.bin"),
            ])
    }

    @Test("D21 the path of the partial file is known, and a download is not cached")
    func partialAndCaches() async throws {
        let bench = try DownloadBench { $0.usesHTTPCache = true }
        let end = try await bench.runUntilCut("cut=400000&times=1&cache=max-age=600")
        let partial = try #require(end.error?.partialPath)
        #expect(try bench.client.partial(of: bench.folder.file("a.bin"))?.partialPath == partial)
        #expect(FileManager.default.fileExists(atPath: partial))

        // A cached copy would serve a request.
        #expect(try await bench.run(bench.url("cut=400000&times=1&cache=max-age=600")).error == nil)
        _ = try await bench.client.send(Request(bench.url("cache=max-age=600")))
        _ = try await bench.client.send(Request(bench.url("cache=max-age=600")))
        try FileManager.default.removeItem(atPath: bench.folder.file("a.bin"))
        #expect(try await bench.run(bench.url("cache=max-age=600")).error == nil)

        #expect(try bench.scope.requests().count == 4)
        #expect(try bench.contents() == Contents.v1)
    }

    // In a separate process: memory of other tests must not count.
    @Test("D4 a large file takes no memory")
    func flatMemory() async {
        await #expect(processExitsWith: .success) {
            let bench = try DownloadBench()
            _ = try await bench.client.run(bench.url(size: 32 << 20), to: bench.folder.file("warm"))
            let before = try residentBytes()
            let (transfer, watcher) = try bench.client.begin(
                bench.url(size: 512 << 20), to: bench.folder.file("a.bin"))
            var most = 0
            for share in 1...8 {
                _ = try await bench.scope.wait("sent=\((32 << 20) + share * (63 << 20))")
                most = max(most, try residentBytes())
            }
            try #require(await watcher.end().error == nil)
            try #require(most - before < 10 << 20)
            try #require(transfer.progress.completed == 512 << 20)
        }
    }
}
