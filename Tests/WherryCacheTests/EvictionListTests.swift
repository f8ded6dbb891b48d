// Wherry: tests of the list of files to remove
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WherryCache

@Suite struct EvictionListTests {
    private func file(_ size: Int64, usedAt time: Int64) -> EvictionList.File {
        EvictionList.File(
            shard: "00", rest: "", name: "\(time)", size: size, modified: time, used: time)
    }

    @Test(
        "K18 as many of the least recently used files as necessary are listed, in order",
        arguments: [1, 10, 11, 100, 150, 1_000])
    func few(bytes: Int64) {
        var list = EvictionList(bytes: bytes)
        for time in [5, 1, 4, 2, 3] as [Int64] { list.add(file(time * 10, usedAt: time)) }
        let expected: [Int64: [Int64]] = [1: [1], 10: [1], 11: [1, 2], 100: [1, 2, 3, 4]]
        #expect(list.sorted().map(\.used) == expected[bytes] ?? [1, 2, 3, 4, 5])
    }

    @Test("K18 nothing is listed if nothing must be removed")
    func nothing() {
        for bytes in [0, -1] as [Int64] {
            var list = EvictionList(bytes: bytes)
            list.add(file(10, usedAt: 1))
            #expect(list.sorted().isEmpty)
        }
    }

    @Test("K18 of very many files, exactly the least recently used are listed")
    func many() {
        var generator = SystemRandomNumberGenerator()
        let files = (0..<100_000).map {
            file(Int64.random(in: 1...2_000, using: &generator), usedAt: $0)
        }
        let bytes = files.reduce(0) { $0 + $1.size } / 10
        var list = EvictionList(bytes: bytes)
        for file in files.shuffled(using: &generator) { list.add(file) }
        let listed = list.sorted()
        #expect(listed.map(\.used) == Array(0..<Int64(listed.count)))
        let total = listed.reduce(0) { $0 + $1.size }
        #expect(total >= bytes && total - (listed.last?.size ?? 0) < bytes)
    }

    @Test("K18 the number of listed files is limited, also if all were used at the same time")
    func limited() {
        var list = EvictionList(bytes: .max, limit: 100)
        for time in (0..<1_000 as Range<Int64>).reversed() { list.add(file(1, usedAt: time)) }
        #expect(list.sorted().map(\.used) == Array(0..<100))
        list = EvictionList(bytes: 50, limit: 100)
        for _ in 0..<1_000 { list.add(file(1, usedAt: 7)) }
        #expect(list.sorted().count == 50)
    }
}
