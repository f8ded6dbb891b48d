// Wherry: partial files on disks that are full or read-only
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing

@testable import WherryDownloads
@testable import WherryHTTP
@testable import WherrySystem

@Suite("Full and read-only disks", .enabled(if: SmallDisk.isPossible, "needs root and mount"))
struct FullDiskTests {
    @Test("DC-C09 DR23 a disk that fills up keeps the durable bytes, and the rest follows later")
    func full() throws {
        let disk = try #require(SmallDisk())
        let piece = [UInt8](repeating: 7, count: 256 << 10)
        func open() throws -> PartFile.Found {
            try PartFile.open(
                try DownloadTarget.locate(disk.path + "/a.bin"), .init(url: MachineRun.url))
        }
        do {
            let part = try open().part
            // Without a length no space is reserved, as on a file system without that feature.
            try part.begin(facts(nil), isJournaled: true)
            var offset: Int64 = 0
            let word = reason {
                while offset < 16 << 20 {
                    try part.write(piece, at: offset)
                    offset += Int64(piece.count)
                }
            }
            #expect(word == "no_space")
            #expect(offset > 0)
            #expect(part.written.count == offset)
            #expect(try part.close(keeping: true) == part.path)
        }
        let found = try open()
        #expect(found.record?.ranges.count ?? 0 > 0)
        #expect(found.record?.ranges.count == found.part.written.count)
        #expect(try found.part.close(keeping: false) == nil)
        #expect(try Directory.open(disk.path).names() == [])
    }

    @Test("DR23 a file that does not fit is refused with the numbers, before its first byte")
    func tooLarge() throws {
        let disk = try #require(SmallDisk())
        let part = try PartFile.open(
            try DownloadTarget.locate(disk.path + "/a.bin"), .init(url: MachineRun.url)
        ).part
        do {
            try part.begin(facts(8 << 20), isJournaled: true)
            Issue.record("8 MiB fit in 1")
        } catch {
            #expect(error.reason == .noSpace)
            #expect(error.neededBytes == 8 << 20)
            #expect((1..<(1 << 20)).contains(error.freeBytes ?? 0))
        }
        #expect(try part.close(keeping: true) == nil)
        #expect(try Directory.open(disk.path).names() == [])
    }

    @Test("DR23 a kept partial file releases reserved space, and resuming reserves the rest")
    func givenBack() throws {
        let disk = try #require(SmallDisk())
        // It is in memory, which reserves no space, and acts as a disk.
        func open() throws -> PartFile.Found {
            try PartFile.open(
                try DownloadTarget.locate(disk.path + "/a.bin"), .init(url: MachineRun.url),
                on: .local)
        }
        func free() throws -> Int64 { try Directory.open(disk.path).freeSpace() }
        let empty = try free()
        do {
            let part = try open().part
            try part.begin(facts(640 << 10), isJournaled: true)
            try part.write([UInt8](repeating: 7, count: 64 << 10), at: 0)
            #expect(try free() <= empty - (640 << 10))
            #expect(try part.close(keeping: true) == part.path)
        }
        #expect(try free() >= empty - (128 << 10))
        do {
            let found = try open()
            let record = try #require(found.record)
            try found.part.adopt(record.facts)
            #expect(try free() <= empty - (640 << 10))
            #expect(try found.part.close(keeping: true) == found.part.path)
        }
        // Another program uses the space.
        let other = try File.open(
            "other", [.write, .create, .exclusive], in: try Directory.open(disk.path))
        #expect(try other.reserve(from: 0, count: 600 << 10))
        do {
            let found = try open()
            let record = try #require(found.record)
            #expect(reason { try found.part.adopt(record.facts) } == "no_space")
            #expect(try found.part.close(keeping: true) == found.part.path)
        }
        #expect(try open().record?.ranges.count == 64 << 10)
    }

    @Test("DC-C10 DR23 a read-only directory is detected before any traffic")
    func readOnly() throws {
        let disk = try #require(SmallDisk())
        #expect(disk.makeReadOnly())
        #expect(reason { _ = try DownloadTarget.locate(disk.path + "/a.bin") } == "read_only")
        #expect(
            reason {
                _ = try DownloadTarget.locate(disk.path + "/x/a.bin", makesDirectories: true)
            } == "read_only")
    }
}
