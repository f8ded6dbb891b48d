// Wherry: acceptance tests of many downloads that wait for a connection
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry
import WherrySystem

@Suite struct DownloadWaitingTests {
    private func descriptors(in folder: String) throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count { entry in
            let end = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + entry)
            return end?.hasPrefix(folder) == true
        }
    }

    // Each download held its directory and its part from the start: with 1,024 descriptors, 2,809 of
    // 3,000 downloads failed.
    @Test("DR18 downloads that wait for a connection or for their turn hold no descriptor")
    func descriptors() async throws {
        for limit in [0, 4] {
            let bench = try DownloadBench { $0.maxDownloads = limit }
            let count = 60
            let begun = try (0..<count).map { index in
                try bench.client.begin(
                    bench.url("hold=1000&gate=go&n=\(index)", size: 2000),
                    to: bench.folder.file("\(index)"))
            }
            let running = limit == 0 ? 6 : limit
            try await bench.scope.wait("requests=\(running)")
            // Those that run have their directory, part and journal.
            var open = Int.max
            let end = ContinuousClock.now + .seconds(60)
            while open > 3 * running, ContinuousClock.now < end {
                open = try descriptors(in: bench.folder.path)
                try await bench.scope.wait("requests=0")
            }
            #expect(open <= 3 * running)
            try bench.scope.open(gate: "go")
            for (_, watcher) in begun { #expect(await watcher.end().error == nil) }
            #expect(try bench.folder.names.count == count)
            #expect(try bench.folder.contents("59") == Contents.make(seed: 1, size: 2000))
        }
    }

    @Test("DR18 a download cancelled while it waits for a connection leaves nothing")
    func cancelled() async throws {
        let bench = try DownloadBench { $0.maxPerHost = 1 }
        let blocker = try bench.client.begin(
            bench.url("hold=1000&gate=go", size: 2000), to: bench.folder.file("first"))
        try await bench.scope.wait("requests=1")
        let waiting = try bench.client.begin(bench.url("n=2"), to: bench.folder.file("second"))
        waiting.0.pause()
        waiting.0.resume()
        waiting.0.cancel()
        #expect(await waiting.1.end().error?.reason == "cancelled")
        try bench.scope.open(gate: "go")
        #expect(await blocker.1.end().error == nil)
        #expect(try bench.folder.names == ["first"])
    }

    @Test("DC-A24 a fresh query of the same URL resumes by default, unless the server's file differs")
    func freshQuery() async throws {
        let bench = try DownloadBench()
        _ = try await bench.runUntilCut("cut=400000&times=1&sig=1")
        let end = try await bench.run(bench.url("sig=2"))
        #expect(end.error == nil)
        #expect(end.resumedAt == 400_000)
        #expect(try bench.contents() == Contents.v1)
        let last = try #require(try bench.scope.requests().last)
        #expect(last.header("range") == "bytes=400000-")
        #expect(last.header("if-range") != nil)
    }

    @Test("DC-A24 DC-A02 a fresh query of another file begins at byte 0")
    func otherFile() async throws {
        let bench = try DownloadBench()
        _ = try await bench.runUntilCut("cut=400000&times=1&sig=1")
        let end = try await bench.run(bench.url("seed=2&sig=2"))
        #expect(end.error == nil)
        #expect(end.restarts == ["changed"])
        #expect(try bench.contents() == Contents.v2)
    }

    @Test("DC-A24 a caller may refuse partials of another query")
    func refusedQuery() async throws {
        let bench = try DownloadBench()
        _ = try await bench.runUntilCut("cut=400000&times=1&sig=1")
        let end = try await bench.run(bench.url("sig=2")) { $0.partialOf = .sameURL }
        #expect(end.error == nil)
        #expect(end.restarts == ["changed"])
        #expect(try bench.scope.requests().last?.header("range") == nil)
    }

    // Only the first byte timeout, 30 s, applied before the first byte.
    @Test("D13 DC-B12 a stall timeout that is set limits the wait for the first byte, too")
    func stallBeforeFirstByte() async throws {
        for isSet in [true, false] {
            let bench = try DownloadBench()
            let watcher = DownloadWatcher()
            var request = Request(bench.scope.url("/silent?seconds=600"))
            request.maxRetries = 0
            request.idleTimeout = .zero
            request.firstByteTimeout = .seconds(30)
            // Even to the default.
            if isSet { request.stallTimeout = .seconds(10) }
            let transfer = try bench.client.download(
                request, to: bench.folder.file("a.bin"), observer: watcher)
            try await bench.scope.wait("requests=1")
            bench.clock.advance(by: .milliseconds(10_001))
            // Long enough for its end, if there is one.
            for _ in 0..<(isSet ? 200 : 20) where !transfer.state.isFinal {
                await bench.client.settle(bench.clock)
                try await bench.scope.wait("requests=0")
            }
            #expect(transfer.state.isFinal == isSet)
            if !isSet { bench.clock.advance(by: .milliseconds(20_001)) }
            #expect(await watcher.end().error?.reason == "first_byte_timeout")
        }
    }

    // The speed was known after the first tenth of a second, the time left after two; and the last
    // report came twice.
    @Test("D9 DR28 the time left comes with the speed, and a complete file is reported once")
    func reports() async throws {
        let bench = try DownloadBench()
        for query in ["", "rate=4000000"] {
            let watcher = DownloadWatcher()
            var request = Request(bench.url(query))
            request.existingFile = .replace
            let transfer = try bench.client.download(
                request, to: bench.folder.file("a.bin"), observer: watcher)
            let outcome = await watcher.end()
            #expect(outcome.error == nil)
            withExtendedLifetime(transfer) {}
            let reports = watcher.progresses
            #expect(reports.count { $0.completed == Int64(Contents.size) } == 1)
            for report in reports where (report.bytesPerSecond ?? 0) > 0 {
                #expect(report.remaining != nil)
            }
        }
    }
}
