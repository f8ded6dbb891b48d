// Wherry: acceptance tests of the hook for response headers
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import WherrySystem

import Wherry
@testable import WherryAsync

@Suite struct HeadersHookTests {
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
    ) -> Hooks {
        let path = folder.file(name)
        return .handlingHeaders { head in
            asked.withLock { $0.append("\(head.status) \(head.body.count)") }
            return .save(to: path)
        }
    }

    // MARK: A file

    @Test("R21 the headers of a response turn a request into a file")
    func file() async throws {
        let asked = Guarded<[String]>([])
        let response = try await client.send(
            Request("bytes/1000003?seed=7"), hooks: saving("a.bin", asked))
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
        try client.setHooks(
            .handlingHeaders { head in
                head.header("content-length") == "300000" ? .save(to: path) : .proceed
            })
        let small = try await client.send(Request("bytes/1000?seed=2"))
        #expect(Array(small.body) == TestPattern.bytes(seed: 2, count: 1_000))
        #expect(small.savedPath == nil)
        let large = try await client.send(Request("bytes/300000?seed=3"))
        #expect(large.savedPath == path)
        #expect(try folder.contents("large") == Data(TestPattern.bytes(seed: 3, count: 300_000)))
    }

    @Test("R21 a stream becomes a file, or continues after the hook")
    func streams() async throws {
        let saved = try await client.stream(Request("bytes/500000?seed=4"), hooks: saving())
        #expect(saved.head.status == 200)
        for try await _ in saved.body { Issue.record("a piece of what goes to a file") }
        #expect(try folder.contents("a.bin") == Data(TestPattern.bytes(seed: 4, count: 500_000)))
        let read = try await client.stream(
            Request("bytes/500000?seed=4"), hooks: .handlingHeaders { _ in .proceed })
        var bytes: [UInt8] = []
        for try await piece in read.body { bytes += piece }
        #expect(bytes == TestPattern.bytes(seed: 4, count: 500_000))
    }

    @Test("R21 a saved body is decoded, needs no matching length, and may be empty")
    func forms() async throws {
        var request = Request("bytes/200000?seed=5&gzip=1")
        request.maxBodyBytes = 1_000
        let coded = try await client.send(request, hooks: saving("coded"))
        #expect(coded.header("content-encoding") == "gzip")
        #expect(try folder.contents("coded") == Data(TestPattern.bytes(seed: 5, count: 200_000)))
        _ = try await client.send(Request("bytes/70000?chunked=1"), hooks: saving("chunked"))
        #expect(try folder.contents("chunked").count == 70_000)
        _ = try await client.send(Request("status/204"), hooks: saving("empty"))
        #expect(try folder.contents("empty").isEmpty)
        var head = Request("bytes/5000000000000")
        head.method = "HEAD"
        // The length is that of another response, and no space is reserved for it.
        _ = try await client.send(head, hooks: saving("head"))
        #expect(try folder.contents("head").isEmpty)
        #expect(try folder.names == ["chunked", "coded", "empty", "head"])
    }

    @Test("R21 an existing file is an error, replaced, or joined by another one")
    func existing() async throws {
        try Data("old".utf8).write(to: URL(fileURLWithPath: folder.file("a.bin")))
        let error = await failure { () throws(WherryError) in
            try await client.send(Request("bytes/10"), hooks: saving())
        }
        #expect(error?.reason == "exists")
        #expect(error?.response?.status == 200)
        var request = Request("bytes/10")
        request.existingFile = .number
        let numbered = try await client.send(request, hooks: saving())
        #expect(numbered.savedPath == folder.file("a (1).bin"))
        #expect(try folder.contents("a.bin") == Data("old".utf8))
        request.existingFile = .replace
        _ = try await client.send(request, hooks: saving())
        #expect(try folder.contents("a.bin").count == 10)
        #expect(try folder.names == ["a (1).bin", "a.bin"])
    }

    @Test("R21 in a folder the response names the file, and the server sets its time")
    func named() async throws {
        var request = Request("bytes/10?disposition=attachment%3B%20filename%3Dreport.txt")
        request.savesIntoDirectory = true
        request.makesDirectories = true
        request.keepsServerTime = true
        let response = try await client.send(request, hooks: saving("deep/er"))
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
            try await client.send(request, hooks: saving("a.bin", asked))
        }
        #expect(error?.reason == "truncated")
        #expect(try folder.names.isEmpty)
        #expect(asked.withLock { $0 } == ["200 0"])
        #expect(try scope.requests().count == 1)
    }

    @Test("R21 an unwritable file ends the request", arguments: ["missing/a.bin", "a.bin/"])
    func unwritable(name: String) async throws {
        let error = await failure { () throws(WherryError) in
            try await client.send(Request("bytes/100000"), hooks: saving(name))
        }
        #expect(error?.code == .file)
        #expect(try folder.names.isEmpty)
    }

    /// The name is taken while the body arrives.
    @Test("R21 a file that appears meanwhile is not overwritten")
    func race() async throws {
        let watcher = DownloadWatcher()
        var request = Request("bytes/200000?hold=100000&gate=rest")
        request.hooks = .headers
        let transfer = try client.send(request, observer: watcher)
        let call = try #require(await watcher.hookCall())
        try call.save(to: folder.file("a.bin"))
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
            try await client.send(Request("status/404?body=gone"), hooks: saving())
        }
        #expect(error?.reason == "http_status")
        #expect(error?.response?.text == "gone")
        #expect(try folder.names.isEmpty)
    }

    @Test("R21 uploads call the hook too")
    func pictures() async throws {
        let asked = Guarded<[String]>([])
        try client.setHooks(saving("answer.json", asked))
        let picture = try Image.pixels([1, 2, 3], .rgb8, width: 1, height: 1)
        let response = try await client.upload([picture], to: "upload-photo", name: "a").value
        #expect(response.images.count == 1)
        #expect(response.savedPath == folder.file("answer.json"))
        #expect(try folder.contents("answer.json").first == UInt8(ascii: "{"))
        #expect(asked.withLock { $0 } == ["200 0"])
    }

    // MARK: Ending

    @Test("R21 the hook ends the response, and the body is not read")
    func end() async throws {
        for hooks in [
            Hooks.handlingHeaders { _ in .end },
            .handlingHeaders { _ in throw WherryError(.wrongState, "I do not want it") },
        ] {
            let error = await failure { () throws(WherryError) in
                try await client.send(
                    Request("bytes/1000000?hold=1000&gate=never"), hooks: hooks)
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

    @Test("R21 redirects, challenges, and retries call the hook only for the final response")
    func which() async throws {
        let asked = Guarded<[String]>([])
        let target = scope.url("/status/503").replacingOccurrences(of: ":", with: "%3A")
        var request = Request("redirect-to?url=\(target)")
        _ = await failure { () throws(WherryError) in
            try await client.send(request, hooks: saving("a", asked))
        }
        #expect(asked.withLock { $0 } == ["503 0"])
        request = Request("auth/basic/u/p")
        request.credentials = .basic("u", "p")
        asked.withLock { $0 = [] }
        _ = try await client.send(request, hooks: saving("b", asked))
        #expect(asked.withLock { $0 } == ["200 0"])
        asked.withLock { $0 = [] }
        request = Request("bytes/10?status_first=503&status_times=2")
        var hooks = saving("c", asked)
        hooks.retry = { _, _ in .after(.zero) }
        _ = try await client.send(request, hooks: hooks)
        #expect(asked.withLock { $0 } == ["200 0"])
        // A redirect that is not followed is the response.
        asked.withLock { $0 = [] }
        request = Request("redirect/1")
        request.maxRedirects = 0
        _ = await failure { () throws(WherryError) in
            try await client.send(request, hooks: saving("d", asked))
        }
        #expect(asked.withLock { $0 } == ["302 0"])
        #expect(try folder.names == ["b", "c"])
    }

    @Test("R21 a final failure calls the hook at its end")
    func stands() async throws {
        let asked = Guarded<[String]>([])
        for disposition in [Hooks.Disposition.proceed, .end] {
            var hooks = Hooks.handlingHeaders { head in
                asked.withLock { $0.append("\(head.status) \(head.body.count)") }
                return disposition
            }
            hooks.retry = { _, _ in .giveUp }
            let error = await failure { () throws(WherryError) in
                try await client.send(Request("status/503?body=no"), hooks: hooks)
            }
            #expect(error?.reason == (disposition == .end ? "refused" : "http_status"))
            #expect(error?.response?.text == (disposition == .end ? "" : "no"))
        }
        #expect(asked.withLock { $0 } == ["503 0", "503 0"])
    }

    @Test("R21 cached responses call the hook as well", arguments: [false, true])
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
        let saved = try await client.send(request, hooks: saving("a.bin", asked))
        #expect(saved.isFromCache)
        #expect(saved.body.isEmpty)
        #expect(try folder.contents("a.bin") == Data(fresh.body))
        let ended = await failure { () throws(WherryError) in
            try await client.send(request, hooks: .handlingHeaders { _ in .end })
        }
        #expect(ended?.reason == "refused")
        let whole = try await client.send(
            request, hooks: .handlingHeaders { _ in .proceed })
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
        _ = try await client.send(request, hooks: saving())
        let again = try await client.send(request)
        #expect(!again.isFromCache)
        #expect(!again.body.isEmpty)
    }

    // MARK: While the hook is pending

    @Test("R21 during the hook the body waits, and nothing is reported")
    func waits() async throws {
        let watcher = DownloadWatcher()
        var request = Request("bytes/64000000?seed=9")
        request.isStreamed = true
        request.set(.wantHeaders, 1)
        request.hooks = .headers
        let transfer = try client.send(request, observer: watcher)
        let call = try #require(await watcher.hookCall())
        #expect(transfer.state == .waiting)
        // Round trips give the loop time for any action.
        for _ in 0..<20 { _ = try await client.send(Request("empty")) }
        #expect(watcher.told == ["hook"])
        #expect(try scope.stats().sent < 32_000_000)
        transfer.pause()
        try call.resolve(.standard)
        #expect(throws: WherryError.self) { try call.resolve(.standard) }
        for _ in 0..<20 { _ = try await client.send(Request("empty")) }
        #expect(!watcher.told.contains("piece"))
        transfer.resume()
        await watcher.wait { events in
            events.contains { if case .body = $0 { true } else { false } }
        }
        #expect(Array(watcher.told.prefix(3)) == ["hook", "paused", "head"])
        transfer.cancel()
        #expect(await watcher.end().error?.code == .cancelled)
    }

    @Test("R21 a cancel, closing the client, and a cut end a pending hook")
    func ends() async throws {
        for way in ["cancel", "close", "drop"] {
            let client = try makeClient(scope)
            let watcher = DownloadWatcher()
            // Without a buffered body the connection is watched: the cut is detected at once.
            var request = Request("bytes/100?hold=\(way == "drop" ? 0 : 10)&gate=never")
            request.hooks = .headers
            let transfer = try client.send(request, observer: watcher)
            let call = try #require(await watcher.hookCall())
            switch way {
            case "cancel": transfer.cancel()
            case "close": client.close()
            default: try scope.dropConnections()
            }
            let error = await watcher.end().error
            let reasons = way == "drop" ? ["truncated", "connection_reset"] : ["cancelled"]
            #expect(reasons.contains(error?.reason ?? "none"))
            // The hook is resolved too late.
            let late = await failure { () throws(WherryError) in
                try call.save(to: folder.file("late"))
            }
            #expect(late?.code == .state)
        }
        #expect(try folder.names.isEmpty)
    }

    @Test("R21 an unresolved hook continues the response", arguments: [false, true])
    func expired(isLetGo: Bool) async throws {
        let stub = StubServer()
        stub.advance(by: .zero)
        stub.respond("*", body: Bytes("whole"))
        let client = try Client { $0.stubServer = stub }
        var request = Request("http://h.invalid/")
        request.hooks = .headers
        if isLetGo {
            let inbox = EndListener()
            _ = try client.send(request, observer: inbox)
            #expect(await inbox.end?.response?.text == "whole")
        } else {
            let watcher = DownloadWatcher()
            _ = try client.send(request, observer: watcher)
            let call = try #require(await watcher.hookCall())
            stub.advance(by: .seconds(30))
            #expect(await watcher.end().response?.text == "whole")
            let late = await failure { () throws(WherryError) in try call.resolve(.standard) }
            #expect(late?.reason == "hook_expired")
        }
    }

    @Test("R21 cancelling while the body is written leaves no file")
    func cancelledWriting() async throws {
        let watcher = DownloadWatcher()
        var request = Request("bytes/2000000?hold=1000000&gate=never")
        request.hooks = .headers
        let transfer = try client.send(request, observer: watcher)
        try #require(await watcher.hookCall()).save(to: folder.file("a.bin"))
        while transfer.progress.completed < 1_000_000, !transfer.state.isFinal {
            _ = try await client.send(Request("empty"))
        }
        transfer.cancel()
        #expect(await watcher.end().error?.reason == "cancelled")
        #expect(try folder.names.isEmpty)
    }
}

extension HookCall {
    /// Resolves the hook with a file for the body.
    fileprivate func save(to path: String) throws(WherryError) {
        guard case .headers(_, let place) = kind else { return }
        try resolve(.save(place.target(path)))
    }
}

/// Releases every hook call.
private final class EndListener: TransferObserver {
    private let outcome = AsyncMonitor<TransferOutcome?>(nil)

    func transfer(_ transfer: Transfer, did event: TransferEvent) {
        if case .done(let outcome) = event { self.outcome.update { $0 = outcome } }
    }

    var end: TransferOutcome? { get async { await outcome.wait { $0 } } }
}

extension DownloadWatcher {
    /// The first call of a hook.
    fileprivate func hookCall() async -> HookCall? {
        await wait { events in
            events.contains { if case .hook = $0 { true } else { false } }
        }
        for case .hook(let call) in events { return call }
        return nil
    }

    /// The order of reports.
    fileprivate var told: [String] {
        events.map { event in
            switch event {
            case .hook: "hook"
            case .headers: "head"
            case .body: "piece"
            case .state(let state, _): "\(state)"
            default: "another"
            }
        }
    }
}
