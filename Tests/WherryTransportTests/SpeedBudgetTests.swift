// Wherry: bandwidth limits
// SPDX-License-Identifier: Apache-2.0

import Testing
import WherrySystem

@testable import WherryTransport

@Suite struct SpeedBudgetTests {
    private func at(_ milliseconds: Int64) -> Instant {
        Instant(nanoseconds: milliseconds * 1_000_000)
    }

    /// The amount granted in this many milliseconds to continuous requests for chunks.
    private func amount(
        _ budget: inout SpeedBudget, _ piece: Int, from start: Int64, to end: Int64
    ) -> Int {
        var sum = 0
        for time in start..<end {
            while budget.heldUntil(at(time)) == nil {
                budget.take(piece, now: at(time))
                sum += piece
                guard sum < 1 << 30 else { return sum }
            }
        }
        return sum
    }

    @Test("D24 a limit is met within a tenth", arguments: [1_000, 16_384, 100_000])
    func exact(_ piece: Int) {
        var budget = SpeedBudget(rate: 1_000_000)
        let sum = amount(&budget, piece, from: 0, to: 10_000)
        #expect((9_900_000...10_200_000).contains(sum))
    }

    @Test("D24 unused bandwidth expires, except for a tenth of a second")
    func noBurst() {
        var budget = SpeedBudget(rate: 1_000_000)
        budget.take(1000, now: at(0))
        let sum = amount(&budget, 1_000, from: 60_000, to: 60_001)
        #expect((100_000...115_000).contains(sum))
    }

    @Test("D24 a changed limit applies at once, and 0 means no limit")
    func changed() {
        var budget = SpeedBudget(rate: 1)
        budget.take(1_000_000, now: at(0))
        #expect(budget.heldUntil(at(10)) != nil)
        budget.set(rate: 1_000_000)
        #expect(budget.heldUntil(at(10)) == nil)
        budget.take(1_000_000, now: at(10))
        #expect(budget.heldUntil(at(900)) == at(1_010))
        budget.set(rate: 0)
        budget.take(.max, now: at(900))
        #expect(budget.heldUntil(at(900)) == nil)
    }

    @Test("D24 extreme sizes and rates never cause a trap")
    func extremes() {
        for rate in [1, Int64.max, -5] {
            var budget = SpeedBudget(rate: rate)
            for _ in 0..<3 { budget.take(.max, now: at(1)) }
            budget.take(0, now: Instant(nanoseconds: .max))
            _ = budget.heldUntil(Instant(nanoseconds: .min))
        }
    }
}
