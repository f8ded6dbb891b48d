// Wherry: tests of the sizes of files by their last use
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WherryCache

private struct UsedFile {
    let size: Int64
    let time: Int64
}

@Suite struct UseHistogramTests {
    /// Returns the files that are removed to free a number of bytes, in the order of `files`.
    private func removed(freeing count: Int64, of files: [UsedFile]) -> [UsedFile] {
        var histogram = UseHistogram()
        for file in files { histogram.add(file.size, usedAt: file.time) }
        #expect(histogram.total == files.reduce(0) { $0 + $1.size })
        #expect(histogram.binCount <= 4096)
        var cutoff = histogram.cutoff(freeing: count)
        return files.filter { cutoff.takes($0.size, usedAt: $0.time) }
    }

    @Test("K18 few files are removed in the order of their use")
    func few() {
        let files = [5, 1, 4, 2, 3].map { UsedFile(size: $0 * 10, time: $0) }
        #expect(removed(freeing: 1, of: files).map(\.time) == [1])
        #expect(removed(freeing: 10, of: files).map(\.time) == [1])
        #expect(removed(freeing: 11, of: files).map(\.time) == [1, 2])
        #expect(removed(freeing: 100, of: files).map(\.time) == [1, 4, 2, 3])
        #expect(removed(freeing: 150, of: files).count == 5)
        #expect(removed(freeing: 1_000, of: files).count == 5)
        #expect(removed(freeing: 1, of: []).isEmpty)
    }

    @Test("K18 of files that were used at the same time, only as many as necessary are removed")
    func sameTime() {
        let files = (0..<10_000).map { _ in UsedFile(size: 10, time: 7) }
        #expect(removed(freeing: 995, of: files).count == 100)
        let older = [UsedFile(size: 5, time: 6)]
        #expect(removed(freeing: 995, of: files + older).count == 100)
        #expect(removed(freeing: 995, of: files + older).last?.time == 6)
    }

    @Test("K18 of very many files, the least recently used are removed, up to a hundredth")
    func many() {
        var generator = Splitmix(seed: 18)
        let files = (0..<300_000).map { _ in
            UsedFile(
                size: Int64.random(in: 1...2_000, using: &generator),
                // Half of them within a small part of the time.
                time: Bool.random(using: &generator)
                    ? Int64.random(in: 0...1_000_000_000, using: &generator)
                    : Int64.random(in: 500_000_000...500_100_000, using: &generator))
        }
        let total = files.reduce(0) { $0 + $1.size }
        let gone = removed(freeing: total / 2, of: files)
        let freed = gone.reduce(0) { $0 + $1.size }
        #expect(abs(freed - total / 2) <= total / 100)
        var exact: Int64 = 0
        let ideal = files.sorted { $0.time < $1.time }.prefix {
            exact += $0.size
            return exact <= total / 2
        }
        let last = ideal.last?.time ?? 0
        let wrong = gone.filter { $0.time > last }.reduce(0) { $0 + $1.size }
        #expect(wrong <= total / 100)
    }
}

/// A generator of the same numbers in each run.
private struct Splitmix: RandomNumberGenerator {
    var state: UInt64
    init(seed: UInt64) { state = seed }
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
