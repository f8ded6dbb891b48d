// Wherry: shares of missing bytes, and the number of connections
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WherryDownloads
@testable import WherryHTTP
@testable import WherrySystem

private let mib: Int64 = 1 << 20

private func taken(_ range: Range<Int64>) -> SegmentPlan.Chunk { .init(range, isTaken: true) }
private func free(_ range: Range<Int64>) -> SegmentPlan.Chunk { .init(range, isTaken: false) }

@Suite("Shares of a file among connections") struct SegmentPlanTests {
    @Test("D23 the share of one connection is split evenly, at whole blocks")
    func even() {
        let shares = SegmentPlan.shares(of: [taken(0..<128 * mib)], for: 7)
        #expect(shares.count == 7)
        #expect(shares.first == 16 * mib..<32 * mib)
        #expect(shares.last == 112 * mib..<128 * mib)
        let odd = SegmentPlan.shares(of: [taken(12_345..<10 * mib + 77)], for: 2)
        #expect(odd.allSatisfy { $0.lowerBound % 262_144 == 0 })
        #expect(odd.first?.upperBound == odd.last?.lowerBound)
        #expect(odd.last?.upperBound == 10 * mib + 77)
    }

    @Test("D23 no piece below 1 MiB is split off, and unassigned bytes are taken as they are")
    func least() {
        #expect(SegmentPlan.shares(of: [taken(0..<2 * mib - 1)], for: 5).isEmpty)
        #expect(SegmentPlan.shares(of: [taken(0..<2 * mib)], for: 5).count == 1)
        #expect(SegmentPlan.shares(of: [free(7..<8)], for: 5) == [7..<8])
        #expect(SegmentPlan.shares(of: [taken(0..<0), free(5..<9)], for: 1) == [5..<9])
        #expect(SegmentPlan.shares(of: [], for: 3).isEmpty)
        #expect(SegmentPlan.shares(of: [taken(0..<mib)], for: -1).isEmpty)
    }

    @Test("D23 the largest piece is split first")
    func largest() {
        let chunks = [taken(0..<2 * mib), free(3 * mib..<4 * mib), taken(10 * mib..<30 * mib)]
        #expect(SegmentPlan.shares(of: chunks, for: 1) == [20 * mib..<30 * mib])
        let three = SegmentPlan.shares(of: chunks, for: 3)
        #expect(three.count == 3)
        #expect(three.allSatisfy { $0.lowerBound > 10 * mib })
    }

    @Test("D23 extreme lengths are split without a trap")
    func huge() {
        let shares = SegmentPlan.shares(of: [taken(0..<Int64.max)], for: 15)
        #expect(shares.count == 15)
        #expect(shares.last?.upperBound == .max)
    }

    @Test("D23 any chunks are split into disjoint shares", arguments: 0..<200)
    func property(_ seed: Int) {
        var random = SplitMix(state: UInt64(seed))
        var chunks: [SegmentPlan.Chunk] = []
        var end: Int64 = 0
        for _ in 0..<Int(random.next() % 6) {
            let start = end + Int64(random.next() % 5_000_000)
            end = start + Int64(random.next() % 30_000_000)
            chunks.append(.init(start..<end, isTaken: random.next() % 2 == 0))
        }
        let count = Int(random.next() % 16)
        let shares = SegmentPlan.shares(of: chunks, for: count, minimum: 65_536)
        #expect(shares.count <= count)
        for share in shares {
            let home = chunks.first { $0.range.contains(share.lowerBound) }
            #expect(home.map { share.upperBound <= $0.range.upperBound } == true)
            #expect(home?.isTaken != true || share.lowerBound > home?.range.lowerBound ?? 0)
        }
        for (one, next) in zip(shares, shares.dropFirst()) {
            #expect(one.upperBound <= next.lowerBound)
        }
    }
}

@Suite("The number of connections of a download") struct SegmentGrowthTests {
    private func at(_ milliseconds: Int64) -> Instant {
        Instant(nanoseconds: milliseconds * 1_000_000)
    }

    /// The same in an expectation, which allows no mutating calls.
    private func note(
        _ growth: inout SegmentGrowth, _ count: Int64, missing: Int64, _ now: Instant
    ) -> Bool {
        growth.note(count, missing: missing, now: now)
    }

    @Test("D23 connections are added while they help")
    func helps() {
        var growth = SegmentGrowth(segments: 0, most: 5)
        growth.begin(latency: 1_000_000, now: at(0))
        #expect(growth.wanted == 1)
        #expect(!note(&growth, mib, missing: 100 * mib, at(249)))
        // 8 MiB/s each.
        var wanted: [Int] = []
        for step in 1...4 {
            let now = at(Int64(250 * step))
            if growth.note(Int64(growth.wanted) * 2 * mib, missing: 1000 * mib, now: now) {
                wanted.append(growth.wanted)
            }
        }
        #expect(wanted == [2, 4, 5])
    }

    @Test("D23 if the link is the limit one more connection is tried, and not replaced")
    func noHelp() {
        var growth = SegmentGrowth(segments: 0, most: 5)
        growth.begin(latency: 0, now: at(0))
        #expect(note(&growth, 10 * mib, missing: 1000 * mib, at(250)))
        #expect(growth.wanted == 2)
        #expect(!note(&growth, 11 * mib, missing: 1000 * mib, at(500)))
        #expect(growth.wanted == 1)
        #expect(!note(&growth, 900 * mib, missing: 1000 * mib, at(750)))
        #expect(growth.isSettled)
    }

    @Test("D23 an almost complete file is not worth a connection")
    func nearlyThere() {
        var growth = SegmentGrowth(segments: 0, most: 5)
        growth.begin(latency: 0, now: at(0))
        #expect(!note(&growth, 2 * mib, missing: 8 * mib, at(250)))
        // 100 MiB at 200 MiB/s.
        #expect(!note(&growth, 50 * mib, missing: 100 * mib, at(500)))
        #expect(note(&growth, 2 * mib, missing: 100 * mib, at(750)))
    }

    @Test("D23 the speed is measured over several round trips")
    func latency() {
        var growth = SegmentGrowth(segments: 0, most: 5)
        growth.begin(latency: 300_000_000, now: at(0))
        #expect(!note(&growth, mib, missing: 1000 * mib, at(1199)))
        #expect(note(&growth, mib, missing: 1000 * mib, at(1200)))
    }

    @Test("D23 a few chunks give no speed before 2 s")
    func fewPieces() {
        var growth = SegmentGrowth(segments: 0, most: 5)
        growth.begin(latency: 0, now: at(0))
        #expect(!note(&growth, 262_144, missing: 1000 * mib, at(300)))
        #expect(!note(&growth, 262_144, missing: 1000 * mib, at(1999)))
        #expect(note(&growth, 262_144, missing: 1000 * mib, at(2000)))
    }

    @Test("DR16 a requested number is opened at once, and each refusal lowers it by one")
    func number() {
        var growth = SegmentGrowth(segments: 4, most: 5)
        #expect(growth.wanted == 4)
        growth.begin(latency: 0, now: at(0))
        growth.lower()
        growth.lower()
        #expect(growth.wanted == 2)
        growth.begin(latency: 0, now: at(10))
        #expect(growth.wanted == 2, "for the rest of the run")
        growth.lower()
        growth.lower()
        #expect(growth.limit == 1)
    }
}
