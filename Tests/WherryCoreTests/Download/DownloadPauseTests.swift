// Wherry: pausing a download during its verification
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TestServer
@testable import WherryCore
@testable import WherryDownloads
@testable import WherryHTTP
@testable import WherryRequests
@testable import WherrySystem

/// Observes only the end.
private final class EndWatcher: TransferObserver {
    private let outcome = Monitor(TransferOutcome?.none)

    func transfer(_ transfer: Transfer, did event: TransferEvent) {
        if case .done(let found) = event { outcome.update { $0 = found } }
    }

    func end() -> TransferOutcome? { outcome.wait { $0 } }
}

@Suite(.timeLimit(.minutes(10))) struct DownloadPauseTests {
    @Test(
        "D12 DR27 a pause during verification holds, and no byte is downloaded twice",
        arguments: ["", "&no_validator=1"])
    func pause(query: String) throws {
        let (size, held) = (1_060_921, 1_060_000)
        let scope = try TestServer.shared.scope()
        let folder = NSTemporaryDirectory() + "wherry-pause-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let client = try Client {
            $0.proxy = ""
            $0.clock = ManualClock()
        }
        let content = TestPattern.bytes(seed: 1, count: size)
        var request = Request(scope.url("/bytes/\(size)?hold=\(held)&gate=go" + query))
        request.computedDigest = .sha256
        request.set(.segments, 1)
        let watcher = EndWatcher()
        let transfer = try client.download(request, to: folder + "/a.bin", observer: watcher)
        try wait(scope) { transfer.progress.completed >= held }
        // The disk is busy from here on, so that verification cannot begin.
        let isFree = Monitor(false)
        for _ in 0..<max(2, ProcessInfo.processInfo.activeProcessorCount) {
            client.workers.submit { _ = isFree.wait { $0 ? true : nil } }
        }
        try scope.open(gate: "go")
        try wait(scope) { transfer.state == .verifying }

        let isBack = Monitor(false)
        let pausing = try NativeThread(name: "pausing") {
            transfer.pause()
            isBack.update { $0 = true }
        }
        let download = try #require(transfer as? DownloadTransfer)
        try wait(scope) {
            download.core.withLock { $0.machine.isPausing } || isBack.withLock { $0 }
        }
        isFree.update { $0 = true }
        pausing.join()

        #expect(transfer.state == .paused)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder).contains("a.bin") == false)
        transfer.resume()
        let outcome = try #require(watcher.end())
        #expect(outcome.error == nil)
        #expect(outcome.digests[.sha256] == Digest.hash(of: content, .sha256))
        #expect(FileManager.default.contents(atPath: folder + "/a.bin") == Data(content))
        #expect(try scope.requests().count == 1)
    }

    /// Until the condition holds. A request to the server is the wait.
    private func wait(_ scope: TestServer.Scope, until condition: () -> Bool) throws {
        while !condition() { try scope.waitBlocking("requests=0") }
    }
}
