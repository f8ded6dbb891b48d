// Wherry: tests of the memory of decoded images
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WherryCore

@Suite struct CostLimitedCacheTests {
    @Test("I1 the least recently used values are removed above the cost limit")
    func order() {
        var cache = CostLimitedCache<String, Int>(limit: 10)
        #expect(cache.insert(1, for: "a", cost: 4).isEmpty)
        #expect(cache.insert(2, for: "b", cost: 4).isEmpty)
        #expect(cache.use("a") == 1)
        #expect(cache.insert(3, for: "c", cost: 3) == [2])
        #expect(cache.use("b") == nil)
        #expect(cache.use("a") == 1 && cache.use("c") == 3)
        #expect(cache.cost == 7 && cache.count == 2)
        #expect(cache.insert(4, for: "d", cost: 10) == [1, 3])
        #expect(cache.cost == 10 && cache.count == 1)
    }

    @Test("I1 a replaced value counts once, and a value above the limit is not kept")
    func replaced() {
        var cache = CostLimitedCache<String, Int>(limit: 10)
        _ = cache.insert(1, for: "a", cost: 6)
        #expect(cache.insert(2, for: "a", cost: 8) == [1])
        #expect(cache.cost == 8 && cache.use("a") == 2)
        #expect(cache.insert(3, for: "b", cost: 11).isEmpty)
        #expect(cache.use("b") == nil && cache.use("a") == 2)
        // The older image of the same key would be outdated.
        #expect(cache.insert(4, for: "a", cost: 11) == [2])
        #expect(cache.count == 0 && cache.cost == 0)
        #expect(cache.insert(5, for: "free", cost: -1).isEmpty && cache.cost == 0)
    }

    @Test("I1 a lower limit removes values at once, and a limit of 0 keeps none")
    func limits() {
        var cache = CostLimitedCache<Int, Int>(limit: 100)
        for number in 0..<10 { _ = cache.insert(number, for: number, cost: 10) }
        #expect(cache.setLimit(35) == [0, 1, 2, 3, 4, 5, 6])
        #expect(cache.cost == 30)
        #expect(cache.setLimit(0).count == 3)
        #expect(cache.insert(1, for: 1, cost: 1).isEmpty && cache.count == 0)
        _ = cache.setLimit(100)
        _ = cache.insert(1, for: 1, cost: 1)
        #expect(cache.removeAll() == [1] && cache.cost == 0 && cache.limit == 100)
        #expect(cache.remove(1) == nil)
        #expect(CostLimitedCache<Int, Int>(limit: -5).limit == 0)
    }

    @Test("I1 the cache equals a simple model after random operations")
    func model() {
        var random = SystemRandomNumberGenerator()
        var cache = CostLimitedCache<Int, Int>(limit: 50)
        // The values with their costs, the oldest first.
        var model: [(key: Int, value: Int, cost: Int)] = []
        for step in 0..<20_000 {
            let key = Int.random(in: 0..<20, using: &random)
            if Bool.random(using: &random) {
                let cost = Int.random(in: 0...12, using: &random)
                _ = cache.insert(step, for: key, cost: cost)
                model.removeAll { $0.key == key }
                model.append((key, step, cost))
                while model.reduce(0, { $0 + $1.cost }) > 50 { model.removeFirst() }
            } else if step % 7 == 0 {
                #expect(cache.remove(key) == model.first { $0.key == key }?.value)
                model.removeAll { $0.key == key }
            } else {
                let place = model.firstIndex { $0.key == key }
                #expect(cache.use(key) == place.map { model[$0].value })
                if let place { model.append(model.remove(at: place)) }
            }
            #expect(cache.count == model.count)
            #expect(cache.cost == model.reduce(0) { $0 + $1.cost })
        }
    }
}
