// Wherry: tests of the order of images in an upload
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WherryCore

@Suite struct SeparatePlanTests {
    private typealias Actions = SeparatePlan.Actions

    @Test("U22 encoding runs ahead of sending, up to the number sent at once")
    func ahead() {
        var plan = SeparatePlan(count: 9, limit: 2, retries: 0)
        #expect(plan.next() == Actions(encode: [0, 1]))
        #expect(plan.next() == Actions())
        plan.encoded(1, isSound: true)
        #expect(plan.next() == Actions(encode: [2], send: [1]))
        plan.encoded(0, isSound: true)
        #expect(plan.next() == Actions(encode: [3], send: [0]))
        plan.encoded(2, isSound: true)
        plan.encoded(3, isSound: true)
        #expect(
            plan.next() == Actions(), "two are sent, two wait encoded: no more memory than that")
        #expect(plan.ended(1, mayRetry: false) == false)
        #expect(plan.next() == Actions(encode: [4], send: [2]))
    }

    @Test("U22 a broken image delays no other")
    func broken() {
        var plan = SeparatePlan(count: 3, limit: 1, retries: 5)
        #expect(plan.next().encode == [0])
        plan.encoded(0, isSound: false)
        #expect(plan.next() == Actions(encode: [1]))
        plan.encoded(1, isSound: true)
        #expect(plan.next() == Actions(encode: [2], send: [1]))
        plan.encoded(2, isSound: true)
        #expect(plan.ended(1, mayRetry: false) == false)
        #expect(plan.next() == Actions(send: [2]))
        #expect(plan.ended(2, mayRetry: false) == false)
        #expect(plan.next() == Actions(isOver: true))
        #expect(plan.next() == Actions(), "the end is told once")
    }

    @Test("U22 only failed images are sent again, up to the limit")
    func again() {
        var plan = SeparatePlan(count: 2, limit: 2, retries: 2)
        _ = plan.next()
        plan.encoded(0, isSound: true)
        plan.encoded(1, isSound: true)
        #expect(plan.next().send == [0, 1])
        #expect(plan.ended(0, mayRetry: true) == true)
        #expect(plan.ended(1, mayRetry: false) == false)
        #expect(plan.next() == Actions(), "it rests")
        plan.rested(0)
        plan.rested(1)
        #expect(plan.next() == Actions(send: [0]), "and is not encoded again")
        #expect(plan.ended(0, mayRetry: true) == true)
        plan.rested(0)
        #expect(plan.next().send == [0])
        #expect(plan.ended(0, mayRetry: true) == false)
        #expect(plan.next().isOver)
    }

    @Test("U22 after a cancel no image starts, and running work is awaited")
    func cancel() {
        var plan = SeparatePlan(count: 5, limit: 2, retries: 3)
        _ = plan.next()
        plan.encoded(0, isSound: true)
        plan.encoded(1, isSound: true)
        #expect(plan.next() == Actions(encode: [2, 3], send: [0, 1]))
        #expect(plan.ended(1, mayRetry: true) == true)
        plan.cancel()
        #expect(plan.next() == Actions())
        plan.rested(1)
        plan.encoded(2, isSound: true)
        plan.encoded(3, isSound: false)
        #expect(plan.ended(0, mayRetry: true) == false)
        #expect(plan.next() == Actions(isOver: true))
    }

    @Test("U22 in any order of events, every image ends once and limits hold")
    func anyOrder() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<500 {
            let count = Int.random(in: 1...12, using: &random)
            let limit = Int.random(in: 0...5, using: &random)
            var plan = SeparatePlan(count: count, limit: limit, retries: 2)
            var encoding: [Int] = []
            var sending: [Int] = []
            var resting: [Int] = []
            var isOver = false
            while !isOver {
                let actions = plan.next()
                encoding += actions.encode
                sending += actions.send
                isOver = actions.isOver
                #expect(sending.count <= max(1, limit))
                let held = plan.images.count { $0 != .waiting && $0 != .over }
                #expect(held <= 2 * max(1, limit), "resting pictures are in memory too")
                let choices = encoding.count + sending.count + resting.count
                if isOver { break }
                guard choices > 0 else {
                    Issue.record("nothing goes on")
                    break
                }
                var pick = Int.random(in: 0..<choices, using: &random)
                if pick < encoding.count {
                    plan.encoded(encoding.remove(at: pick), isSound: Bool.random(using: &random))
                    continue
                }
                pick -= encoding.count
                if pick < sending.count {
                    let index = sending.remove(at: pick)
                    if plan.ended(index, mayRetry: Bool.random(using: &random)) {
                        resting.append(index)
                    }
                    continue
                }
                plan.rested(resting.remove(at: pick - sending.count))
            }
            #expect(plan.images.allSatisfy { $0 == .over })
        }
    }
}
