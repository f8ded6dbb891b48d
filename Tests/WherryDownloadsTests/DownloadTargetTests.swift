// Wherry: targets of downloads, and lists of partial files
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import WherryDownloads
@testable import WherryHTTP
@testable import WherrySystem

@Suite("Targets of downloads") struct DownloadTargetTests {
    @Test("D3 DC-C11 DC-C18 obstacles are detected before any traffic")
    func inTheWay() throws {
        let folder = try DownloadFolder()
        try folder.put("there", [1])
        try FileManager.default.createDirectory(
            atPath: folder.path("dir"), withIntermediateDirectories: false)
        symlink("dir", folder.path("link-to-dir"))
        symlink("nowhere", folder.path("dangling"))
        func locate(_ path: String) -> String? { reason { _ = try DownloadTarget.locate(path) } }

        #expect(locate(folder.path("free")) == nil)
        #expect(locate(folder.path("there")) == "exists")
        #expect(locate(folder.path("dangling")) == "exists")
        #expect(locate(folder.path("dir")) == "is_directory")
        #expect(locate(folder.path("link-to-dir")) == "is_directory")
        #expect(locate(folder.path("free/")) == "is_directory")
        #expect(locate(folder.path("dir/..")) == "is_directory")
        #expect(locate("/") == "is_directory")
        #expect(locate("") == "bad_path")
        #expect(locate(folder.path("a\0b")) == "bad_path")
        #expect(locate(folder.path(String(repeating: "n", count: 256))) == "bad_path")
        #expect(locate(folder.path("missing/free")) == "no_file")
        #expect(locate(folder.path("there/free")) == "bad_directory")
        #expect(folder.names == ["dangling", "dir", "link-to-dir", "there"])
    }

    @Test("D3 an existing file is an error, replaced, or given a number")
    func policies() throws {
        let folder = try DownloadFolder()
        try folder.put("a.bin", [1])
        try folder.put("a (1).bin", [1])
        #expect(
            try folder.target(existing: .number).identity == folder.path("a (2).bin"))
        #expect(try folder.target(existing: .replace).identity == folder.path("a.bin"))
        // With a digest the file may be the requested one.
        let target = try DownloadTarget.locate(folder.path("a.bin"), hasDigest: true)
        #expect(target.isThere)
        let right = try #require(DownloadDigest(.md5, Digest.hash(of: [1], .md5)))
        let wrong = try #require(DownloadDigest(.md5, Digest.hash(of: [2], .md5)))
        #expect(try PartFile.lengthIfThere(target, with: right) == 1)
        #expect(try PartFile.lengthIfThere(target, with: wrong) == nil)
        var other = target
        #expect(reason { try other.giveUpExisting() } == "exists")
    }

    @Test("D3 only a regular file is ever replaced")
    func noFile() throws {
        let folder = try DownloadFolder()
        #expect(mkfifo(folder.path("pipe"), 0o600) == 0)
        for existing in [DownloadTarget.Existing.fail, .replace] {
            for hasDigest in [false, true] {
                #expect(
                    reason {
                        _ = try DownloadTarget.locate(
                            folder.path("pipe"), existing: existing, hasDigest: hasDigest)
                    } == "exists")
            }
        }
        #expect(try folder.target("pipe", existing: .number).identity == folder.path("pipe (1)"))
        #expect(
            reason { _ = try DownloadTarget.locate("/dev/null", existing: .replace) } == "exists")
        #expect(folder.names == ["pipe"])
    }

    @Test("D3 DC-C14 the old file stays until the new one replaces it")
    func replace() throws {
        let folder = try DownloadFolder()
        try folder.put("a.bin", [1])
        let part = try folder.open(existing: .replace).part
        try part.begin(facts(3), isJournaled: true)
        try part.write([7, 8, 9], at: 0)
        #expect(folder.content("a.bin") == [1])
        #expect(try part.publish(length: 3) == folder.path("a.bin"))
        #expect(folder.content("a.bin") == [7, 8, 9])
        #expect(folder.names == ["a.bin"])
    }

    @Test("DR19 a name taken during the download is not taken back")
    func lateRival() throws {
        let folder = try DownloadFolder()
        let part = try folder.open().part
        try part.begin(facts(3), isJournaled: true)
        try part.write([7, 8, 9], at: 0)
        try folder.put("a.bin", [1])
        #expect(reason { _ = try part.publish(length: 3) } == "exists")
        #expect(folder.content("a.bin") == [1])
        #expect(try part.close(keeping: true) != nil)

        let numbered = try folder.open("b.bin", existing: .number).part
        try numbered.begin(facts(3), isJournaled: false)
        try numbered.write([7, 8, 9], at: 0)
        try folder.put("b.bin", [1])
        #expect(try numbered.publish(length: 3) == folder.path("b (1).bin"))
        #expect(folder.content("b (1).bin") == [7, 8, 9])
    }

    @Test("DR25 two downloads that number their files get one each")
    func twoNumbers() throws {
        let folder = try DownloadFolder()
        try folder.put("a.bin", [1])
        let first = try folder.open(existing: .number).part
        let second = try folder.open(existing: .number).part
        for part in [first, second] {
            try part.begin(facts(1), isJournaled: false)
            try part.write([2], at: 0)
        }
        #expect(try second.publish(length: 1) == folder.path("a (2).bin"))
        #expect(try first.publish(length: 1) == folder.path("a (1).bin"))
    }

    @Test("D19 with a directory the response names the file")
    func directory() throws {
        let folder = try DownloadFolder()
        func open() throws -> PartFile.Found {
            try PartFile.open(
                try DownloadTarget.locate(
                    folder.path("x/y"), isDirectory: true, suggestedName: "from-url",
                    makesDirectories: true), .init(url: MachineRun.url))
        }
        do {
            let part = try open().part
            #expect(part.path.hasPrefix(folder.path("x/y/.from-url.")))
            var named = facts(3)
            named.name = "€ rates.bin"
            try part.begin(named, isJournaled: true)
            try part.write([7], at: 0)
            try part.checkpoint()
        }
        // The next run finds it without knowing the name yet.
        let found = try open()
        #expect(found.record?.name == "€ rates.bin")
        #expect(found.record?.ranges.count == 1)
        try found.part.adopt(try #require(found.record).facts)
        try found.part.write([8, 9], at: 1)
        #expect(try found.part.publish(length: 3) == folder.path("x/y/€ rates.bin"))

        var taken = facts(3)
        taken.name = "€ rates.bin"
        let part = try open().part
        #expect(reason { try part.begin(taken, isJournaled: true) } == "exists")
        #expect(try part.close(keeping: false) == nil)
    }
}

@Suite("Lists of partial files") struct PartialDownloadTests {
    private func leave(_ folder: DownloadFolder, _ name: String, _ count: Int, of total: Int64)
        throws -> PartFile
    {
        let part = try folder.open(name).part
        try part.begin(facts(total), isJournaled: true)
        try part.write([UInt8](repeating: 1, count: count), at: 0)
        try part.checkpoint()
        return part
    }

    @Test("D16 partial files are listed with their bytes and ratio, and no download starts")
    func list() throws {
        let folder = try DownloadFolder()
        _ = try leave(folder, "b.bin", 999, of: 1000)
        let running = try leave(folder, "a.bin", 250, of: 1000)
        try folder.put("complete.bin", [1])
        try folder.put(".x.01234567.journal", [1, 2, 3])
        try folder.put(".y.01234567.part", [1, 2, 3])
        let before = folder.names

        let list = try PartialDownload.list(in: folder.path)
        #expect(list.map(\.path) == [folder.path("a.bin"), folder.path("b.bin")])
        #expect(list.map(\.ratio) == [0.25, 0.99])
        #expect(list.map(\.bytes) == [250, 999])
        #expect(list.map(\.total) == [1000, 1000])
        #expect(list.map(\.url) == [MachineRun.url, MachineRun.url])
        #expect(list.map(\.isRunning) == [true, false])
        #expect(list[0].partialPath == running.path)
        #expect(folder.names == before)
        #expect(try PartialDownload.of(folder.path("a.bin")) == [list[0]])
        #expect(try PartialDownload.of(list[1].partialPath) == [list[1]])
        #expect(try PartialDownload.of(folder.path("none.bin")) == [])
        #expect(try PartialDownload.of("/nowhere/at/all") == [])
        #expect(reason { _ = try PartialDownload.list(in: "/nowhere") } == "no_file")
    }

    @Test("D16 a ratio has two digits, and only a complete file is 1")
    func ratio() {
        var partial = PartialDownload(
            path: "/a", partialPath: "/.a", journalPath: "/.j", url: "", bytes: 0, total: 3,
            identity: DownloadIdentity(url: ""),
            isRunning: false)
        #expect(partial.ratio == 0)
        partial.bytes = 1
        #expect(partial.ratio == 0.33)
        partial.bytes = 3
        #expect(partial.ratio == 1)
        partial.total = nil
        #expect(partial.ratio == -1)
        partial.total = 0
        #expect(partial.ratio == 1)
    }

    @Test("D12 discarding removes both files, unless a download uses them")
    func discard() throws {
        let folder = try DownloadFolder()
        _ = try leave(folder, "b.bin", 10, of: 1000)
        var running: PartFile? = try leave(folder, "a.bin", 10, of: 1000)
        #expect(running != nil)
        #expect(try PartialDownload.discard(folder.path("b.bin")) == 1)
        #expect(try PartialDownload.discard(folder.path("b.bin")) == 0)
        #expect(reason { try PartialDownload.discard(folder.path("a.bin")) } == "busy")
        #expect(folder.names.count == 2)
        running = nil
        #expect(try PartialDownload.discard(folder.path(folder.partName)) == 1)
        #expect(folder.names == [])
    }

    @Test("D12 discarding one name keeps other names with the same long prefix")
    func longNames() throws {
        let folder = try DownloadFolder()
        let base = String(repeating: "n", count: 240)
        _ = try leave(folder, base + "1", 10, of: 1000)
        _ = try leave(folder, base + "2", 10, of: 1000)
        #expect(try PartialDownload.discard(folder.path(base + "1")) == 1)
        #expect(try PartialDownload.list(in: folder.path).map(\.path) == [folder.path(base + "2")])
    }
}
