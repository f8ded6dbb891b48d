// Wherry: tests of the combined progress of several transfers.
// SPDX-License-Identifier: Apache-2.0

import Testing
@testable import WherryHTTP

@Suite struct ProgressSumTests {
    private func part(_ completed: Int64, of total: Int64?, speed: Int64? = nil) -> Progress {
        var progress = Progress()
        progress.completed = completed
        progress.total = total
        progress.bytesPerSecond = speed
        return progress
    }

    @Test func `the time left is the sum of remaining bytes at the sum of speeds`() {
        let sum = Progress(sumOf: [
            part(100, of: 1_000, speed: 50), part(0, of: 400, speed: 150), part(0, of: 100),
        ])

        #expect(sum.completed == 100 && sum.total == 1_500 && sum.bytesPerSecond == 200)
        #expect(sum.remaining == .seconds(7))
    }

    @Test func `without a total or a speed the time left is unknown`() {
        #expect(Progress(sumOf: [part(1, of: 2, speed: 1), part(1, of: nil)]).remaining == nil)
        #expect(Progress(sumOf: [part(1, of: 2)]).remaining == nil)
        #expect(Progress(sumOf: [part(1, of: 2, speed: 0)]).remaining == nil)
        #expect(Progress(sumOf: []).total == nil)
    }

    @Test func `sums and times saturate instead of overflowing`() {
        let sum = Progress(sumOf: [part(0, of: .max, speed: 1), part(.max, of: .max)])

        #expect(sum.total == .max && sum.completed == .max && sum.remaining == .zero)
        #expect((Progress(sumOf: [part(0, of: .max, speed: 1)]).remaining ?? .zero) > .seconds(1))
    }

    @Test func `an added value can be subtracted again, however large it was`() {
        let parts = [
            part(.max, of: .max, speed: .max), part(7, of: 9, speed: 3), part(1, of: nil),
            part(.max, of: .max), part(5, of: 5, speed: 0),
        ]
        var sum = ProgressSum()
        for part in parts { sum.add(part) }
        #expect(sum.progress.completed == .max && sum.progress.total == nil)

        for index in [0, 2, 3] { sum.remove(parts[index]) }
        #expect(sum.progress == Progress(sumOf: [parts[1], parts[4]]))
        #expect(sum.progress.completed == 12 && sum.progress.total == 14)
        for index in [1, 4] { sum.remove(parts[index]) }
        #expect(sum.progress == Progress(sumOf: []))
    }
}
