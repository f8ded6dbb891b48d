// Wherry: acceptance tests of downloads named by the server, with another query
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry
import WherrySystem

@Suite struct DownloadQueryTests {
    private func begin(
        _ bench: DownloadBench, _ query: String, _ change: (inout Request) -> Void = { _ in }
    ) throws -> (Transfer, DownloadWatcher) {
        try bench.client.begin(bench.url(query), to: bench.folder.path) {
            $0.savesIntoDirectory = true
            $0.maxRetries = 0
            $0.existingFile = .number
            change(&$0)
        }
    }

    private func run(_ bench: DownloadBench, _ query: String) async throws -> DownloadEnd {
        let (transfer, watcher) = try begin(bench, query)
        let outcome = await watcher.end()
        withExtendedLifetime(transfer) {}
        return DownloadEnd(outcome: outcome, watcher: watcher)
    }

    private func journals(_ bench: DownloadBench) throws -> Int {
        try bench.folder.names.count { $0.hasSuffix(".journal") }
    }

    // The partial file was keyed by the whole URL, so that a fresh signature always began at byte
    // 0.
    @Test("D26 DC-A24 a fresh query resumes a download named by the server")
    func resumes() async throws {
        let bench = try DownloadBench()
        for round in 0..<3 {
            try bench.scope.reset()
            #expect(try await run(bench, "sig=\(round)a&cut=400000&times=1").reason == "truncated")
            // Each fresh link resumes the partial file of the previous one.
            #expect(
                try await run(bench, "sig=\(round)b&cut_at=700000&times=2").reason == "truncated")
            let end = try await run(bench, "sig=\(round)c")
            #expect(end.error == nil)
            #expect(end.resumedAt == 700_000)
            let path = try #require(end.path)
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Contents.v1)
            #expect(try journals(bench) == 0)
        }
        #expect(try bench.folder.names.count == 3)
    }

    @Test("D26 DC-A02 another file of the same path keeps the partial file of the first")
    func otherFile() async throws {
        let bench = try DownloadBench()
        #expect(try await run(bench, "id=1&cut=400000&times=1").reason == "truncated")
        let other = try await run(bench, "id=2&seed=2")
        #expect(other.error == nil)
        let path = try #require(other.path)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Contents.v2)
        #expect(try journals(bench) == 1)
        let end = try await run(bench, "id=1")
        #expect(end.resumedAt == 400_000)
        let first = try #require(end.path)
        #expect(try Data(contentsOf: URL(fileURLWithPath: first)) == Contents.v1)
        #expect(try journals(bench) == 0)
    }

    @Test("D26 another query does not resume the partial file of a paused download")
    func paused() async throws {
        let bench = try DownloadBench()
        let (paused, watcher) = try begin(bench, "sig=1&hold=400000&gate=go")
        try await bench.wait(forBytes: 1, of: paused)
        paused.pause()
        let other = try await run(bench, "sig=2")
        #expect(other.error == nil)
        #expect(other.resumedAt ?? 0 == 0)
        paused.resume()
        try bench.scope.open(gate: "go")
        #expect(await watcher.end().error == nil)
        #expect(try bench.folder.names.count == 2)
    }

    @Test("D26 a fresh query that ends before the response keeps the partial file")
    func ended() async throws {
        let bench = try DownloadBench()
        #expect(try await run(bench, "sig=1&cut=400000&times=1").reason == "truncated")
        let before = try bench.folder.names
        for query in ["sig=2&status_first=404&status_times=9", "sig=3&gate=never"] {
            let (transfer, watcher) = try begin(bench, query)
            if query.contains("gate") {
                try await bench.scope.wait("requests=3")
                transfer.cancel()
            }
            #expect(await watcher.end().error != nil)
            #expect(try bench.folder.names == before)
        }
        // Nor does discarding the fresh download delete it.
        let (transfer, watcher) = try begin(bench, "sig=4&gate=never")
        try await bench.scope.wait("requests=4")
        transfer.discard()
        #expect(await watcher.end().error?.reason == "cancelled")
        #expect(try bench.folder.names == before)
        #expect(try await run(bench, "sig=5").resumedAt == 400_000)
    }
}
