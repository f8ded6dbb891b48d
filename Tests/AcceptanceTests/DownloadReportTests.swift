// Wherry: acceptance tests of download reports: errors, progress, and the path of the partial file
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry
import WherrySystem

@Suite struct DownloadReportTests {
    // MARK: D7

    @Test(
        "D7 an error status is an error with the server's text, and the target stays",
        arguments: [
            400, 401, 403, 404, 416, 500, 503,
        ])
    func refusals(status: Int) async throws {
        let bench = try DownloadBench()
        try Data("old".utf8).write(to: URL(fileURLWithPath: bench.folder.file("a.bin")))
        let end = try await bench.run(
            bench.scope.url("/status/\(status)?body=no%20\(status)&type=text/plain")
        ) { $0.overwrites = true }
        #expect(end.reason == "http_status" && end.error?.code == .http)
        #expect(end.error?.httpStatus == status)
        #expect(end.error?.response?.text == "no \(status)")
        #expect(end.outcome.response?.header("content-type") == "text/plain")
        #expect(end.path == nil)
        #expect(try bench.contents() == Data("old".utf8))
        #expect(try bench.folder.names == ["a.bin"])
        #expect(try bench.scope.requests().count == (status >= 500 ? 6 : 1))
    }

    @Test("D7 64 KiB of a long error body are kept, and a 5xx keeps the partial file")
    func longRefusal() async throws {
        let bench = try DownloadBench()
        _ = try await bench.runUntilCut("cut_at=400000&status_next=500&change_at=2")
        let end = try await bench.run(
            bench.url("cut_at=400000&status_next=500&change_at=2"), retries: 1)
        #expect(end.error?.httpStatus == 500)
        #expect(end.error?.partialPath == (try bench.leftovers().part))

        let body = String(repeating: "x", count: 200_000)
        try bench.scope.script("long", #"[{"status": 404, "body": "\#(body)"}]"#)
        let long = try await bench.client.run(
            bench.scope.url("/s/long"), to: bench.folder.file("b.bin"))
        #expect(long.error?.httpStatus == 404)
        #expect(long.error?.response?.body.count == 65_536)
    }

    // MARK: D9, D10, D11

    @Test("D9 progress starts at the resume offset, never decreases, and reports the end")
    func progress() async throws {
        let bench = try DownloadBench()
        // Cut after 400,000 bytes; the second time it stops after 300,000 more.
        try bench.scope.script(
            "twice",
            #"""
            [{"raw": [
                ["send", "HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: 1060921\r\n\r\n"],
                ["bytes", 400000], ["fin"]]},
             {"raw": [
                ["send", "HTTP/1.1 206 Partial Content\r\nETag: \"1\"\r\n"],
                ["send", "Content-Range: bytes 400000-1060920/1060921\r\n"],
                ["send", "Content-Length: 660921\r\n\r\n"],
                ["bytes", 300000, 1, 400000], ["gate", "go"], ["bytes", 360921, 1, 700000], ["fin"]
             ]}]
            """#)
        let url = bench.scope.url("/s/twice")
        #expect(try await bench.run(url, retries: 0).reason == "truncated")
        let (transfer, watcher) = try bench.client.begin(url, to: bench.folder.file("a.bin"))
        try await bench.wait(forBytes: 700_000, of: transfer)
        bench.clock.advance(by: .milliseconds(1_000))
        try bench.scope.open(gate: "go")
        #expect(await watcher.end().error == nil)
        let told = watcher.progresses
        #expect(told.count >= 3)
        #expect(told.first?.completed == 400_000 && told.first?.resumedAt == 400_000)
        #expect(zip(told, told.dropFirst()).allSatisfy { $0.completed <= $1.completed })
        #expect(told.allSatisfy { $0.completed <= $0.total ?? 0 && ($0.fraction ?? 2) <= 1 })
        #expect(told.allSatisfy { $0.resumedAt == 400_000 })
        #expect(told.last?.completed == Int64(Contents.size))
        #expect(told.last?.wire == 660_921)
        #expect(told.last?.bytesPerSecond == 660_921)
    }

    @Test("D9 at most ten progress events arrive per second, and none if disabled")
    func throttledProgress() async throws {
        let bench = try DownloadBench()
        let end = try await bench.client.run(
            bench.url(size: 8 << 20), to: bench.folder.file("a.bin"))
        // The clock stands still: only the first and the last are due.
        #expect(end.watcher.progresses.count == 2)
        let quiet = try await bench.client.run(bench.url(), to: bench.folder.file("b.bin")) {
            $0.set(.wantProgress, 0)
        }
        #expect(quiet.error == nil && quiet.watcher.progresses.isEmpty)
    }

    // The transport reports bytes ten times a second, the download not before 0.1 s after its own
    // last report: bytes received with the headers were dropped, and reported only when more
    // arrived.
    @Test("D9 bytes received before a stall are reported, once, as soon as a report is due")
    func lastProgress() async throws {
        let bench = try DownloadBench()
        let (transfer, watcher) = try bench.client.begin(
            bench.url("hold=10&gate=go"), to: bench.folder.file("a.bin"))
        try await bench.wait(forBytes: 10, of: transfer)
        for _ in 0..<3 {
            bench.clock.advance(by: .milliseconds(100))
            await bench.client.settle(bench.clock)
        }
        try bench.scope.open(gate: "go")
        #expect(await watcher.end().error == nil)
        #expect(watcher.progresses.filter { $0.completed == 10 }.count == 1)
    }

    @Test("D9 a pause is followed by its progress, and the end by nothing")
    func progressOfPause() async throws {
        let bench = try DownloadBench()
        let (transfer, watcher) = try bench.client.begin(
            bench.url("hold=10&gate=go"), to: bench.folder.file("a.bin"))
        try await bench.wait(forBytes: 10, of: transfer)
        transfer.pause()
        bench.clock.advance(by: .milliseconds(100))
        await bench.client.settle(bench.clock)
        await watcher.wait { events in
            events.contains {
                if case .progress(let told) = $0 { told.completed == 10 } else { false }
            }
        }
        #expect(transfer.state == .paused)
        transfer.resume()
        try bench.scope.open(gate: "go")
        #expect(await watcher.end().error == nil)

        let (other, heard) = try bench.client.begin(
            bench.url("hold=10&gate=never"), to: bench.folder.file("b.bin"))
        try await bench.wait(forBytes: 10, of: other)
        other.cancel()
        #expect(await heard.end().error?.code == .cancelled)
        bench.clock.advance(by: .milliseconds(1_000))
        await bench.client.settle(bench.clock)
        if case .done? = heard.events.last {} else { Issue.record("something follows the end") }
    }

    @Test("D9 the last progress is reported for a failure too")
    func lastOfFailure() async throws {
        let bench = try DownloadBench()
        // The clock stands still, so the report would otherwise be too early.
        let end = try await bench.run(bench.url("cut=400000"), retries: 0)
        #expect(end.reason == "truncated")
        let last = try #require(end.watcher.progresses.last)
        #expect(last.completed == 400_000 && end.watcher.progresses.count == 2)
        let refused = try await bench.client.run(
            bench.scope.url("/status/404"), to: bench.folder.file("b.bin"))
        #expect(refused.error?.httpStatus == 404 && refused.watcher.progresses.isEmpty)
    }

    @Test("D9 a caller without events can still read the speed")
    func polledSpeed() async throws {
        let bench = try DownloadBench()
        let (transfer, watcher) = try bench.client.begin(
            bench.url("hold=500000&gate=go"), to: bench.folder.file("a.bin")
        ) { $0.set(.wantProgress, 0) }
        try await bench.wait(forBytes: 500_000, of: transfer)
        bench.clock.advance(by: .milliseconds(1_000))
        await bench.client.settle(bench.clock)
        #expect(transfer.progress.bytesPerSecond == 500_000)
        try bench.scope.open(gate: "go")
        #expect(await watcher.end().error == nil)
        #expect(watcher.progresses.isEmpty)
    }

    @Test("D10 without a length the total is unknown until the end")
    func unknownLength() async throws {
        let bench = try DownloadBench()
        let (transfer, watcher) = try bench.client.begin(
            bench.url("chunked=1&hold=400000&gate=go"), to: bench.folder.file("a.bin"))
        await watcher.wait { !$0.isEmpty }
        let progress = transfer.progress
        #expect(progress.total == nil && progress.fraction == nil && progress.remaining == nil)
        try bench.scope.open(gate: "go")
        #expect(await watcher.end().error == nil)
        #expect(watcher.progresses.first?.total == nil)
        #expect(watcher.progresses.last?.total == Int64(Contents.size))
    }

    @Test("D11 a failure reports the path of the partial file")
    func failurePath() async throws {
        let bench = try DownloadBench()
        let end = try await bench.run(bench.url("cut=530460"), retries: 0)
        let path = try #require(end.error?.partialPath)
        let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
        #expect(size == 530_460)
        #expect(end.path == nil)
        #expect(end.outcome.response?.status == 200)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Contents.v1.prefix(530_460))
    }

    @Test("D11 an error has the URL without its query, the path, digests, and lengths")
    func namedFailures() async throws {
        let bench = try DownloadBench()
        let path = bench.folder.file("a.bin")
        let refused = try await bench.run(bench.scope.url("/status/410?token=hunter4"))
        let address = bench.scope.url("/status/410") + "?..."
        #expect(refused.error?.message == "GET \(address) returned status 410")

        let later = try await bench.run(bench.scope.url("/status/503?retry_after=3600"))
        #expect(later.reason == "retry_later")
        #expect(later.error?.message.contains("/status/503?... returned status 503") == true)
        #expect(later.error?.message.contains("again in 3600 s") == true)

        let cut = try await bench.run(bench.url("cut_at=400000"), retries: 0)
        #expect(cut.reason == "truncated")
        #expect(cut.error?.message.contains("400000 of \(Contents.size) bytes") == true)

        let lengths = try await bench.run(bench.url("two_lengths=1000"), retries: 0) {
            $0.partialOf = .sameURL
        }
        #expect(lengths.reason == "protocol")
        #expect(lengths.error?.message.contains("\(Contents.size)") == true)
        #expect(lengths.error?.message.contains("1000") == true)

        let wrong = try await bench.run(bench.url()) {
            $0.expectedDigest = Contents.digest(Contents.v2)
        }
        #expect(wrong.reason == "checksum")
        let message = try #require(wrong.error?.message)
        for content in [Contents.v1, Contents.v2] {
            #expect(message.contains(Hex.encode(Digest.hash(of: Array(content), .sha256))))
        }
        #expect(message.hasPrefix(path + " "), "\(message)")

        try Data("old".utf8).write(to: URL(fileURLWithPath: path))
        let taken = await failure { () async throws(WherryError) in
            try await bench.client.run(bench.url(), to: path)
        }
        let refusal = try #require(taken?.message)
        #expect(taken?.reason == "exists" && refusal.hasPrefix(path + " already exists"))
        #expect(refusal.contains("overwrite") && refusal.contains("another path"))
    }
}
