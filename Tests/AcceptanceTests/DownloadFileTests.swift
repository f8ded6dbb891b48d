// Wherry: acceptance tests of downloads and nearby files: DC-C of downloads.md
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry
import WherrySystem

@Suite struct DownloadFileTests {
    // MARK: D3

    @Test("D3 an existing target is an error before any traffic: DC-C11")
    func targetExists() async throws {
        let bench = try DownloadBench()
        let path = bench.folder.file("a.bin")
        try Data("foreign".utf8).write(to: URL(fileURLWithPath: path))

        let error = await failure { () throws(WherryError) in
            _ = try bench.client.begin(bench.url(), to: path)
        }

        #expect(error?.reason == "exists")
        #expect(try bench.contents() == Data("foreign".utf8))
        #expect(try bench.folder.names == ["a.bin"])
        #expect(try bench.scope.requests().isEmpty)
        #expect(bench.client.count() == 0)
    }

    @Test("D3 a target is replaced only at the end: DC-C13, DC-C14")
    func replacing() async throws {
        let bench = try DownloadBench()
        let path = bench.folder.file("a.bin")
        try Data("old".utf8).write(to: URL(fileURLWithPath: path))
        let failed = try await bench.run(bench.url("cut_at=400000"), retries: 0) {
            $0.overwrites = true
        }
        #expect(failed.reason == "truncated")
        #expect(try bench.contents() == Data("old".utf8))

        let (transfer, watcher) = try bench.client.begin(
            bench.url("hold_at=700000&gate=go"), to: path
        ) { $0.overwrites = true }
        try await bench.scope.wait("requests=2")
        #expect(try bench.contents() == Data("old".utf8))
        try bench.scope.open(gate: "go")
        let outcome = await watcher.end()

        #expect(outcome.error == nil)
        #expect(try bench.contents() == Contents.v1)
        #expect(try bench.folder.names.filter { $0 == "a.bin" }.count == 1)
        withExtendedLifetime(transfer) {}
    }

    @Test("C2 one rule joins URLs of downloads")
    func joins() async throws { try await proveJoinsOfDownloads() }

    @Test("C3 a download can ignore the base, and then its URL is absolute")
    func withoutBase() async throws {
        let bench = try DownloadBench()
        let client = try makeClient { $0.baseURL = "http://127.0.0.1:1/elsewhere/" }
        var request = Request(bench.url())
        request.ignoresBase = true
        let file = try await client.download(request, to: bench.folder.file("a.bin")).value
        #expect(try bench.contents() == Contents.v1)
        #expect(file.response?.url == bench.url())
        #expect(
            try client.identifier(of: request) == Client { $0.proxy = "" }.identifier(of: request))
        request.url = "bytes/10"
        let relative = request
        let error = await failure { () throws(WherryError) in
            try client.download(relative, to: bench.folder.file("b.bin"))
        }
        #expect(error?.reason == "bad_url")
        // Its partial file is found by its path, with and without the flag.
        request.url = bench.url("cut=400000&seed=2")
        request.maxRetries = 0
        let cut = request
        let broken = await failure { () throws(WherryError) in
            try await client.download(cut, to: bench.folder.file("c.bin")).value
        }
        #expect(broken?.reason == "truncated")
        #expect(client.partialRatio(of: bench.folder.file("c.bin")) == 0.37)
        #expect(client.partialRatio(of: bench.folder.file("a.bin")) == 0)
    }

    @Test("D3 another name is chosen on request")
    func numbering() async throws {
        let bench = try DownloadBench()
        for expected in ["a.bin", "a (1).bin", "a (2).bin"] {
            let end = try await bench.run(bench.url()) { $0.existingFile = .number }
            #expect(end.path == bench.folder.file(expected))
        }
        #expect(try bench.folder.names == ["a (1).bin", "a (2).bin", "a.bin"])
    }

    @Test("D3 a folder renamed during a download gets the file, and the path says so")
    func renamedFolder() async throws {
        let bench = try DownloadBench()
        let (old, new) = (bench.folder.file("old"), bench.folder.file("new"))
        try FileManager.default.createDirectory(atPath: old, withIntermediateDirectories: false)
        let (transfer, watcher) = try bench.client.begin(
            bench.url("hold=10&gate=go"), to: old + "/a.bin")
        try await bench.wait(forBytes: 10, of: transfer)
        try FileManager.default.moveItem(atPath: old, toPath: new)
        try FileManager.default.createDirectory(atPath: old, withIntermediateDirectories: false)
        try bench.scope.open(gate: "go")
        #expect(await watcher.end().path == new + "/a.bin")
        #expect(try bench.folder.contents("new/a.bin") == Contents.v1)
        #expect(try FileManager.default.contentsOfDirectory(atPath: old).isEmpty)
    }

    @Test("D3 directories are created on request")
    func directories() async throws {
        let bench = try DownloadBench()
        let path = bench.folder.file("x/y/a.bin")
        let error = await failure { () throws(WherryError) in
            _ = try bench.client.begin(bench.url(), to: path)
        }
        #expect(error?.reason == "no_file")
        #expect(error?.message.contains("make_directories") == true)
        let end = try await bench.client.run(bench.url(), to: path) { $0.makesDirectories = true }
        #expect(end.path == path)
        #expect(try bench.folder.contents("x/y/a.bin") == Contents.v1)
    }

    @Test("D3 an impossible path is refused at once: DC-C10, DC-C18")
    func impossiblePaths() async throws {
        let bench = try DownloadBench()
        try FileManager.default.createDirectory(
            atPath: bench.folder.file("dir"), withIntermediateDirectories: false)
        try Data().write(to: URL(fileURLWithPath: bench.folder.file("file")))
        for (path, reason) in [
            (bench.folder.file("dir"), "is_directory"), (bench.folder.path + "/", "is_directory"),
            (bench.folder.file("file/a.bin"), "bad_directory"), ("", "bad_path"),
            (bench.folder.file("a\0b"), "bad_path"), ("/proc/a.bin", nil),
        ] {
            let error = await failure { () throws(WherryError) in
                _ = try bench.client.begin(bench.url(), to: path)
            }
            if let reason { #expect(error?.reason == reason) }
            if path != "/proc/a.bin" { #expect(error?.code != nil) }
        }
        #expect(try bench.folder.names == ["dir", "file"])
    }

    // MARK: D8

    @Test("D8 a download without resume begins at byte 0 and leaves no file")
    func notResumable() async throws {
        let bench = try DownloadBench()
        _ = try await bench.runUntilCut("cut=400000&times=2")

        let failed = try await bench.run(bench.url("cut=400000&times=2"), retries: 0) {
            $0.resumes = false
        }
        #expect(failed.reason == "truncated")
        #expect(failed.error?.partialPath == nil)
        #expect(try bench.folder.names.isEmpty)

        let end = try await bench.run(bench.url("cut=400000&times=2")) { $0.resumes = false }
        #expect(end.error == nil)
        #expect(try bench.contents() == Contents.v1)
        #expect(try bench.scope.requests().allSatisfy { $0.header("range") == nil })
    }

    // MARK: Journals

    @Test(
        "D17 a damaged journal causes only a restart: DC-C04, DC-C05, DC-C06",
        arguments: ["flipped", "empty", "half", "zeros", "foreign"])
    func damagedJournal(kind: String) async throws {
        let bench = try DownloadBench()
        _ = try await bench.runUntilCut()
        let path = try #require(try bench.leftovers().journal)
        var journal = try Data(contentsOf: URL(fileURLWithPath: path))
        switch kind {
        case "flipped":
            for index in stride(from: 20, to: journal.count, by: 97) { journal[index] ^= 0x5A }
        case "empty": journal = Data()
        case "half": journal = journal.prefix(2000)
        case "zeros": journal = Data(repeating: 0, count: journal.count)
        default: journal = Data(repeating: 0x41, count: journal.count)
        }
        try journal.write(to: URL(fileURLWithPath: path))

        let end = try await bench.run(bench.url("cut=400000&times=1"))

        #expect(end.error == nil)
        #expect(end.watcher.remarks == ["journal_invalid"])
        #expect(try bench.contents() == Contents.v1)
        #expect(try bench.folder.names == ["a.bin"])
        #expect(try bench.scope.requests().map { $0.header("range") } == [nil, nil])
    }

    @Test("D17 a partial file shorter or longer than in its journal is detected: DC-C07, DC-C08")
    func wrongLength() async throws {
        for (length, range) in [(250_000, "bytes=250000-"), (700_000, "bytes=400000-")] {
            let bench = try DownloadBench()
            _ = try await bench.runUntilCut()
            let part = try #require(try bench.leftovers().part)
            let handle = try FileHandle(forUpdating: URL(fileURLWithPath: part))
            try handle.truncate(atOffset: UInt64(length))
            if length > 400_000 {
                try handle.seek(toOffset: 400_000)
                try handle.write(contentsOf: Data(repeating: 0xEE, count: length - 400_000))
            }
            try handle.close()

            let end = try await bench.run(bench.url("cut=400000&times=1"))

            #expect(end.error == nil)
            #expect(try bench.scope.requests().last?.header("range") == range)
            #expect(try bench.contents() == Contents.v1)
        }
    }

    @Test("D17 a digest detects lost bytes: DC-C22")
    func zeroedTail() async throws {
        let bench = try DownloadBench()
        _ = try await bench.runUntilCut()
        let part = try #require(try bench.leftovers().part)
        let handle = try FileHandle(forUpdating: URL(fileURLWithPath: part))
        try handle.seek(toOffset: 390_000)
        try handle.write(contentsOf: Data(repeating: 0, count: 10_000))
        try handle.close()

        let end = try await bench.run(bench.url("cut=400000&times=1")) {
            $0.expectedDigest = Contents.digest(Contents.v1)
        }

        #expect(end.error == nil)
        #expect(end.restarts == ["checksum"])
        #expect(try bench.contents() == Contents.v1)
    }

    // MARK: D15, D16

    @Test(
        "D15 a path is the same file however it is written, and D9 a partial file is found by each")
    func spellings() async throws {
        let bench = try DownloadBench()
        let path = bench.folder.file("a.bin")
        let manager = FileManager.default
        try manager.createDirectory(
            atPath: bench.folder.file("in"), withIntermediateDirectories: false)
        try manager.createSymbolicLink(
            atPath: bench.folder.file("link"), withDestinationPath: bench.folder.path)
        let spellings = ["./a.bin", "in/../a.bin", "link/a.bin", "/a.bin"].map {
            bench.folder.path + "/" + $0
        }
        let url = bench.url("hold=400000&gate=go")
        let (first, watcher) = try bench.client.begin(url, to: path)
        for spelling in spellings {
            let again = await failure { () throws(WherryError) in
                _ = try bench.client.begin(url, to: spelling)
            }
            #expect(again?.reason == "already_running", "\(spelling)")
            #expect(bench.client.count(.path(spelling)) == 1)
        }
        try await bench.wait(forBytes: 400_000, of: first)
        #expect(bench.client.cancel(.path(spellings[2])) == 1)
        _ = await watcher.end()
        withExtendedLifetime(first) {}

        // The partial file of one spelling is that of the others.
        for spelling in spellings { #expect(bench.client.partialRatio(of: spelling) > 0) }
        let (second, other) = try bench.client.begin(bench.url(), to: spellings[2])
        #expect(second.path == spellings[2])
        #expect(await other.end().error == nil)
        #expect(try bench.scope.requests().last?.header("range") == "bytes=400000-")
        #expect(try bench.contents() == Contents.v1)
        #expect(try bench.folder.names == ["a.bin", "in", "link"])
    }

    @Test("D1 a header that resuming needs is refused")
    func rangeHeaders() async throws {
        let bench = try DownloadBench()
        for name in ["Range", "if-range"] {
            let error = await failure { () throws(WherryError) in
                _ = try bench.client.begin(bench.url(), to: bench.folder.file("a.bin")) {
                    $0.headers[name] = "bytes=0-9"
                }
            }
            #expect(error?.reason == "bad_header")
        }
        #expect(try bench.scope.requests().isEmpty)
    }

    @Test("D15 the same URL and path is not started twice")
    func twice() async throws {
        let bench = try DownloadBench()
        let url = bench.url("hold=400000&gate=go")
        let (first, watcher) = try bench.client.begin(url, to: bench.folder.file("a.bin"))
        let again = await failure { () throws(WherryError) in
            _ = try bench.client.begin(url, to: bench.folder.file("a.bin"))
        }
        #expect(again?.reason == "already_running" && again?.code == .busy)
        let other = await failure { () throws(WherryError) in
            _ = try bench.client.begin(bench.url("seed=2"), to: bench.folder.file("a.bin"))
        }
        #expect(other?.reason == "busy")
        let (second, otherWatcher) = try bench.client.begin(url, to: bench.folder.file("b.bin"))
        #expect(bench.client.count(.path(bench.folder.file("a.bin"))) == 1)
        #expect(bench.client.count(.url(url)) == 2)

        try bench.scope.open(gate: "go")
        #expect(await watcher.end().error == nil)
        #expect(await otherWatcher.end().error == nil)
        #expect(try bench.folder.names == ["a.bin", "b.bin"])
        // A finished download may start again.
        let end = try await bench.run(url) { $0.overwrites = true }
        #expect(end.error == nil)
        withExtendedLifetime((first, second)) {}
    }

    @Test("D15 another client's download of the same file is not disturbed: DC-C12")
    func twoClients() async throws {
        let bench = try DownloadBench()
        let other = try makeClient(bench.scope)
        let url = bench.url("hold=400000&gate=go")
        let (first, watcher) = try bench.client.begin(url, to: bench.folder.file("a.bin"))
        try await bench.scope.wait("requests=1")

        let end = try await other.run(url, to: bench.folder.file("a.bin"))

        #expect(end.reason == "busy")
        try bench.scope.open(gate: "go")
        #expect(await watcher.end().error == nil)
        #expect(try bench.contents() == Contents.v1)
        #expect(try bench.folder.names == ["a.bin"])
        withExtendedLifetime(first) {}
    }

    @Test("D16 a partial file can be inspected without starting the download")
    func ratio() async throws {
        let bench = try DownloadBench()
        let path = bench.folder.file("a.bin")
        #expect(bench.client.partialRatio(of: path) == 0)
        #expect(try bench.client.partials(in: bench.folder.path).isEmpty)
        _ = try await bench.runUntilCut()
        let other = try makeClient(bench.scope)

        #expect(other.partialRatio(of: path) == 0.37)
        let partial = try #require(try other.partials(in: bench.folder.path).first)
        #expect(partial.path == path && partial.bytes == 400_000)
        #expect(partial.total == Int64(Contents.size))
        #expect(!partial.isRunning)
        #expect(partial.url.hasSuffix("/bytes/1060921?..."))
        #expect(try bench.scope.requests().count == 1)

        #expect(try other.discardPartial(path) == 1)
        #expect(other.partialRatio(of: path) == 0)
        #expect(try bench.folder.names.isEmpty)
    }

    @Test("D16 partial files without a transfer are discarded by path and by URL")
    func discardByKey() async throws {
        let bench = try DownloadBench()
        let url = bench.url("cut=400000")
        for match in [TransferMatch.path(bench.folder.file("a.bin")), .url(url)] {
            let end = try await bench.run(url, retries: 0)
            #expect(end.error?.partialPath != nil)
            #expect(bench.client.discard(match) == 1)
            #expect(try bench.folder.names.isEmpty)
        }
        #expect(bench.client.discard(.all) == 0)
    }

    @Test("D3 a finished file with a matching digest is not downloaded: DC-C19")
    func alreadyThere() async throws {
        let bench = try DownloadBench()
        let end = try await bench.run(bench.url())
        #expect(end.error == nil)
        let again = try await bench.run(bench.url()) {
            $0.expectedDigest = Contents.digest(Contents.v1)
        }
        #expect(again.error == nil)
        #expect(again.path == bench.folder.file("a.bin"))
        #expect(again.watcher.remarks == ["already_complete"])
        // As a running download that has all bytes before its end.
        let told = again.watcher.states.first { $0.reason == "already_complete" }
        #expect(told?.state == .running)
        let progress = try #require(again.watcher.progresses.last)
        #expect(progress.completed == Int64(Contents.size) && progress.total == progress.completed)
        #expect(progress.wire == 0 && progress.resumedAt == progress.completed)
        let other = try await bench.run(bench.url()) {
            $0.expectedDigest = Contents.digest(Contents.v2)
        }
        #expect(other.reason == "exists")
        #expect(try bench.scope.requests().count == 1)
        #expect(try bench.folder.names == ["a.bin"])
    }

    // MARK: D19

    @Test(
        "D19 a name that a server suggests stays in the directory: DC-C16, DC-C17",
        arguments: [
            ("attachment; filename=\"../../evil.bin\"", "evil.bin"),
            ("attachment; filename=\"..\\\\..\\\\evil.bin\"", "evil.bin"),
            (
                "attachment; filename=rates.bin; filename*=UTF-8''%e2%82%ac%20rates.bin",
                "€ rates.bin"
            ),
            ("attachment; filename*=UTF-8''..%2f..%2fetc%2fpasswd", "passwd"),
            ("attachment; filename=\".bashrc\"", "bashrc"),
            ("attachment; filename=\"-rf\"", "rf"),
            ("attachment; filename=\"CON\"", "_CON"),
            ("attachment; filename=\"a.part\"", "a.part_"),
            ("attachment; filename=\"..\"", "1060921"),
            ("attachment; filename=\"\"", "1060921"),
            ("inline", "1060921"),
            ("attachment; filename=\"a\u{202E}nib.exe\"", "anib.exe"),
        ])
    func hostileNames(disposition: String, name: String) async throws {
        let bench = try DownloadBench()
        let field = ParameterEncoding.escaped(disposition)
        let end = try await bench.client.run(
            bench.url("disposition=" + field), to: bench.folder.path
        ) { $0.savesIntoDirectory = true }
        #expect(end.error == nil)
        #expect(end.path == bench.folder.file(name))
        #expect(try bench.folder.names == [name])
    }

    @Test("D19 a plain name in ISO-8859-1 becomes the same name in UTF-8")
    func latin1Name() async throws {
        let bench = try DownloadBench()
        let head =
            Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n".utf8)
            + Array("Content-Disposition: attachment; filename=\"".utf8) + [0xE9]
            + Array(".bin\"\r\n\r\nok".utf8)
        let bytes = Data(head).base64EncodedString()
        try bench.scope.script("name", #"[{"raw": [["send_base64", "\#(bytes)"], ["fin"]]}]"#)
        let end = try await bench.client.run(
            bench.scope.url("/s/name"), to: bench.folder.path
        ) { $0.savesIntoDirectory = true }
        #expect(end.path == bench.folder.file("é.bin"))
        #expect(try bench.folder.contents("é.bin") == Data("ok".utf8))
    }

    @Test("D19 an existing suggested name is an error or gets a number")
    func takenName() async throws {
        let bench = try DownloadBench()
        try Data("mine".utf8).write(to: URL(fileURLWithPath: bench.folder.file("x.bin")))
        let url = bench.url("disposition=attachment%3B%20filename%3Dx.bin")
        let end = try await bench.client.run(url, to: bench.folder.path) {
            $0.savesIntoDirectory = true
        }
        #expect(end.reason == "exists")
        #expect(try bench.folder.names == ["x.bin"])
        let numbered = try await bench.client.run(url, to: bench.folder.path) {
            $0.savesIntoDirectory = true
            $0.existingFile = .number
        }
        #expect(numbered.path == bench.folder.file("x (1).bin"))
        #expect(try bench.folder.contents("x.bin") == Data("mine".utf8))
    }
}
