// Wherry: the bytes of the journal
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WherryDownloads
@testable import WherryHTTP
@testable import WherrySystem

@Suite("The journal of a partial file") struct JournalTests {
    static func record(url: String = "http://127.0.0.1/a.bin") -> JournalRecord {
        var facts = DownloadFacts()
        facts.generation = 3
        facts.total = 1_060_921
        facts.validator = .entityTag("\"v1\"")
        facts.encoding = "gzip"
        facts.expected = DownloadDigest(.sha256, Array(0..<32))
        facts.announced = DownloadDigest(.md5, Array(0..<16), source: .contentMD5)
        facts.name = "€ rates.bin"
        return JournalRecord(
            sequence: 41, id: DownloadID(target: "/srv/a.bin"), owner: Array(0..<16),
            inode: 0xFEDC_BA98_7654_3210, partSize: 400_000, identity: DownloadIdentity(url: url),
            url: url, name: "€ rates.bin", facts: facts,
            ranges: ByteRanges([0..<400_000, 500_000..<600_000]))
    }

    @Test("a written journal is read back")
    func roundTrip() throws {
        let record = JournalTests.record()
        let slot = try #require(Journal.encode(record))
        #expect(slot.count == 4096)
        #expect(try Journal.decode(slot) == record)

        var bare = record
        bare.facts.total = nil
        bare.facts.validator = .lastModified("Tue, 15 Nov 1994 12:45:26 GMT")
        bare.facts.encoding = ""
        bare.facts.expected = nil
        bare.facts.announced = nil
        bare.ranges = ByteRanges()
        #expect(try Journal.decode(try #require(Journal.encode(bare))) == bare)
    }

    @Test("every single flipped bit is detected")
    func flippedBits() throws {
        let slot = try #require(Journal.encode(JournalTests.record()))
        for index in 0..<slot.count {
            var bad = slot
            bad[index] ^= 1 << UInt8(index % 8)
            #expect(throws: Journal.Defect.self) { _ = try Journal.decode(bad) }
        }
    }

    @Test("each kind of damage has its name")
    func defects() throws {
        let slot = try #require(Journal.encode(JournalTests.record()))
        #expect(throws: Journal.Defect.empty) { _ = try Journal.decode([]) }
        #expect(throws: Journal.Defect.empty) {
            _ = try Journal.decode([UInt8](repeating: 0, count: 4096))
        }
        #expect(throws: Journal.Defect.short) { _ = try Journal.decode(slot.dropLast()) }
        var foreign = slot
        foreign[0] = 0x50
        #expect(throws: Journal.Defect.foreign) { _ = try Journal.decode(foreign) }
        var later = slot
        later[8] = 2
        #expect(throws: Journal.Defect.version) { _ = try Journal.decode(later) }
        var torn = slot
        for index in 200..<4096 { torn[index] = 0 }
        #expect(throws: Journal.Defect.damaged) { _ = try Journal.decode(torn) }
    }

    @Test("garbage with a valid checksum is refused and never causes a trap")
    func nonsense() throws {
        let slot = try #require(Journal.encode(JournalTests.record()))
        var random = SplitMix(state: 11)
        for _ in 0..<4_000 {
            var bad = slot
            for _ in 0..<(1 + random.next() % 8) {
                let index = 16 + Int(random.next() % 420)
                bad[index] = UInt8(truncatingIfNeeded: random.next())
            }
            for index in 12..<16 { bad[index] = 0 }
            let sum = Checksum.of(bad)
            for index in 0..<4 { bad[12 + index] = UInt8(truncatingIfNeeded: sum >> (8 * index)) }
            guard let record = try? Journal.decode(bad) else { continue }
            #expect(record.ranges.ranges.allSatisfy { $0.lowerBound >= 0 })
            #expect(record.ranges.end <= record.facts.total ?? .max)
        }
    }

    @Test("a URL that is too long is truncated, and the rest stays complete")
    func longURL() throws {
        var record = JournalTests.record(
            url: "http://127.0.0.1/" + String(repeating: "ä", count: 4_000))
        record.ranges = ByteRanges((0..<100).map { Int64($0) * 100..<Int64($0) * 100 + 50 })
        let read = try Journal.decode(try #require(Journal.encode(record)))
        #expect(record.url.hasPrefix(read.url))
        #expect(read.url.utf8.count > 1_000)
        #expect(read.ranges.ranges.count == 64)
        #expect(read.ranges.ranges.allSatisfy { record.ranges.contains($0) })
        #expect(read.identity == record.identity)
    }

    @Test("the checksum is the Castagnoli one")
    func castagnoli() {
        #expect(Checksum.of(Array("123456789".utf8)) == 0xE306_9283)
        #expect(Checksum.of([UInt8](repeating: 0, count: 32)) == 0x8A91_36AA)
    }

    @Test("URLs of partial files are compared without fragment, and without query if allowed")
    func identity() {
        let first = DownloadIdentity(url: "https://a/x?sig=1#top")
        let second = DownloadIdentity(url: "https://a/x?sig=2")
        #expect(first.whole != second.whole)
        #expect(first.withoutQuery == second.withoutQuery)
        #expect(first == DownloadIdentity(url: "https://a/x?sig=1"))
        #expect(DownloadID(target: "/a").short.count == 8)
        #expect(DownloadID(target: "/a") != DownloadID(session: "s", target: "/a"))
        #expect(DownloadID(session: "s", target: "a") != DownloadID(session: "", target: "sa"))
    }
}
