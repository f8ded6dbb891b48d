// Wherry: partial files on disk
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import WherryDownloads
@testable import WherryHTTP
@testable import WherrySystem

/// A separate directory for one test, removed with its contents afterwards.
final class DownloadFolder {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "wherry-part-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    var names: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
    }
    func path(_ name: String) -> String { path + "/" + name }
    func content(_ name: String) -> [UInt8]? {
        FileManager.default.contents(atPath: path(name)).map(Array.init)
    }
    func put(_ name: String, _ bytes: [UInt8]) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: path(name)))
    }

    func target(_ name: String = "a.bin", existing: DownloadTarget.Existing = .fail) throws
        -> DownloadTarget
    { try DownloadTarget.locate(path(name), existing: existing) }

    func open(_ name: String = "a.bin", existing: DownloadTarget.Existing = .fail) throws
        -> PartFile.Found
    { try PartFile.open(try target(name, existing: existing), .init(url: MachineRun.url)) }

    var partName: String { names.first { $0.hasSuffix(".part") } ?? "" }
    var journalName: String { names.first { $0.hasSuffix(".journal") } ?? "" }
}

/// The facts of a file of 1000 bytes.
func facts(_ total: Int64? = 1000, generation: UInt32 = 1) -> DownloadFacts {
    var facts = DownloadFacts()
    facts.total = total
    facts.generation = generation
    facts.validator = .entityTag("\"v1\"")
    return facts
}

func reason(_ body: () throws -> Void) -> String? {
    do {
        try body()
        return nil
    } catch { return (error as? DownloadError)?.reason.rawValue ?? "\(error)" }
}

@Suite("Partial files") struct PartFileTests {
    let bytes = (0..<1000).map { UInt8(truncatingIfNeeded: $0 &* 7) }

    /// Leaves a partial file with the first 400 bytes and its journal, as a killed process would.
    private func leave(_ folder: DownloadFolder, claiming ranges: [Range<Int>] = [0..<400]) throws {
        let part = try folder.open().part
        try part.begin(facts(), isJournaled: true)
        for range in ranges { try part.write(Array(bytes[range]), at: Int64(range.lowerBound)) }
        try part.checkpoint()
    }

    @Test("DR18 DC-C20 a download becomes its file and leaves no other file")
    func plain() throws {
        let folder = try DownloadFolder()
        let found = try folder.open()
        #expect(found.record == nil)
        #expect(found.defect == nil)
        #expect(folder.names == [".a.bin.\(found.part.id.short).part"])
        try found.part.begin(facts(), isJournaled: true)
        #expect(folder.names.count == 2)
        try found.part.write(Array(bytes[400...]), at: 400)
        try found.part.write(Bytes([0, 0] + bytes[..<400] + [9]), Placement(skip: 2, count: 400))
        try found.part.checkpoint()
        #expect(try found.part.publish(length: 1000) == folder.path("a.bin"))
        #expect(folder.names == ["a.bin"])
        #expect(folder.content("a.bin") == bytes)
        let mask = Directory.umask() ?? 0
        let status = try File.open(folder.path("a.bin"), [.read]).status()
        #expect(status.permissions == 0o666 & ~mask)
        #expect(try found.part.close(keeping: false) == nil)
        #expect(folder.names == ["a.bin"])
    }

    @Test("D5 DR21 the bytes of a killed run are found again, as far as its journal claims them")
    func found() throws {
        let folder = try DownloadFolder()
        do {
            let part = try folder.open().part
            try part.begin(facts(), isJournaled: true)
            try part.write(Array(bytes[0..<300]), at: 0)
            try part.write(Array(bytes[500..<600]), at: 500)
            try part.checkpoint()
            try part.write(Array(bytes[600..<900]), at: 600)
        }
        let again = try folder.open()
        #expect(again.record?.ranges.ranges == [0..<300, 500..<600])
        #expect(
            again.record?.facts
                == {
                    var f = facts()
                    f.name = "a.bin"
                    return f
                }())
        try again.part.write(Array(bytes[300..<500]), at: 300)
        try again.part.write(Array(bytes[600...]), at: 600)
        _ = try again.part.publish(length: 1000)
        #expect(folder.content("a.bin") == bytes)
        #expect(folder.names == ["a.bin"])
    }

    @Test("DC-C07 DR22 claims beyond the end of a truncated partial file are dropped")
    func lostTail() throws {
        let folder = try DownloadFolder()
        try leave(folder, claiming: [0..<100, 200..<400])
        truncate(folder.path(folder.partName), 250)
        #expect(try folder.open().record?.ranges.ranges == [0..<100, 200..<250])
    }

    @Test(
        "DC-C04 DC-C05 DC-C06 DR21 a damaged journal costs the partial file and never the download")
    func damagedJournal() throws {
        let damages: [([UInt8]) -> [UInt8]] = [
            { $0.map { $0 ^ 0x55 } }, { _ in [] }, { Array($0.prefix($0.count / 4)) },
            { _ in [UInt8](repeating: 0, count: 8192) }, { _ in Array("hello".utf8) },
            { Array($0.prefix(20)) + [UInt8](repeating: 1, count: 8172) },
        ]
        for damage in damages {
            let folder = try DownloadFolder()
            try leave(folder)
            let name = folder.journalName
            // In place: writing a new file would use another inode.
            let file = try File.open(folder.path(name), [.read, .write])
            let bad = damage(try file.read(8192, at: 0))
            try file.truncate(to: 0)
            try file.write(bad, at: 0)
            let found = try folder.open()
            #expect(found.record == nil)
            #expect(found.defect != nil)
            try found.part.begin(facts(), isJournaled: true)
            try found.part.write(bytes, at: 0)
            _ = try found.part.publish(length: 1000)
            #expect(folder.names == ["a.bin"])
        }
    }

    @Test("DR21 a torn newest slot falls back to the previous one")
    func tornSlot() throws {
        let folder = try DownloadFolder()
        let journal: String
        do {
            let part = try folder.open().part
            try part.begin(facts(), isJournaled: true)
            journal = folder.path(folder.journalName)
            try part.write(Array(bytes[0..<100]), at: 0)
            try part.checkpoint()
            try part.write(Array(bytes[100..<200]), at: 100)
            try part.checkpoint()
        }
        let file = try File.open(journal, [.read, .write])
        let slots = try (0..<2).map { try Journal.decode(file.read(4096, at: Int64($0) * 4096)) }
        let newest = slots[0].sequence > slots[1].sequence ? 0 : 1
        #expect(slots[newest].ranges.ranges == [0..<200])
        try file.write([UInt8](repeating: 0xEE, count: 2048), at: Int64(newest) * 4096 + 1024)
        #expect(try folder.open().record?.ranges.ranges == [0..<100])
    }

    @Test("DR1 a copy of the partial file is not the partial file")
    func copiedPart() throws {
        let folder = try DownloadFolder()
        try leave(folder)
        let path = folder.path(folder.partName)
        try FileManager.default.copyItem(atPath: path, toPath: path + "x")
        #expect(rename(path + "x", path) == 0)
        let found = try folder.open()
        #expect(found.record == nil)
        #expect(found.defect == .mismatch)
    }

    @Test("DR18 links and devices with the partial file's or journal's name are not written to")
    func planted() throws {
        let folder = try DownloadFolder()
        try folder.put("victim", [1, 2, 3])
        try leave(folder)
        let part = folder.path(folder.partName)
        let journal = folder.path(folder.journalName)
        for name in [part, journal] {
            #expect(unlink(name) == 0)
            #expect(symlink("victim", name) == 0)
        }
        var found = try folder.open()
        #expect(found.record == nil)
        #expect(found.defect == .unsafe)
        try found.part.begin(facts(), isJournaled: true)
        try found.part.write(bytes, at: 0)
        #expect(try found.part.close(keeping: false) == nil)
        #expect(folder.names == ["victim"])

        #expect(link(folder.path("victim"), part) == 0)
        #expect(mkfifo(journal, 0o600) == 0)
        found = try folder.open()
        try found.part.begin(facts(), isJournaled: true)
        try found.part.write(bytes, at: 0)
        _ = try found.part.publish(length: 1000)
        #expect(folder.names == ["a.bin", "victim"])
        #expect(folder.content("victim") == [1, 2, 3])
    }

    @Test("DC-C12 DR24 the second download of a target gets busy, with the owner")
    func busy() throws {
        let folder = try DownloadFolder()
        let first = try folder.open().part
        try first.begin(facts(), isJournaled: true)
        do {
            _ = try folder.open()
            Issue.record("two downloads hold one part")
        } catch {
            #expect(error is DownloadError)
            #expect((error as? DownloadError)?.reason == .busy)
            #expect((error as? DownloadError)?.isSameURL == true)
        }
        do {
            _ = try PartFile.open(try folder.target(), .init(url: "http://127.0.0.1/other"))
            Issue.record("two downloads hold one part")
        } catch { #expect((error as? DownloadError)?.isSameURL == false) }
        try first.write(bytes, at: 0)
        _ = try first.publish(length: 1000)
        #expect(reason { _ = try folder.target() } == "exists")
    }

    @Test("DR24 if locks lie, the owner's token and the journal's inode still decide")
    func takenOver() throws {
        for isReplaced in [true, false] {
            let folder = try DownloadFolder()
            let part = try folder.open().part
            try part.begin(facts(), isJournaled: true)
            try part.write(Array(bytes[0..<400]), at: 0)
            try part.checkpoint()
            // Another process, for which the lock did not hold, takes over the partial file.
            let directory = try Directory.open(folder.path)
            let name = folder.journalName
            if isReplaced {
                let old = try File.open(name, [.read], in: directory).read(8192, at: 0)
                try directory.remove(name)
                try File.open(name, [.write, .create], in: directory).write(old, at: 0)
            } else {
                let journal = try #require(try JournalFile.open(name, in: directory))
                var record = try journal.read()
                record.owner = [UInt8](repeating: 9, count: 16)
                try journal.write(record, isDurable: true)
            }
            let before = folder.content(name)
            try part.write(Array(bytes[400..<500]), at: 400)
            #expect(reason { try part.checkpoint() } == "busy")
            #expect(try part.close(keeping: false) == nil)
            #expect(folder.content(name) == before)
            #expect(folder.names.count == 2)
        }
    }

    @Test("DR24 without reliable locks each run has its own partial file and no journal")
    func noLocks() throws {
        let folder = try DownloadFolder()
        let target = try folder.target()
        let identity = PartFile.Identity(url: MachineRun.url)
        let first = try PartFile.open(target, identity, on: .withoutLocks).part
        let second = try PartFile.open(target, identity, on: .withoutLocks).part
        #expect(first.path != second.path)
        try first.begin(facts(), isJournaled: true)
        try first.write(bytes, at: 0)
        try first.checkpoint()
        #expect(folder.journalName == "")
        _ = try first.publish(length: 1000)
        #expect(try second.close(keeping: true) == nil)
        #expect(folder.names == ["a.bin"])
    }

    @Test("DC-A04 a download that cannot be resumed has no journal, and loses the old one")
    func noJournal() throws {
        let folder = try DownloadFolder()
        try leave(folder)
        let part = try folder.open().part
        try part.begin(facts(generation: 2), isJournaled: false)
        #expect(folder.names == [folder.partName])
        try part.write(bytes, at: 0)
        try part.checkpoint()
        #expect(try part.close(keeping: true) == nil)
        #expect(folder.names == [])
    }

    @Test("DR9 a new generation empties the partial file before any of it is claimed")
    func newGeneration() throws {
        let folder = try DownloadFolder()
        try leave(folder)
        do {
            let part = try folder.open().part
            #expect(part.written.count == 400)
            try part.begin(facts(generation: 2), isJournaled: true)
            #expect(part.written.isEmpty)
        }
        #expect(folder.content(folder.partName) == [])
        let record = try folder.open().record
        #expect(record?.facts.generation == 2)
        #expect(record?.ranges.isEmpty == true)
    }

    @Test("DR27 D11 a partial file is kept with its last bytes claimed, or removed without trace")
    func close() throws {
        let folder = try DownloadFolder()
        var part = try folder.open().part
        try part.begin(facts(), isJournaled: true)
        #expect(try part.close(keeping: true) == nil)
        #expect(folder.names == [])

        part = try folder.open().part
        try part.begin(facts(), isJournaled: true)
        try part.write(Array(bytes[0..<400]), at: 0)
        #expect(try part.close(keeping: true) == folder.path(folder.partName))
        #expect(try part.close(keeping: false) == nil)
        #expect(folder.names.count == 2)
    }

    @Test("DR20 the same, if a partial file is released while another download waits for it")
    func reopened() throws {
        let folder = try DownloadFolder()
        try leave(folder)
        #expect(try folder.open().record?.ranges.count == 400)
    }

    @Test("DR17 the partial file is read back for its digests, and that can be stopped")
    func verify() throws {
        let folder = try DownloadFolder()
        let part = try folder.open().part
        let large = [UInt8](repeating: 5, count: 600_000)
        try part.begin(facts(600_000), isJournaled: true)
        try part.write(large, at: 0)
        let wanted: [DigestAlgorithm] = [.sha256, .md5, .sha256]
        let found = try part.verify(wanted, length: 600_000)
        #expect(
            found == [
                Digest.hash(of: large, .sha256), Digest.hash(of: large, .md5),
                Digest.hash(of: large, .sha256),
            ])
        #expect(try part.verify(wanted, length: 600_000, isStopped: { true }) == nil)
        #expect(reason { _ = try part.verify(wanted, length: 600_001) } == "io")
        #expect(reason { _ = try part.publish(length: 600_001) } == "file_changed")
        #expect(folder.names.contains("a.bin") == false)
    }

    @Test("DR22 a partial file truncated meanwhile is not renamed, and no lost byte is claimed")
    func shortened() throws {
        for step in ["publish", "checkpoint", "write"] {
            let folder = try DownloadFolder()
            do {
                let part = try folder.open().part
                try part.begin(facts(), isJournaled: true)
                try part.write(Array(bytes.prefix(900)), at: 0)
                try #require(truncate(folder.path(folder.partName), 300) == 0)
                #expect(
                    reason {
                        switch step {
                        case "publish": _ = try part.publish(length: 1000)
                        case "checkpoint": try part.checkpoint()
                        default: try part.write(Array(bytes.suffix(100)), at: 900)
                        }
                    } == "file_changed")
                // Zeros in place of the lost bytes would look like received bytes.
                #expect(try part.close(keeping: true) == folder.path(folder.partName))
            }
            #expect(folder.content(folder.partName) == Array(bytes.prefix(300)))
            #expect(try folder.open().record?.ranges == ByteRanges([0..<300]))
            #expect(folder.names.contains("a.bin") == false)
        }

        let folder = try DownloadFolder()
        let part = try folder.open().part
        try part.begin(facts(), isJournaled: true)
        try part.write(bytes, at: 0)
        try #require(truncate(folder.path(folder.partName), 0) == 0)
        #expect(try part.close(keeping: true) == nil)
        #expect(folder.names == [])
    }

    @Test("DR1 the partial file of another URL is released unchanged")
    func foreignPartial() throws {
        let folder = try DownloadFolder()
        try leave(folder)
        let before = try folder.open().record
        do {
            let found = try PartFile.open(try folder.target(), .init(url: "http://h/other"))
            #expect(found.record?.identity == before?.identity)
            #expect(try found.part.close(keeping: true) == folder.path(folder.partName))
        }
        #expect(try folder.open().record?.identity == before?.identity)
        #expect(try folder.open().record?.ranges == ByteRanges([0..<400]))
    }

    @Test("DR26 DC-C20 the journal left by a crash after the rename is removed on the next look")
    func journalOfAFile() throws {
        let folder = try DownloadFolder()
        let journal: [UInt8]
        do {
            let part = try folder.open().part
            try part.begin(facts(), isJournaled: true)
            try part.write(bytes, at: 0)
            try part.checkpoint()
            let name = folder.journalName
            journal = try #require(folder.content(name))
            _ = try part.publish(length: 1000)
            try folder.put(name, journal)
        }
        let name = folder.journalName
        // It does not describe another file that has the name by now.
        try FileManager.default.moveItem(atPath: folder.path("a.bin"), toPath: folder.path("b"))
        try folder.put("a.bin", [1])
        #expect(reason { _ = try folder.target() } == "exists")
        #expect(folder.names == [name, "a.bin", "b"])

        try FileManager.default.removeItem(atPath: folder.path("a.bin"))
        try FileManager.default.moveItem(atPath: folder.path("b"), toPath: folder.path("a.bin"))
        #expect(reason { _ = try folder.target() } == "exists")
        #expect(folder.names == ["a.bin"])
        #expect(folder.content("a.bin") == bytes)
    }

    @Test("DR23 a file that does not fit is detected before its first byte")
    func noSpace() throws {
        let folder = try DownloadFolder()
        let part = try folder.open().part
        do {
            try part.begin(facts(Int64.max), isJournaled: true)
            Issue.record("there is no such disk")
        } catch {
            #expect(error.reason == .noSpace)
            #expect(error.neededBytes == Int64.max)
            #expect(error.freeBytes ?? 0 > 0)
        }
        #expect(try part.close(keeping: true) == nil)
        #expect(folder.names == [])
    }
}
