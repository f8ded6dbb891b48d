// Wherry: acceptance tests of downloads whose files are changed from outside
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TestServer
import Testing
import Wherry
import WherrySystem

/// The replacement that another program puts in place of a file.
enum Meddling: String, CaseIterable, Sendable {
    case folder, link, file, secondName, pipe

    /// Puts the replacement there. Links lead to "mine", which must not be touched.
    func put(at path: String, in folder: TemporaryFolder) throws {
        let mine = folder.file("mine")
        if !FileManager.default.fileExists(atPath: mine) {
            try Data("mine".utf8).write(to: URL(fileURLWithPath: mine))
        }
        let made = folder.file("made")
        switch self {
        case .folder: try #require(mkdir(made, 0o700) == 0)
        case .link: try #require(symlink(mine, made) == 0)
        case .file: try Data("another".utf8).write(to: URL(fileURLWithPath: made))
        case .secondName: try #require(Glibc.link(mine, made) == 0)
        case .pipe: try #require(mkfifo(made, 0o600) == 0)
        }
        // Created next to it, so that it does not get the old inode number.
        unlink(path)
        try #require(rename(made, path) == 0)
    }

    /// The content under the name now.
    static func kind(_ path: String) -> Meddling? {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        switch status.st_mode & S_IFMT {
        case S_IFDIR: return .folder
        case S_IFLNK: return .link
        case S_IFIFO: return .pipe
        default: return status.st_nlink > 1 ? .secondName : .file
        }
    }
}

@Suite struct DownloadMeddlingTests {
    private func mine(_ bench: DownloadBench) throws -> String {
        String(decoding: try bench.folder.contents("mine"), as: UTF8.self)
    }

    /// Until the partial file has this length: the bytes are written, not only received.
    private func wait(_ bench: DownloadBench, forSize size: Int) async throws -> String {
        let limit = ContinuousClock.now + .seconds(600)
        while ContinuousClock.now < limit {
            if let part = try bench.leftovers().part {
                var status = stat()
                if stat(part, &status) == 0, status.st_size >= size { return part }
            }
            try await bench.scope.wait("requests=0")
        }
        throw CocoaError(.fileReadUnknown)
    }

    // MARK: Between two runs

    @Test(
        "DR18 DR21 a replacement of the partial file is neither written nor resumed",
        arguments: Meddling.allCases)
    func partTaken(_ thing: Meddling) async throws {
        let bench = try DownloadBench()
        _ = try await bench.runUntilCut()
        let part = try #require(try bench.leftovers().part)
        try thing.put(at: part, in: bench.folder)

        let end = try await bench.run(bench.url("cut=400000&times=1"))

        #expect(try mine(bench) == "mine")
        #expect(end.error == nil)
        if thing == .folder {
            // It cannot be removed, and causes no failure: the partial file gets another name.
            #expect(Meddling.kind(part) == .folder)
            #expect(try bench.contents() == Contents.v1)
            #expect(try bench.folder.names.count == 3)
            return
        }
        // Or there is no journal: the new partial file may reuse the inode number, and is empty.
        #expect([["journal_invalid"], []].contains(end.watcher.remarks))
        #expect(end.resumedAt == 0)
        #expect(try bench.contents() == Contents.v1)
        #expect(try bench.folder.names == ["a.bin", "mine"])
        #expect(try bench.scope.requests().last?.header("range") == nil)
    }

    @Test(
        "DR21 a replacement of the journal is neither read nor written",
        arguments: Meddling.allCases)
    func journalTaken(_ thing: Meddling) async throws {
        let bench = try DownloadBench()
        _ = try await bench.runUntilCut()
        let journal = try #require(try bench.leftovers().journal)
        try thing.put(at: journal, in: bench.folder)

        let end = try await bench.run(bench.url("cut=400000&times=1"))

        #expect(try mine(bench) == "mine")
        #expect(end.error == nil)
        if thing == .folder {
            #expect(Meddling.kind(journal) == .folder)
            #expect(try bench.contents() == Contents.v1)
            #expect(try bench.folder.names.count == 3)  // the file, "mine", and the folder
            return
        }
        #expect(end.watcher.remarks == ["journal_invalid"])
        #expect(try bench.contents() == Contents.v1)
        #expect(try bench.folder.names == ["a.bin", "mine"])
    }

    // MARK: During the download

    @Test(
        "DR24 a partial file that was replaced is not renamed, nor is its replacement",
        arguments: [nil, .folder, .link, .file, .secondName, .pipe] as [Meddling?])
    func partTakenMeanwhile(_ thing: Meddling?) async throws {
        let bench = try DownloadBench()
        let (transfer, watcher) = try bench.client.begin(
            bench.url("hold=400000&gate=go"), to: bench.folder.file("a.bin"))
        let part = try await wait(bench, forSize: 1)
        if let thing { try thing.put(at: part, in: bench.folder) } else { unlink(part) }
        try bench.scope.open(gate: "go")

        let outcome = await watcher.end()

        #expect(outcome.error?.reason == (thing == nil ? "no_file" : "busy"))
        #expect(outcome.error?.message.contains(part) == true)
        #expect(outcome.error?.partialPath == nil)
        #expect(Meddling.kind(part) == thing)
        if thing != nil { #expect(try mine(bench) == "mine") }
        // The journal was removed with the partial file.
        #expect(try bench.folder.names.count == (thing == nil ? 0 : 2))
        withExtendedLifetime(transfer) {}
    }

    @Test("DR20 a journal that was removed during the download is written again")
    func journalRemovedMeanwhile() async throws {
        let bench = try DownloadBench()
        let path = bench.folder.file("a.bin")
        let (transfer, watcher) = try bench.client.begin(bench.url("hold=400000&gate=go"), to: path)
        try await bench.wait(forBytes: 400_000, of: transfer)
        _ = try await wait(bench, forSize: 1)
        unlink(try #require(try bench.leftovers().journal))

        transfer.pause()

        #expect(transfer.state == .paused)
        #expect(try bench.client.partial(of: path)?.bytes == 400_000)
        try bench.scope.open(gate: "go")
        transfer.resume()
        #expect(await watcher.end().error == nil)
        #expect(try bench.contents() == Contents.v1)
        #expect(try bench.folder.names == ["a.bin"])
    }

    @Test(
        "DR24 a journal that was replaced during the download ends it and is not touched",
        arguments: Meddling.allCases)
    func journalTakenMeanwhile(_ thing: Meddling) async throws {
        let bench = try DownloadBench()
        let (transfer, watcher) = try bench.client.begin(
            bench.url("hold=400000&gate=go"), to: bench.folder.file("a.bin"))
        _ = try await wait(bench, forSize: 1)
        let journal = try #require(try bench.leftovers().journal)
        try thing.put(at: journal, in: bench.folder)

        transfer.pause()

        #expect(await watcher.end().error?.reason == "busy")
        #expect(Meddling.kind(journal) == thing)
        #expect(try mine(bench) == "mine")
        #expect(!FileManager.default.fileExists(atPath: bench.folder.file("a.bin")))
        try bench.scope.open(gate: "go")
    }

    @Test(
        "DR19 a complete file waits for another run if its name is taken meanwhile",
        arguments: Meddling.allCases, [false, true])
    func nameTaken(_ thing: Meddling, overwrites: Bool) async throws {
        let bench = try DownloadBench()
        let path = bench.folder.file("a.bin")
        let url = bench.url("hold=400000&gate=go")
        let (transfer, watcher) = try bench.client.begin(url, to: path) {
            $0.overwrites = overwrites
        }
        try await bench.scope.wait("requests=1")
        _ = try await wait(bench, forSize: 1)
        try thing.put(at: path, in: bench.folder)
        try bench.scope.open(gate: "go")

        let outcome = await watcher.end()

        #expect(try mine(bench) == "mine")
        if overwrites, thing != .folder {
            #expect(outcome.error == nil)
            #expect(Meddling.kind(path) == .file)
        } else {
            #expect(outcome.error?.reason == (overwrites ? "is_directory" : "exists"))
            #expect(Meddling.kind(path) == thing)
            #expect(outcome.error?.partialPath == (try bench.leftovers().part))
            #expect(try bench.client.partial(of: path)?.bytes == Int64(Contents.size))
            #expect(rename(path, bench.folder.file("moved")) == 0)

            let end = try await bench.run(url)
            #expect(end.error == nil)
            #expect(end.watcher.remarks == ["already_complete"])
            #expect(try bench.scope.requests().map(\.status) == [200, 416])
        }
        #expect(try bench.contents() == Contents.v1)
        #expect(!(try bench.folder.names.contains { $0.hasPrefix(".") }))
        withExtendedLifetime(transfer) {}
    }

    @Test("DR22 a partial file truncated during the download never becomes a file with a hole")
    func shortened() async throws {
        for isPaused in [false, true] {
            let bench = try DownloadBench()
            let url = bench.url("hold=400000&gate=go")
            let (transfer, watcher) = try bench.client.begin(url, to: bench.folder.file("a.bin"))
            let part = try await wait(bench, forSize: 100_000)
            if isPaused { transfer.pause() }
            try #require(truncate(part, 50_000) == 0)
            try bench.scope.open(gate: "go")
            if isPaused { transfer.resume() }

            let outcome = await watcher.end()

            #expect(outcome.error?.reason == "file_changed")
            #expect(outcome.error?.message.contains(part) == true)
            #expect(outcome.error?.partialPath == part)
            #expect(try bench.client.partial(of: bench.folder.file("a.bin"))?.bytes == 50_000)
            // The remaining bytes are correct, and the download resumes after them.
            let end = try await bench.run(url)
            #expect(end.error == nil && end.resumedAt == 50_000)
            #expect(try bench.contents() == Contents.v1)
            #expect(try bench.folder.names == ["a.bin"])
        }
    }

    @Test("DR22 bytes that others append to the partial file are not part of the file")
    func grown() async throws {
        let bench = try DownloadBench()
        let (transfer, watcher) = try bench.client.begin(
            bench.url("hold=400000&gate=go"), to: bench.folder.file("a.bin"))
        let part = try await wait(bench, forSize: 1)
        let handle = try #require(FileHandle(forWritingAtPath: part))
        try handle.seek(toOffset: UInt64(Contents.size + 50_000))
        try handle.write(contentsOf: Data(repeating: 0xEE, count: 1000))
        try handle.close()
        try bench.scope.open(gate: "go")
        #expect(await watcher.end().error == nil)
        #expect(try bench.contents() == Contents.v1)
        withExtendedLifetime(transfer) {}
    }
}
