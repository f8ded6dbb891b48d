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
            let end = try? FileManager.default.destinationOfSymbolicLink(
                atPath: "/proc/self/fd/" + entry)
            return end?.hasPrefix(folder) == true
        }
    }

    // Each download held its directory and its partial file open from the start: with 1,024
    // descriptors, 2,809 of 3,000 downloads failed.
    @Test("DR18 downloads that wait for a connection or in the queue hold no descriptor")
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
            // Running ones have their directory, partial file, and journal.
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

    /// Until this process has no descriptor in the folder.
    private func noDescriptors(in bench: DownloadBench) async throws -> Bool {
        let end = ContinuousClock.now + .seconds(60)
        while ContinuousClock.now < end {
            if try descriptors(in: bench.folder.path) == 0 { return true }
            try await bench.scope.wait("requests=0")
        }
        return false
    }

    // Descriptors were closed only in a process with more than 64 open partial files.
    @Test("DR18 a download that waits for its retry or is paused holds no descriptor")
    func waitingAndPaused() async throws {
        let bench = try DownloadBench()
        let (_, first) = try bench.client.begin(
            bench.url("cut=400000&times=1"), to: bench.folder.file("retried")
        ) { $0.maxRetries = 3 }
        await first.wait(for: .waiting)
        let (paused, second) = try bench.client.begin(
            bench.url("hold=400000&gate=go"), to: bench.folder.file("paused"))
        try await bench.wait(forBytes: 1, of: paused)
        paused.pause()
        #expect(try await noDescriptors(in: bench))

        bench.clock.advance(by: .milliseconds(61_000))
        #expect(await first.end().error == nil)
        paused.resume()
        try bench.scope.open(gate: "go")
        #expect(await second.end().error == nil)
        #expect(try bench.folder.names == ["paused", "retried"])
        #expect(try bench.folder.contents("paused") == Contents.v1)
        #expect(try bench.folder.contents("retried") == Contents.v1)
        let ranges = try bench.scope.requests().compactMap { $0.header("range") }
        #expect(ranges.contains("bytes=400000-") && ranges.count == 2)
    }

    // The lock is released with the descriptors; within this process the partial file is still
    // protected.
    @Test("DR24 a paused download is neither discarded nor taken over within its process")
    func pausedIsInUse() async throws {
        let bench = try DownloadBench()
        let path = bench.folder.file("a.bin")
        let (paused, watcher) = try bench.client.begin(bench.url("hold=400000&gate=go"), to: path)
        try await bench.wait(forBytes: 1, of: paused)
        paused.pause()
        #expect(try await noDescriptors(in: bench))
        let partial = try #require(try bench.client.partial(of: path))
        #expect(partial.isRunning)
        let discard = await failure { () throws(WherryError) in
            _ = try bench.client.discardPartial(path)
        }
        #expect(discard?.reason == "busy")
        let other = try makeClient(bench.scope)
        let (_, refused) = try other.begin(bench.url("n=2"), to: path)
        #expect(await refused.end().error?.reason == "busy")
        paused.resume()
        try bench.scope.open(gate: "go")
        #expect(await watcher.end().error == nil)
        #expect(try bench.contents() == Contents.v1)
    }

    // 1 of 40 ended with "busy: Every connection to host is taken", caused by a further connection
    // that it tried automatically.
    @Test("D23 of 40 downloads with automatic segments and few connections, none ends with busy")
    func fewConnections() async throws {
        let scope = try TestServer.shared.scope()
        let folder = try TemporaryFolder()
        let client = try makeClient(scope) { $0.stallBytesPerSecond = 0 }
        let begun = try (0..<40).map { index in
            // Fast once each of the first ones has requested a further connection.
            try client.begin(
                scope.url("/bytes/12000000?rate=4000000&hold_at=11999999&gate=go&n=\(index)"),
                to: folder.file("\(index)"))
        }
        let limit = ContinuousClock.now + .seconds(300)
        for (transfer, _) in begun.prefix(6) {
            while transfer.progress.completed < 4_000_000, !transfer.state.isFinal,
                ContinuousClock.now < limit
            { try await scope.wait("requests=0") }
        }
        try scope.open(gate: "go")
        for (_, watcher) in begun { #expect(await watcher.end().error == nil) }
        #expect(try folder.names.count == 40)
        let size = try FileManager.default.attributesOfItem(atPath: folder.file("39"))[.size]
        #expect(size as? Int == 12_000_000)
        #expect(try scope.stats().peakRequests <= 6)
    }

    @Test("DR18 a download cancelled while it waits for a connection leaves no file")
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

    @Test(
        "DC-A24 a fresh query of the same URL resumes by default, unless the server's file differs")
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

    // Only the first byte timeout, 30 s, applies before the first byte; this still holds without a
    // speed limit.
    @Test(
        "D13 DC-B12 an explicit stall timeout limits the wait for the first byte, too",
        arguments: [1000, 0])
    func stallBeforeFirstByte(speed: Int64) async throws {
        for isSet in [true, false] {
            let bench = try DownloadBench { $0.stallBytesPerSecond = speed }
            let watcher = DownloadWatcher()
            var request = Request(bench.scope.url("/silent?seconds=600"))
            request.maxRetries = 0
            request.idleTimeout = .zero
            request.firstByteTimeout = .seconds(30)
            // Even if it equals the default.
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

    @Test("D13 with the defaults, a silent server ends a download after 30 s and five retries")
    func silentServer() async throws {
        let scope = try TestServer.shared.scope()
        let folder = try TemporaryFolder()
        let clock = ManualClock()
        let client = try Client {
            $0.proxy = ""
            $0.clock = clock
        }
        // Skips the waits between the attempts.
        let watcher = DownloadWatcher(clock: clock)
        let transfer = try client.download(
            Request(scope.url("/silent?seconds=600")), to: folder.file("a.bin"), observer: watcher)
        for attempt in 1...6 {
            try await scope.wait("requests=\(attempt)")
            await client.settle(clock)
            clock.advance(by: .milliseconds(29_900))
            for _ in 0..<5 {
                await client.settle(clock)
                try await scope.wait("requests=0")
            }
            let waits = watcher.states.count { $0.state == .waiting }
            #expect(waits == attempt - 1 && !transfer.state.isFinal)
            clock.advance(by: .milliseconds(200))
        }
        #expect(await watcher.end().error?.reason == "first_byte_timeout")
        #expect(try scope.requests().count == 6)
        #expect(try folder.names.isEmpty)
    }

    // The speed was known after the first tenth of a second, the time left after two; and the last
    // report was sent twice.
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
