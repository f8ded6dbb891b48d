// Wherry: tests of the memory layer
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WherryCache
@testable import WherryHTTP

@Suite struct MemoryLayerTests {
    @Test("K14 the least recently used go first, and use counts")
    func order() {
        let layer = MemoryLayer<String, Int>(limit: 100)
        for number in 1...10 { layer.insert(number, for: "\(number)", cost: 10) }
        #expect(layer.count == 10 && layer.cost == 100)
        #expect(layer.value("1") == 1)
        layer.insert(11, for: "11", cost: 15)
        #expect(layer.value("2") == nil && layer.value("3") == nil)
        #expect(layer.value("1") == 1 && layer.value("4") == 4 && layer.cost == 95)
        layer.insert(1, for: "5", cost: 25)
        #expect(layer.value("5") == 1 && layer.value("6") == nil && layer.cost <= 100)
    }

    @Test("A value replaces an older one")
    func replaced() {
        let layer = MemoryLayer<String, Int>(limit: 100)
        layer.insert(1, for: "a", cost: 20)
        layer.insert(2, for: "a", cost: 10)
        #expect(layer.value("a") == 2 && layer.count == 1 && layer.cost == 10)
        layer.remove("a")
        layer.remove("a")
        #expect(layer.value("a") == nil && layer.cost == 0 && layer.count == 0)
    }

    @Test("A value that is too large is not held, and evicts no other")
    func large() {
        let layer = MemoryLayer<String, Int>(limit: 100)
        layer.insert(1, for: "a", cost: 20)
        layer.insert(2, for: "b", cost: 26)
        #expect(layer.value("a") == 1 && layer.value("b") == nil)
        layer.insert(3, for: "a", cost: 26)
        #expect(layer.value("a") == nil && layer.cost == 0)
        let none = MemoryLayer<String, Int>(limit: 0)
        none.insert(1, for: "a", cost: 1)
        #expect(none.value("a") == nil)
    }

    @Test("After any operations, sum and order agree with a plain model")
    func model() {
        let layer = MemoryLayer<String, Int>(limit: 1000)
        var model: [(key: String, value: Int, cost: Int)] = []  // newest first
        var seed: UInt64 = 7
        func next(_ bound: UInt64) -> Int {
            seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int((seed >> 33) % bound)
        }
        for step in 0..<20_000 {
            let key = "\(next(60))"
            switch next(8) {
            case 0:
                layer.remove(key)
                model.removeAll { $0.key == key }
            case 1...3:
                let cost = next(120)
                layer.insert(step, for: key, cost: cost)
                model.removeAll { $0.key == key }
                model.insert((key, step, cost), at: 0)
                while model.reduce(0, { $0 + $1.cost }) > 1000 { model.removeLast() }
            default:
                let expected = model.firstIndex { $0.key == key }.map { model.remove(at: $0) }
                if let expected { model.insert(expected, at: 0) }
                #expect(layer.value(key) == expected?.value)
            }
        }
        #expect(layer.count == model.count && layer.cost == model.reduce(0) { $0 + $1.cost })
    }
}
