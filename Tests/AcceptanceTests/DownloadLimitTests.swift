// Wherry: acceptance tests of bandwidth limits
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry
import WherrySystem

@Suite struct DownloadLimitTests {
    private static let size = 8_389_385

    /// The time that must pass until all have ended.
    private func time(_ bench: DownloadBench, _ transfers: [Transfer]) async throws -> Double {
        let begun = bench.clock.now()
        try await bench.moveOn { transfers.allSatisfy { $0.state.isFinal } }
        return Double(bench.clock.now().since(begun)) / 1e9
    }

    @Test("D24 a limit applies to all connections of a download together", arguments: [1, 4])
    func one(_ segments: Int) async throws {
        let bench = try DownloadBench()
        let (transfer, watcher) = try bench.client.begin(
            bench.url(size: Self.size), to: bench.folder.file("a.bin")
        ) { request in
            request.segments = segments
            request.maxReceiveBytesPerSecond = 4_000_000
        }

        let seconds = try await time(bench, [transfer])

        #expect(await watcher.end().error == nil)
        #expect(seconds >= 0.9 * Double(Self.size) / 4_000_000)
        #expect(try bench.contents() == Contents.make(seed: 1, size: Self.size))
    }

    @Test("D24 a limit applies to all downloads of a client together")
    func all() async throws {
        let bench = try DownloadBench { $0.maxDownloadBytesPerSecond = 4_000_000 }
        let begun = try ["a.bin", "b.bin"].map { name in
            try bench.client.begin(
                bench.url("x=\(name)", size: Self.size), to: bench.folder.file(name))
        }

        let seconds = try await time(bench, begun.map(\.0))

        for (_, watcher) in begun { #expect(await watcher.end().error == nil) }
        #expect(seconds >= 0.9 * Double(2 * Self.size) / 4_000_000)
        #expect(try bench.folder.contents("b.bin") == Contents.make(seed: 1, size: Self.size))
    }

    @Test("D24 limits can change during a download: removing one takes no time")
    func live() async throws {
        for isOfAll in [false, true] {
            let bench = try DownloadBench { $0.maxDownloadBytesPerSecond = isOfAll ? 1 : 0 }
            let (transfer, watcher) = try bench.client.begin(
                bench.url(), to: bench.folder.file("a.bin")
            ) { $0.maxReceiveBytesPerSecond = isOfAll ? 0 : 1 }
            try await bench.wait(forBytes: 1, of: transfer)
            #expect(transfer.progress.completed < 100_000)

            if isOfAll {
                try bench.client.setMaxDownloadBytesPerSecond(0)
            } else {
                try #require(transfer as? DownloadTransfer).setMaxReceiveSpeed(0)
            }

            #expect(await watcher.end().error == nil)
            #expect(try bench.contents() == Contents.v1)
        }
    }

    @Test("D24 a download held by its limit is not stalled, and can be paused and ended")
    func held() async throws {
        let bench = try DownloadBench { $0.stallTimeout = .seconds(1) }
        let (transfer, watcher) = try bench.client.begin(
            bench.url(), to: bench.folder.file("a.bin")
        ) { $0.maxReceiveBytesPerSecond = 1 }
        try await bench.wait(forBytes: 1, of: transfer)

        for _ in 0..<50 {
            bench.clock.advance(by: .milliseconds(1_000))
            try await bench.scope.wait("requests=0")
        }
        #expect(transfer.state == .running)
        transfer.pause()
        #expect(transfer.state == .paused)
        transfer.resume()
        transfer.cancel()

        #expect(await watcher.end().error?.reason == "cancelled")
        #expect(watcher.states.allSatisfy { $0.state != .waiting })
    }
}
