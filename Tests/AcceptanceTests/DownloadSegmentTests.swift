// Wherry: acceptance tests of downloads over several connections: DC-D of downloads.md
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry
import WherrySystem

@Suite struct DownloadSegmentTests {
    private static let size = 8_389_385
    private static let v8 = Contents.make(seed: 1, size: size)
    private static let w8 = Contents.make(seed: 2, size: size)

    /// The requested ranges, those without a range as "".
    private func ranges(_ bench: DownloadBench) throws -> [String] {
        try bench.scope.requests().map { $0.header("range") ?? "" }.sorted()
    }

    @Test("DC-D01 D23 four connections download a file, each its share")
    func four() async throws {
        let bench = try DownloadBench()

        // Every response stops halfway until all four are there.
        let (transfer, watcher) = try bench.client.begin(
            bench.url("hold=1000000&gate=four", size: Self.size), to: bench.folder.file("a.bin")
        ) { $0.segments = 4 }
        try await bench.scope.wait("requests=4")
        try bench.scope.open(gate: "four")
        let outcome = await watcher.end()

        #expect(outcome.error == nil)
        #expect(try bench.contents() == Self.v8)
        #expect(try bench.folder.names == ["a.bin"])
        #expect(try bench.scope.requests().filter { $0.header("if-range") != nil }.count == 3)
        #expect(try bench.scope.stats().peakConnections == 4)
        #expect(watcher.progresses.last?.completed == Int64(Self.size))
        #expect(watcher.progresses.map(\.completed) == watcher.progresses.map(\.completed).sorted())
        withExtendedLifetime(transfer) {}
    }

    @Test(
        "DC-D02 a server that sends only complete files gets one request",
        arguments: ["ranges=0", "ranges=0&accept_ranges=bytes"])
    func wholeOnly(_ query: String) async throws {
        let bench = try DownloadBench()

        let end = try await bench.run(bench.url(query, size: Self.size)) { $0.segments = 4 }

        #expect(end.error == nil)
        #expect(end.restarts.isEmpty)
        #expect(try bench.contents() == Self.v8)
    }

    @Test("DC-D03 DR16 a server that allows two connections gets two")
    func two() async throws {
        let bench = try DownloadBench()

        let end = try await bench.run(
            bench.url("max_parallel=2&rate=8000000", size: Self.size), retries: 0
        ) { $0.segments = 4 }

        #expect(end.error == nil)
        #expect(try bench.contents() == Self.v8)
        #expect(end.watcher.states.allSatisfy { $0.state != .waiting })
    }

    @Test(
        "DC-D04 content that changes between response and ranges restarts the download",
        arguments: ["seed_next=2", "seed_next=2&ignore_if_range=1"])
    func changed(_ query: String) async throws {
        let bench = try DownloadBench()

        let end = try await bench.run(
            bench.url("hold=1000000&gate=changed&times=1&" + query, size: Self.size)
        ) { $0.segments = 4 }

        #expect(end.error == nil)
        #expect(end.restarts == ["changed"])
        #expect(try bench.contents() == Self.w8)
        #expect(try bench.folder.names == ["a.bin"])
    }

    @Test("DC-D05 kill -9 during four segments loses only bytes that were not durable")
    func killed() async throws {
        let bench = try DownloadBench()
        let path = bench.folder.file("a.bin")
        let url = bench.url("rate=250000&hold_at=2000000&gate=go", size: Self.size)
        let child = Process()
        child.executableURL = URL(fileURLWithPath: try DownloadProgram.path)
        child.arguments = [url, path, "4"]
        child.standardOutput = FileHandle.nullDevice
        try child.run()
        try await bench.scope.wait("requests=4")
        while child.isRunning {
            if let bytes = try bench.client.partial(of: path)?.bytes, bytes > 500_000 { break }
            try await bench.scope.wait("requests=0")
        }
        kill(child.processIdentifier, SIGKILL)
        child.waitUntilExit()
        #expect(child.terminationStatus == SIGKILL)
        let claimed = try #require(try bench.client.partial(of: path)).bytes
        try bench.scope.open(gate: "go")

        let end = try await bench.run(url) { $0.segments = 4 }

        #expect(end.error == nil)
        #expect(end.resumedAt == claimed)
        #expect(try bench.contents() == Self.v8)
        #expect(try bench.folder.names == ["a.bin"])
    }

    @Test("DC-D06 four paused or cancelled segments each resume at their last byte")
    func pausedAndCancelled() async throws {
        let bench = try DownloadBench()
        let url = bench.url("hold=700000&gate=go", size: Self.size)
        let path = bench.folder.file("a.bin")
        let (transfer, watcher) = try bench.client.begin(url, to: path) { $0.segments = 4 }
        try await bench.wait(forBytes: 2_800_000, of: transfer)

        transfer.pause()
        #expect(transfer.state == .paused)
        #expect(try bench.client.partial(of: path)?.bytes == 2_800_000)
        try await bench.scope.wait("active_most=0")
        transfer.resume()
        // Each of the four sends 700,000 bytes more.
        try await bench.wait(forBytes: 5_600_000, of: transfer)
        transfer.cancel()
        #expect(await watcher.end().error?.reason == "cancelled")
        #expect(try bench.client.partial(of: path)?.bytes == 5_600_000)

        try bench.scope.open(gate: "go")
        let end = try await bench.run(url) { $0.segments = 4 }
        #expect(end.error == nil)
        #expect(end.resumedAt == 5_600_000)
        #expect(try bench.contents() == Self.v8)
        #expect(try bench.folder.names == ["a.bin"])
        // No byte was sent twice.
        #expect(try bench.scope.stats().sent < Int64(Self.size) + 8 * 65_536)
    }

    @Test(
        "DC-D07 a range for another position than requested is requested again",
        arguments: ["gap", "early", "zero", "short", "missing", "unknown", "multipart"])
    func otherPlace(_ kind: String) async throws {
        let bench = try DownloadBench()

        let end = try await bench.run(
            bench.url("bad_range=\(kind)&bad_times=1", size: Self.size)
        ) { $0.segments = 4 }

        #expect(end.error == nil)
        #expect(end.restarts.isEmpty)
        #expect(try bench.contents() == Self.v8)
    }

    @Test("DC-D08 connections that die early, repeatedly, still complete the file")
    func dying() async throws {
        let bench = try DownloadBench()

        let end = try await bench.run(bench.url("cut=500000", size: Self.size)) { $0.segments = 4 }

        #expect(end.error == nil)
        #expect(try bench.contents() == Self.v8)
        #expect(try bench.scope.stats().sent < Int64(Self.size) + 65_536)
    }

    @Test("DC-D09 DR16 never more connections than requested", arguments: [2, 3, 8, 16])
    func most(_ count: Int) async throws {
        let bench = try DownloadBench()

        // Large enough that connections take over each other's shares repeatedly.
        let end = try await bench.run(bench.url("rate=4000000", size: 33_000_001)) {
            $0.segments = count
        }

        #expect(end.error == nil)
        #expect(try bench.contents() == Contents.make(seed: 1, size: 33_000_001))
        #expect(try bench.scope.stats().peakRequests <= count)
    }

    @Test("DC-D10 a wrong byte in one segment is found by the digest")
    func flipped() async throws {
        let bench = try DownloadBench()

        let end = try await bench.run(bench.url("flip=5000000", size: Self.size)) { request in
            request.segments = 4
            request.expectedDigest = Contents.digest(Self.v8)
        }

        #expect(end.reason == "checksum")
        #expect(try bench.folder.names.isEmpty)
    }

    @Test(
        "D23 by default a fast server gets one connection, and so does a request for one")
    func alone() async throws {
        for segments in [0, 1] {
            let bench = try DownloadBench()
            let end = try await bench.run(bench.url(size: Self.size)) { $0.segments = segments }
            #expect(end.error == nil)
            #expect(try bench.scope.requests().count == 1)
        }
    }

    @Test("D23 by default a server that limits each connection gets more connections")
    func grows() async throws {
        let bench = try DownloadBench { $0.clock = SystemClock.shared }
        let size = 64 << 20
        let (transfer, watcher) = try bench.client.begin(
            bench.url("rate=4000000&hold_at=60000000&gate=fast", size: size),
            to: bench.folder.file("a.bin"))

        // However slow all of this is, 60 MiB at that speed are worth a second connection.
        try await bench.scope.wait("requests=2")
        try bench.scope.open(gate: "fast")
        let outcome = await watcher.end()

        #expect(outcome.error == nil)
        #expect(try bench.contents() == Contents.make(seed: 1, size: size))
        withExtendedLifetime(transfer) {}
    }

    @Test("DR16 C14 an explicit number of connections ignores the limit per host")
    func beyondTheLimit() async throws {
        let bench = try DownloadBench { $0.maxPerHost = 2 }
        let (transfer, watcher) = try bench.client.begin(
            bench.url("hold=100000&gate=all", size: Self.size), to: bench.folder.file("a.bin")
        ) { $0.segments = 8 }

        try await bench.scope.wait("requests=8")
        try bench.scope.open(gate: "all")

        #expect(await watcher.end().error == nil)
        #expect(try bench.contents() == Self.v8)
        withExtendedLifetime(transfer) {}
    }

    @Test("DR10 every segment follows its own redirect, from the original URL")
    func redirected() async throws {
        let bench = try DownloadBench()
        let target = bench.scope.url("/bytes/\(Self.size)?hold=1000&gate=on")
        let url = bench.scope.url(
            "/redirect-to?url="
                + (target.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""))
        let (transfer, watcher) = try bench.client.begin(url, to: bench.folder.file("a.bin")) {
            $0.segments = 4
        }

        try await bench.scope.wait("requests=8")
        try bench.scope.open(gate: "on")

        #expect(await watcher.end().error == nil)
        #expect(try bench.contents() == Self.v8)
        withExtendedLifetime(transfer) {}
    }

    @Test("D26 DC-A24 a fresh link continues the partial file of an expired one")
    func freshLink() async throws {
        let bench = try DownloadBench()
        let path = bench.folder.file("a.bin")
        func link(_ signature: String, _ rest: String = "") -> String {
            bench.url("sig=\(signature)" + rest, size: Self.size)
        }
        let expiring = link("1", "&cut=3000000&times=1&status_next=403&change_at=2")
        #expect(try await bench.run(expiring, retries: 0).reason == "truncated")
        let expired = try await bench.run(expiring, retries: 0)
        #expect(expired.reason == "expired")
        #expect(try bench.client.partial(of: path)?.bytes == 3_000_000)

        let end = try await bench.run(link("2")) { $0.partialOf = .sameURLButQuery }

        #expect(end.error == nil)
        #expect(end.resumedAt == 3_000_000)
        #expect(end.restarts.isEmpty)
        #expect(try bench.contents() == Self.v8)
    }

    @Test("DR14 the stall timeout is a setting, and so is the maximum Retry-After")
    func times() async throws {
        let bench = try DownloadBench()
        let (transfer, watcher) = try bench.client.begin(
            bench.url("stall=400000&times=1&seconds=600"), to: bench.folder.file("a.bin")
        ) { request in
            request.stallTimeout = .seconds(3)
            request.maxRetries = 0
        }
        try await bench.wait(forBytes: 400_000, of: transfer)
        let before = bench.clock.now()
        try await bench.moveOn(until: { transfer.state.isFinal })
        #expect(bench.clock.now().since(before) < 10_000_000_000)
        #expect(await watcher.end().error?.reason == "stalled")

        let later = try await bench.run(
            bench.url("status_first=503&status_times=1&retry_after=5", size: 1000)
        ) { $0.maxRetryAfter = .seconds(4) }
        #expect(later.reason == "retry_later")
    }
}

extension DownloadBench {
    /// Advances the clock while the server works, until the condition holds.
    func moveOn(until condition: () throws -> Bool) async throws {
        let limit = ContinuousClock.now + .seconds(600)
        while try !condition() {
            guard ContinuousClock.now < limit else {
                Issue.record("it did not come to that")
                return
            }
            clock.advance(by: .milliseconds(10))
            // The server also serves others.
            try await scope.wait("requests=0")
        }
    }
}
