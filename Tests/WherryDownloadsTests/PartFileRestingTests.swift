// Wherry: partial files of waiting downloads, and names that are taken
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import WherryDownloads
@testable import WherryHTTP
@testable import WherrySystem

@Suite("Partial files of waiting downloads, and names that are taken") struct PartFileRestingTests {
    private let bytes = (0..<1000).map { UInt8(truncatingIfNeeded: $0 &* 7) }

    /// The number of this process's descriptors in the folder.
    private func descriptors(in folder: DownloadFolder) -> Int {
        let entries = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return entries.count { entry in
            let end = try? FileManager.default.destinationOfSymbolicLink(
                atPath: "/proc/self/fd/" + entry)
            return end?.hasPrefix(folder.path) == true
        }
    }

    private func names(_ folder: DownloadFolder, _ index: Int) -> PartNames {
        PartNames.candidates(
            for: DownloadID(target: folder.path("a.bin")), name: "a.bin")[index]
    }

    /// Downloads the first 400 bytes and keeps them.
    private func leave(_ folder: DownloadFolder) throws {
        let part = try folder.open().part
        try part.begin(facts(), isJournaled: true)
        try part.write(Array(bytes[..<400]), at: 0)
        #expect(try part.close(keeping: true) == part.path)
    }

    // MARK: Waiting

    @Test("DR18 a waiting download holds no descriptor, and continues with its own files")
    func restAndWake() throws {
        let folder = try DownloadFolder()
        let part = try folder.open().part
        try part.begin(facts(), isJournaled: true)
        try part.write(Array(bytes[..<400]), at: 0)
        try part.checkpoint()
        #expect(descriptors(in: folder) == 3)
        part.rest()
        #expect(descriptors(in: folder) == 0)
        try part.wake()
        try part.write(Array(bytes[400...]), at: 400)
        try part.checkpoint()
        #expect(try part.publish(length: 1000) == folder.path("a.bin"))
        #expect(folder.content("a.bin") == bytes)
        #expect(folder.names == ["a.bin"])
    }

    @Test("DR18 a target holds no descriptor while its download is queued")
    func queuedTarget() throws {
        let folder = try DownloadFolder()
        var target = try folder.target()
        target.close()
        #expect(descriptors(in: folder) == 0)
        let part = try PartFile.open(target, .init(url: MachineRun.url)).part
        #expect(descriptors(in: folder) == 2)
        #expect(try part.close(keeping: false) == nil)
    }

    @Test("DR26 a directory replaced while a download was queued is an error")
    func replacedDirectory() throws {
        let folder = try DownloadFolder()
        let path = folder.path("inner")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        var target = try DownloadTarget.locate(path + "/a.bin")
        target.close()
        try FileManager.default.moveItem(atPath: path, toPath: folder.path("old"))
        #expect(reason { _ = try PartFile.open(target, .init(url: MachineRun.url)) } == "no_file")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        #expect(
            reason { _ = try PartFile.open(target, .init(url: MachineRun.url)) } == "bad_directory")
        #expect(try FileManager.default.contentsOfDirectory(atPath: path) == [])
    }

    @Test("DR24 a download whose files were taken over changes nothing")
    func takenOver() throws {
        let folder = try DownloadFolder()
        let first = try folder.open().part
        try first.begin(facts(), isJournaled: true)
        try first.write(Array(bytes[..<400]), at: 0)
        try first.checkpoint()
        // As a download of another process does.
        first.rest(isKnown: false)

        let second = try folder.open()
        #expect(second.record?.ranges.ranges == [0..<400])
        // While the other one uses them, and after it has released them.
        #expect(reason { try first.wake() } == "busy")
        try second.part.adopt(facts())
        #expect(try second.part.close(keeping: true) != nil)
        withExtendedLifetime(second) {}
        #expect(reason { try first.wake() } == "busy")
        #expect(folder.names.count == 2)
    }

    @Test("DR24 a download that another process completed during a wait is busy")
    func completedElsewhere() throws {
        let folder = try DownloadFolder()
        let first = try folder.open().part
        try first.begin(facts(), isJournaled: true)
        try first.write(Array(bytes[..<400]), at: 0)
        try first.checkpoint()
        // As a download of another process does.
        first.rest(isKnown: false)

        let second = try folder.open().part
        try second.adopt(facts())
        try second.write(Array(bytes[400...]), at: 400)
        #expect(try second.publish(length: 1000) == folder.path("a.bin"))
        #expect(reason { try first.wake() } == "busy")
        #expect(folder.names == ["a.bin"])
    }

    @Test("DR18 files removed during a wait are created again only before the first byte")
    func removed() throws {
        let folder = try DownloadFolder()
        let fresh = try folder.open().part
        fresh.rest(isKnown: false)
        #expect(try PartialDownload.discard(folder.path("a.bin")) == 1)
        try fresh.wake()
        try fresh.begin(facts(), isJournaled: true)
        try fresh.write(Array(bytes[..<400]), at: 0)
        try fresh.checkpoint()
        fresh.rest(isKnown: false)
        #expect(try PartialDownload.discard(folder.path("a.bin")) == 1)
        #expect(reason { try fresh.wake() } == "no_file")
        #expect(folder.names == [])
    }

    @Test("DR18 an earlier partial file stays when a download ends while it waits")
    func endWhileResting() throws {
        let folder = try DownloadFolder()
        try leave(folder)
        let found = try folder.open()
        found.part.rest()
        #expect(try found.part.close(keeping: true) == found.part.path)
        #expect(try PartialDownload.of(folder.path("a.bin")).first?.bytes == 400)
    }

    @Test("DR24 a paused partial file is in use for the other downloads of its process")
    func inUse() throws {
        let folder = try DownloadFolder()
        let part = try folder.open().part
        try part.begin(facts(), isJournaled: true)
        try part.write(Array(bytes[..<400]), at: 0)
        try part.checkpoint()
        part.rest()
        #expect(reason { _ = try folder.open() } == "busy")
        #expect(reason { _ = try PartialDownload.discard(folder.path("a.bin")) } == "busy")
        #expect(try PartialDownload.of(folder.path("a.bin")).first?.isRunning == true)
        try part.wake()
        part.rest()
        #expect(try part.close(keeping: true) == part.path)
        #expect(try PartialDownload.of(folder.path("a.bin")).first?.isRunning == false)
        #expect(try folder.open().record?.ranges.count == 400)
    }

    // MARK: Names

    // The name is predictable. A directory with that name made every download of that file fail.
    @Test(
        "DR18 a directory with the name of the partial file or journal fails no download",
        arguments: [[0], [0, 1], [0, 1, 2, 3]], [false, true])
    func plantedDirectories(_ planted: [Int], ofJournal: Bool) throws {
        let folder = try DownloadFolder()
        for index in planted {
            let names = names(folder, index)
            let path = folder.path(ofJournal ? names.journal : names.part)
            try FileManager.default.createDirectory(
                atPath: path + "/inner", withIntermediateDirectories: true)
        }
        try leave(folder)
        let partial = try #require(try PartialDownload.of(folder.path("a.bin")).first)
        #expect(partial.bytes == 400)

        let found = try folder.open()
        #expect(found.record?.ranges.ranges == [0..<400])
        try found.part.adopt(facts())
        try found.part.write(Array(bytes[400...]), at: 400)
        #expect(try found.part.publish(length: 1000) == folder.path("a.bin"))
        #expect(folder.content("a.bin") == bytes)
        #expect(folder.names.count == planted.count + 1)
        #expect(try PartialDownload.discard(folder.path("a.bin")) == 0)
    }

    @Test("DR18 a partial file with its second name is found when the first one is free again")
    func secondName() throws {
        let folder = try DownloadFolder()
        let blocked = folder.path(names(folder, 0).part)
        try FileManager.default.createDirectory(atPath: blocked, withIntermediateDirectories: false)
        try leave(folder)
        try FileManager.default.removeItem(atPath: blocked)
        #expect(try folder.open().record?.ranges.ranges == [0..<400])
        #expect(try PartialDownload.discard(folder.path("a.bin")) == 1)
        #expect(folder.names == [])
    }

    // MARK: Space

    private func allocated(_ path: String) -> Int64 {
        var status = stat()
        return stat(path, &status) == 0 ? Int64(status.st_blocks) * 512 : -1
    }

    // The complete size was reserved, and only the space after the last byte was released: of 100
    // GB in 16 segments 94 GB.
    @Test("DR23 an interrupted download keeps no space between its segments")
    func holes() throws {
        let folder = try DownloadFolder()
        let mib: Int64 = 1 << 20
        let piece = [UInt8](repeating: 7, count: Int(mib))
        let path: String
        do {
            let part = try folder.open().part
            try part.begin(facts(64 * mib), isJournaled: true)
            for start in [0, 16, 32, 48] { try part.write(piece, at: Int64(start) * mib) }
            try part.checkpoint()
            path = try #require(try part.close(keeping: true))
        }
        let status = try File.open(path, [.read]).status()
        #expect(status.size == 49 * mib)
        #expect(allocated(path) <= 5 * mib)

        let found = try folder.open()
        #expect(found.record?.ranges.count == 4 * mib)
        try found.part.adopt(facts(64 * mib))
        let read = try found.part.file.read(Int(mib), at: 48 * mib)
        #expect(read == piece)
    }

    // The partial file was released unchanged, with the space reserved for all missing bytes.
    @Test(
        "DR23 a download that ends while it waits keeps no reserved space",
        arguments: [false, true])
    func endAtRest(releasing: Bool) throws {
        let folder = try DownloadFolder()
        let mib: Int64 = 1 << 20
        let piece = [UInt8](repeating: 7, count: Int(mib))
        let part = try folder.open().part
        try part.begin(facts(64 * mib), isJournaled: true)
        for start in [0, 32] { try part.write(piece, at: Int64(start) * mib) }
        try part.checkpoint()
        let path = part.path
        let isReserved = allocated(path) >= 64 * mib
        if releasing { part.releaseReservation() }
        part.rest()
        if releasing { #expect(allocated(path) <= 3 * mib) }
        if isReserved, releasing {
            try part.wake()
            #expect(allocated(path) >= 64 * mib)
            part.releaseReservation()
            part.rest()
        }
        #expect(try part.close(keeping: true) == path)
        #expect(allocated(path) <= 3 * mib)
        let found = try folder.open()
        #expect(found.record?.ranges.count == 2 * mib)
        #expect(try found.part.file.read(Int(mib), at: 32 * mib) == piece)
    }
}
