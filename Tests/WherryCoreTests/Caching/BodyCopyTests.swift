// Wherry: copies of streamed bodies for the caches
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WherryCore
@testable import WherrySystem

@Suite("Copies of streamed bodies") struct BodyCopyTests {
    private func copy(_ limit: Int, _ counts: [Int]) -> BodyCopy {
        var copy = BodyCopy(limit: limit)
        for (index, count) in counts.enumerated() {
            copy.append(Bytes([UInt8](repeating: UInt8(index), count: count)))
        }
        return copy
    }

    @Test("K1 a body up to the limit is collected in order")
    func upToTheLimit() {
        for counts in [[], [10], [4, 6], [0, 10, 0]] {
            let copy = copy(10, counts)
            #expect(!copy.isTooLarge)
            let wanted = counts.enumerated().flatMap { [UInt8](repeating: UInt8($0), count: $1) }
            #expect(copy.body?.array == wanted)
        }
    }

    // A body of more than 64 MiB was an error with the cache enabled.
    @Test("K1 a larger body has no copy, and later bytes are not collected")
    func larger() {
        for counts in [[11], [10, 1], [4, 7, 1], [11, 0, 5], [1, .max >> 40]] {
            let copy = copy(10, counts)
            #expect(copy.isTooLarge)
            #expect(copy.body == nil)
        }
        #expect(copy(0, [1]).isTooLarge)
        #expect(!copy(0, []).isTooLarge)
    }
}
