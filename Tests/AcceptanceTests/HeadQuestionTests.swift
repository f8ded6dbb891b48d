// Wherry: acceptance tests of the decision on response headers
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import WherrySystem

@testable import Wherry

@Suite struct HeadQuestionTests {
    private let scope: TestServer.Scope
    private let folder: TemporaryFolder
    private let client: Client

    init() throws {
        scope = try TestServer.shared.scope()
        folder = try TemporaryFolder()
        client = try makeClient(scope)
    }

    /// Saves every body under that name, and records its calls.
    private func saving(
        _ name: String = "a.bin", _ asked: Guarded<[String]> = Guarded([])
    ) -> Decisions {
        let path = folder.file(name)
        return .judgingHeads { head in
            asked.withLock { $0.append("\(head.status) \(head.body.count)") }
            return .save(to: path)
        }
    }

    // MARK: A file

    @Test("R21 the headers of a response turn a request into a file")
    func file() async throws {
        let asked = Guarded<[String]>([])
        let response = try await client.send(
            Request("bytes/1000003?seed=7"), decisions: saving("a.bin", asked))
        #expect(response.status == 200)
        #expect(response.body.isEmpty)
        #expect(response.savedPath == folder.file("a.bin"))
        #expect(try folder.contents("a.bin") == Data(TestPattern.bytes(seed: 7, count: 1_000_003)))
        #expect(try folder.names == ["a.bin"])
        #expect(asked.withLock { $0 } == ["200 0"])
    }

    @Test("R21 the client's callbacks apply to its requests, and continuing delivers all bytes")
    func proceed() async throws {
        let path = folder.file("large")
        try client.setDecisions(
            .judgingHeads { head in
                head.header("content-length") == "300000" ? .save(to: path) : .proceed
            })
        let small = try await client.send(Request("bytes/1000?seed=2"))
        #expect(Array(small.body) == TestPattern.bytes(seed: 2, count: 1_000))
        #expect(small.savedPath == nil)
        let large = try await client.send(Request("bytes/300000?seed=3"))
        #expect(large.savedPath == path)
        #expect(try folder.contents("large") == Data(TestPattern.bytes(seed: 3, count: 300_000)))
    }

    @Test("R21 a stream becomes a file, or continues after the decision")
    func streams() async throws {
        let saved = try await client.stream(Request("bytes/500000?seed=4"), decisions: saving())
        #expect(saved.head.status == 200)
        for try await _ in saved.body { Issue.record("a piece of what goes to a file") }
        #expect(try folder.contents("a.bin") == Data(TestPattern.bytes(seed: 4, count: 500_000)))
        let read = try await client.stream(
            Request("bytes/500000?seed=4"), decisions: .judgingHeads { _ in .proceed })
        var bytes: [UInt8] = []
        for try await piece in read.body { bytes += piece }
        #expect(bytes == TestPattern.bytes(seed: 4, count: 500_000))
    }

    @Test("R21 a saved body is decoded, needs no matching length, and may be empty")
    func forms() async throws {
        var request = Request("bytes/200000?seed=5&gzip=1")
        request.maxBodyBytes = 1_000
        let coded = try await client.send(request, decisions: saving("coded"))
        #expect(coded.header("content-encoding") == "gzip")
        #expect(try folder.contents("coded") == Data(TestPattern.bytes(seed: 5, count: 200_000)))
        _ = try await client.send(Request("bytes/70000?chunked=1"), decisions: saving("chunked"))
        #expect(try folder.contents("chunked").count == 70_000)
        _ = try await client.send(Request("status/204"), decisions: saving("empty"))
        #expect(try folder.contents("empty").isEmpty)
        var head = Request("bytes/5000000000000")
        head.method = "HEAD"
        // The length is that of another response, and no space is reserved for it.
        _ = try await client.send(head, decisions: saving("head"))
        #expect(try folder.contents("head").isEmpty)
        #expect(try folder.names == ["chunked", "coded", "empty", "head"])
    }

    @Test("R21 an existing file is an error, replaced, or joined by another one")
    func existing() async throws {
        try Data("old".utf8).write(to: URL(fileURLWithPath: folder.file("a.bin")))
        let error = await failure { () throws(WherryError) in
            try await client.send(Request("bytes/10"), decisions: saving())
        }
        #expect(error?.reason == "exists")
        #expect(error?.response?.status == 200)
        var request = Request("bytes/10")
        request.existingFile = .number
        let numbered = try await client.send(request, decisions: saving())
        #expect(numbered.savedPath == folder.file("a (1).bin"))
        #expect(try folder.contents("a.bin") == Data("old".utf8))
        request.existingFile = .replace
        _ = try await client.send(request, decisions: saving())
        #expect(try folder.contents("a.bin").count == 10)
        #expect(try folder.names == ["a (1).bin", "a.bin"])
    }

    @Test("R21 in a folder the response names the file, and the server sets its time")
    func named() async throws {
        var request = Request("bytes/10?disposition=attachment%3B%20filename%3Dreport.txt")
        request.savesIntoDirectory = true
        request.makesDirectories = true
        request.keepsServerTime = true
        let response = try await client.send(request, decisions: saving("deep/er"))
        #expect(response.savedPath == folder.file("deep/er/report.txt"))
        let found = try FileManager.default.attributesOfItem(
            atPath: folder.file("deep/er/report.txt"))
        // The time from /bytes: 2024-01-01.
        #expect(found[.modificationDate] as? Date == Date(timeIntervalSince1970: 1_704_067_200))
    }

    @Test("R21 a cut response leaves no file and is not retried")
    func cut() async throws {
        let asked = Guarded<[String]>([])
        var request = Request("bytes/100000?cut=50000")
        request.maxRetries = 3
        let error = await failure { () throws(WherryError) in
            try await client.send(request, decisions: saving("a.bin", asked))
        }
        #expect(error?.reason == "truncated")
        #expect(try folder.names.isEmpty)
        #expect(asked.withLock { $0 } == ["200 0"])
        #expect(try scope.requests().count == 1)
    }

    @Test("R21 an unwritable file ends the request", arguments: ["missing/a.bin", "a.bin/"])
    func unwritable(name: String) async throws {
        let error = await failure { () throws(WherryError) in
            try await client.send(Request("bytes/100000"), decisions: saving(name))
        }
        #expect(error?.code == .file)
        #expect(try folder.names.isEmpty)
    }

    /// The name is taken while the body arrives.
    @Test("R21 a file that appears meanwhile is not overwritten")
    func race() async throws {
        let watcher = DownloadWatcher()
        var request = Request("bytes/200000?hold=100000&gate=rest")
        request.decisions = .head
        let transfer = try client.send(request, observer: watcher)
        let question = try #require(await watcher.question())
        try question.save(to: folder.file("a.bin"))
        try Data("theirs".utf8).write(to: URL(fileURLWithPath: folder.file("a.bin")))
        try scope.open(gate: "rest")
        #expect(await watcher.end().error?.reason == "exists")
        #expect(try folder.contents("a.bin") == Data("theirs".utf8))
        #expect(try folder.names == ["a.bin"])
        #expect(transfer.state == .failed)
    }

    @Test("R21 a response with an unaccepted status creates no file")
    func refusedStatus() async throws {
        let error = await failure { () throws(WherryError) in
            try await client.send(Request("status/404?body=gone"), decisions: saving())
        }
        #expect(error?.reason == "http_status")
        #expect(error?.response?.text == "gone")
        #expect(try folder.names.isEmpty)
    }

    @Test("R21 uploads raise the decision too")
    func pictures() async throws {
        let asked = Guarded<[String]>([])
        try client.setDecisions(saving("answer.json", asked))
        let picture = try Image.pixels([1, 2, 3], .rgb8, width: 1, height: 1)
        let response = try await client.upload([picture], to: "upload-photo", name: "a").value
        #expect(response.images.count == 1)
        #expect(response.savedPath == folder.file("answer.json"))
        #expect(try folder.contents("answer.json").first == UInt8(ascii: "{"))
        #expect(asked.withLock { $0 } == ["200 0"])
    }

    // MARK: Ending

    @Test("R21 the decision ends the response, and the body is not read")
    func end() async throws {
        for decisions in [
            Decisions.judgingHeads { _ in .end },
            .judgingHeads { _ in throw WherryError(.wrongState, "I do not want it") },
        ] {
            let error = await failure { () throws(WherryError) in
                try await client.send(
                    Request("bytes/1000000?hold=1000&gate=never"), decisions: decisions)
            }
            #expect(error?.code == .cancelled)
            #expect(error?.reason == "refused")
            #expect(error?.response?.header("content-length") == "1000000")
            #expect(error?.httpStatus == 200)
        }
        try await scope.wait("ended=2")
        #expect(try scope.requests().map(\.outcome) == ["gone", "gone"])
    }

    // MARK: Which headers

    @Test("R21 redirects, challenges, and retries raise a decision only for the final response")
    func which() async throws {
        let asked = Guarded<[String]>([])
        let target = scope.url("/status/503").replacingOccurrences(of: ":", with: "%3A")
        var request = Request("redirect-to?url=\(target)")
        _ = await failure { () throws(WherryError) in
            try await client.send(request, decisions: saving("a", asked))
        }
        #expect(asked.withLock { $0 } == ["503 0"])
        request = Request("auth/basic/u/p")
        request.credentials = .basic("u", "p")
        asked.withLock { $0 = [] }
        _ = try await client.send(request, decisions: saving("b", asked))
        #expect(asked.withLock { $0 } == ["200 0"])
        asked.withLock { $0 = [] }
        request = Request("bytes/10?status_first=503&status_times=2")
        var decisions = saving("c", asked)
        decisions.retry = { _, _ in .after(.zero) }
        _ = try await client.send(request, decisions: decisions)
        #expect(asked.withLock { $0 } == ["200 0"])
        // A redirect that is not followed is the response.
        asked.withLock { $0 = [] }
        request = Request("redirect/1")
        request.maxRedirects = 0
        _ = await failure { () throws(WherryError) in
            try await client.send(request, decisions: saving("d", asked))
        }
        #expect(asked.withLock { $0 } == ["302 0"])
        #expect(try folder.names == ["b", "c"])
    }

    @Test("R21 a final failure raises the decision at its end")
    func stands() async throws {
        let asked = Guarded<[String]>([])
        for disposition in [Decisions.Disposition.proceed, .end] {
            var decisions = Decisions.judgingHeads { head in
                asked.withLock { $0.append("\(head.status) \(head.body.count)") }
                return disposition
            }
            decisions.retry = { _, _ in .giveUp }
            let error = await failure { () throws(WherryError) in
                try await client.send(Request("status/503?body=no"), decisions: decisions)
            }
            #expect(error?.reason == (disposition == .end ? "refused" : "http_status"))
            #expect(error?.response?.text == (disposition == .end ? "" : "no"))
        }
        #expect(asked.withLock { $0 } == ["503 0", "503 0"])
    }

    @Test("R21 cached responses raise the decision as well", arguments: [false, true])
    func caches(isTimed: Bool) async throws {
        let storage = try TemporaryFolder()
        let client = try makeClient(scope) {
            $0.storageDirectory = storage.file("storage")
            $0.usesHTTPCache = !isTimed
        }
        let asked = Guarded<[String]>([])
        var request = Request("cache?control=max-age%3D600")
        if isTimed {
            request.cacheDuration = .seconds(600)
            request.loadsCache = true
        }
        let fresh = try await client.send(request)
        #expect(!fresh.isFromCache)
        let saved = try await client.send(request, decisions: saving("a.bin", asked))
        #expect(saved.isFromCache)
        #expect(saved.body.isEmpty)
        #expect(try folder.contents("a.bin") == Data(fresh.body))
        let ended = await failure { () throws(WherryError) in
            try await client.send(request, decisions: .judgingHeads { _ in .end })
        }
        #expect(ended?.reason == "refused")
        let whole = try await client.send(
            request, decisions: .judgingHeads { _ in .proceed })
        #expect(Array(whole.body) == Array(fresh.body))
        #expect(try scope.requests().count == 1)
    }

    @Test("R21 a body saved while it arrives is not cached", arguments: [false, true])
    func unstored(isTimed: Bool) async throws {
        let storage = try TemporaryFolder()
        let client = try makeClient(scope) {
            $0.storageDirectory = storage.file("storage")
            $0.usesHTTPCache = !isTimed
        }
        var request = Request("cache?control=max-age%3D600")
        if isTimed {
            request.cacheDuration = .seconds(600)
            request.loadsCache = true
        }
        _ = try await client.send(request, decisions: saving())
        let again = try await client.send(request)
        #expect(!again.isFromCache)
        #expect(!again.body.isEmpty)
    }

    // MARK: While the decision is open

    @Test("R21 during the decision the body waits, and nothing is reported")
    func waits() async throws {
        let watcher = DownloadWatcher()
        var request = Request("bytes/64000000?seed=9")
        request.isStreamed = true
        request.set(.wantHead, 1)
        request.decisions = .head
        let transfer = try client.send(request, observer: watcher)
        let question = try #require(await watcher.question())
        #expect(transfer.state == .waiting)
        // Round trips give the loop time for any action.
        for _ in 0..<20 { _ = try await client.send(Request("empty")) }
        #expect(watcher.told == ["question"])
        #expect(try scope.stats().sent < 32_000_000)
        transfer.pause()
        try question.answer(.standard)
        #expect(throws: WherryError.self) { try question.answer(.standard) }
        for _ in 0..<20 { _ = try await client.send(Request("empty")) }
        #expect(!watcher.told.contains("piece"))
        transfer.resume()
        await watcher.wait { events in
            events.contains { if case .body = $0 { true } else { false } }
        }
        #expect(Array(watcher.told.prefix(3)) == ["question", "paused", "head"])
        transfer.cancel()
        #expect(await watcher.end().error?.code == .cancelled)
    }

    @Test("R21 a cancel, closing the client, and a cut end an open decision")
    func ends() async throws {
        for way in ["cancel", "close", "drop"] {
            let client = try makeClient(scope)
            let watcher = DownloadWatcher()
            // Without a buffered body the connection is watched: the cut is detected at once.
            var request = Request("bytes/100?hold=\(way == "drop" ? 0 : 10)&gate=never")
            request.decisions = .head
            let transfer = try client.send(request, observer: watcher)
            let question = try #require(await watcher.question())
            switch way {
            case "cancel": transfer.cancel()
            case "close": client.close()
            default: try scope.dropConnections()
            }
            let error = await watcher.end().error
            let reasons = way == "drop" ? ["truncated", "connection_reset"] : ["cancelled"]
            #expect(reasons.contains(error?.reason ?? "none"))
            // The decision is too late.
            let late = await failure { () throws(WherryError) in
                try question.save(to: folder.file("late"))
            }
            #expect(late?.code == .state)
        }
        #expect(try folder.names.isEmpty)
    }

    @Test("R21 an unanswered decision continues the response", arguments: [false, true])
    func expired(isLetGo: Bool) async throws {
        let stub = StubServer()
        stub.advance(by: .zero)
        stub.answer("*", body: Bytes("whole"))
        let client = try Client { $0.stubServer = stub }
        var request = Request("http://h.invalid/")
        request.decisions = .head
        if isLetGo {
            let inbox = EndListener()
            _ = try client.send(request, observer: inbox)
            #expect(await inbox.end?.response?.text == "whole")
        } else {
            let watcher = DownloadWatcher()
            _ = try client.send(request, observer: watcher)
            let question = try #require(await watcher.question())
            stub.advance(by: .seconds(30))
            #expect(await watcher.end().response?.text == "whole")
            let late = await failure { () throws(WherryError) in try question.answer(.standard) }
            #expect(late?.reason == "decision_expired")
        }
    }

    @Test("R21 cancelling while the body is written leaves no file")
    func cancelledWriting() async throws {
        let watcher = DownloadWatcher()
        var request = Request("bytes/2000000?hold=1000000&gate=never")
        request.decisions = .head
        let transfer = try client.send(request, observer: watcher)
        try #require(await watcher.question()).save(to: folder.file("a.bin"))
        while transfer.progress.completed < 1_000_000, !transfer.state.isFinal {
            _ = try await client.send(Request("empty"))
        }
        transfer.cancel()
        #expect(await watcher.end().error?.reason == "cancelled")
        #expect(try folder.names.isEmpty)
    }
}

extension Decision {
    /// Decides to save the body.
    fileprivate func save(to path: String) throws(WherryError) {
        guard case .head(_, let place) = kind else { return }
        try answer(.save(place.target(path)))
    }
}

/// Releases every decision.
private final class EndListener: TransferObserver {
    private let outcome = AsyncMonitor<TransferOutcome?>(nil)

    func transfer(_ transfer: Transfer, did event: TransferEvent) {
        if case .done(let outcome) = event { self.outcome.update { $0 = outcome } }
    }

    var end: TransferOutcome? { get async { await outcome.wait { $0 } } }
}

extension DownloadWatcher {
    /// The first decision.
    fileprivate func question() async -> Decision? {
        await wait { events in
            events.contains { if case .decision = $0 { true } else { false } }
        }
        for case .decision(let decision) in events { return decision }
        return nil
    }

    /// The order of reports.
    fileprivate var told: [String] {
        events.map { event in
            switch event {
            case .decision: "question"
            case .head: "head"
            case .body: "piece"
            case .state(let state, _): "\(state)"
            default: "another"
            }
        }
    }
}
