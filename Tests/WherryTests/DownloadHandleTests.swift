// Wherry: tests of download handles
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry

@Suite struct DownloadHandleTests {
    private let scope: TestServer.Scope
    private let client: Client
    private let folder = NSTemporaryDirectory() + "wherry-" + UUID().uuidString

    init() throws {
        scope = try TestServer.shared.scope()
        client = try makeClient(scope)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    private func done() { try? FileManager.default.removeItem(atPath: folder) }

    private func contents(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(name)")))
    }

    private func failure<Result>(
        _ body: () async throws(WherryError) -> Result
    ) async -> WherryError? {
        do {
            _ = try await body()
            return nil
        } catch {
            return error
        }
    }

    @Test("D1 a file is downloaded completely, with progress, under its name")
    func whole() async throws {
        defer { done() }
        let download = try client.download("bytes/1000000?hold=300000&gate=go", to: "\(folder)/a")
        var last = TransferProgress()
        for await progress in download.progress {
            #expect(progress.completed >= last.completed && progress.total == 1_000_000)
            if last.completed == 0 { try scope.open(gate: "go") }
            last = progress
        }
        let file = try await download.value
        #expect(last.fraction == 1)
        #expect(file.path == "\(folder)/a" && file.url.lastPathComponent == "a")
        #expect(file.response?.status == 200)
        #expect(try contents("a") == TestPattern.bytes(count: 1_000_000))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["a"])
    }

    @Test("D12 a cancelled download keeps its partial file, and the next one resumes it")
    func goesOn() async throws {
        defer { done() }
        let path = "\(folder)/a"
        let first = try client.download("bytes/1000000?hold=600000&gate=never&times=1", to: path)
        for await progress in first.progress where progress.completed >= 500_000 { break }
        first.cancel()
        let error = await failure { () throws(WherryError) in try await first.value }
        #expect(error?.code == .cancelled && first.state == .cancelled)
        let partial = try #require(try client.partial(of: path))
        #expect(partial.bytes > 0 && client.partialRatio(of: path) > 0)

        let second = try client.download(
            "bytes/1000000?hold=600000&gate=never&times=1", to: path)
        var begin: TransferProgress?
        for await progress in second.progress {
            begin = begin ?? progress
        }
        _ = try await second.value
        #expect(begin?.resumedAt == partial.bytes)
        #expect(try contents("a") == TestPattern.bytes(count: 1_000_000))
        let ranges = try scope.requests().map { $0.header("range") }
        #expect(ranges == [nil, "bytes=\(partial.bytes)-"])
    }

    @Test("D12 discard leaves no file")
    func discarded() async throws {
        defer { done() }
        let download = try client.download(
            "bytes/1000000?hold=600000&gate=never", to: "\(folder)/a")
        for await progress in download.progress where progress.completed > 0 { break }
        download.discard()
        _ = await failure { () throws(WherryError) in try await download.value }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
    }

    @Test("D12 a paused download reports its state and resumes")
    func paused() async throws {
        defer { done() }
        let download = try client.download("bytes/900000?hold=300000&gate=go", to: "\(folder)/a")
        for await progress in download.progress where progress.completed > 0 { break }
        download.pause()
        #expect(download.state == .paused)
        try scope.open(gate: "go")
        download.resume()
        _ = try await download.value
        #expect(try contents("a") == TestPattern.bytes(count: 900_000))
        var states: [TransferState] = []
        for await change in download.states { states.append(change.state) }
        #expect(states.contains(.paused) && states.last == .done)
    }

    @Test("D3 an existing file is an error at once, or is replaced, or keeps its name")
    func existing() async throws {
        defer { done() }
        let path = "\(folder)/a.bin"
        try Data("old".utf8).write(to: URL(fileURLWithPath: path))
        let error = await failure { () throws(WherryError) in
            try client.download("bytes/10", to: path)
        }
        #expect(error?.reason == "exists")
        #expect(try scope.requests().isEmpty)
        var request = Request("bytes/10")
        request.existingFile = .number
        let numbered = try await client.download(request, to: path).value
        #expect(numbered.path == "\(folder)/a (1).bin")
        #expect(try contents("a.bin") == Array("old".utf8))
        request.existingFile = .replace
        _ = try await client.download(request, to: path).value
        #expect(try contents("a.bin") == TestPattern.bytes(count: 10))
    }

    @Test("D19, D20 the server's name and a digest are used on request")
    func nameAndDigest() async throws {
        defer { done() }
        var request = Request("bytes/10?disposition=attachment;filename=b.bin")
        request.savesIntoDirectory = true
        try request.setDigest(.sha256, String(repeating: "0", count: 64))
        request.maxRetries = 0
        let wrong = request
        let error = await failure { () throws(WherryError) in
            try await client.download(wrong, to: folder).value
        }
        #expect(error?.reason == "checksum")
        let digest = try await client.get("digest/10").text
        try request.setDigest(.sha256, digest.trimmingCharacters(in: .whitespacesAndNewlines))
        #expect(try await client.download(request, to: folder).value.path == "\(folder)/b.bin")
        let bad = await failure { () throws(WherryError) in try request.setDigest(.md5, "xyz") }
        #expect(bad?.reason == "bad_digest")
    }

    @Test("D20 the digests of a finished file are reported", arguments: DigestKind.allCases)
    func digests(kind: DigestKind) async throws {
        defer { done() }
        let right = try await client.get("digest/300000?algorithm=\(kind)").text
        var request = Request("bytes/300000?cut=100000&times=1")
        request.reportedDigest = kind
        #expect(request.reportedDigest == kind)
        // They cover the bytes of two runs: the first is cut.
        let told = try await client.download(request, to: folder + "/a").value
        #expect(told.digests == [kind: right])
        try request.setDigest(kind, right)
        request.reportedDigest = .md5
        let both = try await client.download(request, to: folder + "/b").value
        let md5 = try await client.get("digest/300000?algorithm=md5").text
        var expected = [kind: right]
        expected[.md5] = md5
        #expect(both.digests == expected)
        let none = try await client.download("bytes/300000", to: folder + "/c").value
        #expect(none.digests.isEmpty)
        // The server's digest is checked, and reported too.
        let announced = try await client.download(
            "bytes/300000?repr_digest=right", to: folder + "/d"
        ).value
        let sha256 = try await client.get("digest/300000?algorithm=sha256").text
        #expect(announced.digests == [.sha256: sha256])
        // An existing file with a matching digest is not downloaded, and identified by it.
        let again = try await client.download(request, to: folder + "/b").value
        #expect(again.digests == [kind: right])
    }

    @Test("M11 cancelling the task that awaits a download cancels it")
    func task() async throws {
        defer { done() }
        let url = try #require(URL(string: scope.url("/bytes/1000000?hold=1000&gate=never")))
        let download = try client.download(url, to: URL(fileURLWithPath: "\(folder)/a"))
        try await scope.wait("requests=1")
        let task = Task { await failure { () throws(WherryError) in try await download.value } }
        task.cancel()
        #expect(await task.value?.code == .cancelled)
    }
}
