// Wherry: tests of the choice of the writing thread
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WherrySystem

@testable import WherryDownloads
@testable import WherryHTTP

@Suite struct WritePaceTests {
    private func at(_ milliseconds: Int64) -> Instant {
        Instant(nanoseconds: .milliseconds(milliseconds))
    }

    @Test("A blocking write on the calling thread is the last one for a hundred times as long")
    func slow() {
        var pace = WritePace(on: .local)
        #expect(pace.isQuick(at: at(0)))
        pace.wrote(from: at(0), to: at(4))
        #expect(pace.isQuick(at: at(4)))
        pace.wrote(from: at(10), to: at(30))
        #expect(!pace.isQuick(at: at(30)) && !pace.isQuick(at: at(2_029)))
        #expect(pace.isQuick(at: at(2_030)))
        pace.wrote(from: at(0), to: Instant(nanoseconds: .max - 1))
        #expect(!pace.isQuick(at: Instant(nanoseconds: .max - 1)))
    }

    @Test("Other work never waits for a remote machine or another program")
    func elsewhere() {
        #expect(WritePace(on: .memory).isQuick(at: at(0)))
        #expect(!WritePace(on: .other).isQuick(at: at(0)))
        #expect(!WritePace(on: .withoutLocks).isQuick(at: at(0)))
        let kinds: [(UInt64, FileSystem)] = [
            (0xEF53, .local), (0x0102_1994, .memory), (0x6969, .withoutLocks),
            (0x6573_5546, .other),
        ]
        for (magic, kind) in kinds { #expect(FileSystem(magic: magic) == kind) }
    }

    @Test("D28 space is reserved on a disk, and not in memory")
    func reservation() throws {
        let folder = try DownloadFolder()
        for (fileSystem, isReserved) in [(FileSystem.local, true), (.memory, false)] {
            let name = "\(fileSystem)"
            let part = try PartFile.open(
                try folder.target(name), .init(url: MachineRun.url), on: fileSystem
            ).part
            try part.begin(facts(1 << 20), isJournaled: true)
            var status = stat()
            #expect(stat(part.path, &status) == 0)
            #expect((status.st_blocks >= (1 << 20) / 512) == isReserved)
            #expect(try part.close(keeping: false) == nil)
        }
    }
}
