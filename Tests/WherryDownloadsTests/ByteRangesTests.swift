// Wherry: sets of byte ranges
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WherryDownloads
@testable import WherryHTTP

@Suite("Sets of byte ranges") struct ByteRangesTests {
    @Test("overlapping or adjacent ranges are merged")
    func merge() {
        var set = ByteRanges()
        set.insert(10..<20)
        set.insert(30..<40)
        set.insert(5..<5)
        #expect(set.ranges == [10..<20, 30..<40])
        set.insert(20..<30)
        #expect(set.ranges == [10..<40])
        set.insert(0..<9)
        set.insert(50..<60)
        set.insert(8..<55)
        #expect(set.ranges == [0..<60])
        #expect(set.count == 60)
        #expect(set.end == 60)
    }

    @Test("any order of pieces gives the same set as marking each byte")
    func againstMarks() {
        var random = SplitMix(state: 7)
        for _ in 0..<200 {
            var set = ByteRanges()
            var marks = [Bool](repeating: false, count: 64)
            for _ in 0..<12 {
                let a = Int64(random.next() % 64)
                let b = min(64, a + Int64(random.next() % 12))
                set.insert(a..<b)
                for index in a..<b { marks[Int(index)] = true }
            }
            #expect(set.count == Int64(marks.filter { $0 }.count))
            for (left, right) in zip(set.ranges, set.ranges.dropFirst()) {
                #expect(left.upperBound < right.lowerBound)
            }
            let gap = set.firstGap(below: 64)
            #expect(gap?.lowerBound == marks.firstIndex(of: false).map(Int64.init))
            if let gap {
                #expect(marks[Int(gap.lowerBound)..<Int(gap.upperBound)].allSatisfy { !$0 })
                #expect(gap.upperBound == 64 || marks[Int(gap.upperBound)])
            }
            set.clip(to: 20)
            #expect(set.count == Int64(marks.prefix(20).filter { $0 }.count))
        }
    }

    @Test("a set of too many ranges keeps only the largest ones")
    func limited() {
        let set = ByteRanges([0..<1, 10..<30, 40..<41, 50..<60])
        #expect(set.limited(to: 2).ranges == [10..<30, 50..<60])
        #expect(set.limited(to: 4) == set)
        #expect(set.contains(12..<30))
        #expect(!set.contains(12..<31))
        #expect(set.contains(5..<5))
        #expect(ByteRanges().firstGap(below: 0) == nil)
        #expect(ByteRanges([0..<4]).firstGap(below: 3) == nil)
    }
}
