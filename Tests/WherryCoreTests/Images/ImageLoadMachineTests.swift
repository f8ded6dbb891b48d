// Wherry: tests of the state machine of image loads
// SPDX-License-Identifier: Apache-2.0

import Testing
import WherryImaging

@testable import WherryCore

@Suite struct ImageLoadMachineTests {
    private typealias Machine = ImageLoadMachine

    private func target(_ side: Int) -> ImageTarget {
        var compression = Compression()
        compression.maxWidth = side
        return ImageTarget(compression)
    }

    private func waiter(_ id: UInt64, _ side: Int = 10, priority: Int8 = 0) -> Machine.Waiter {
        Machine.Waiter(id: id, target: target(side), priority: priority)
    }

    @Test("I1 equal loads share one request and one decoding")
    func shared() {
        var machine = Machine()
        #expect(machine.handle(.join(waiter(1))) == [.startRequest])
        #expect(machine.handle(.join(waiter(2))) == [])
        #expect(machine.handle(.responded) == [.submit(target(10))])
        #expect(machine.handle(.join(waiter(3))) == [])
        #expect(machine.handle(.ready(target(10))) == [.decode(target(10))])
        #expect(machine.isOpen)
        #expect(machine.handle(.decoded(target(10))) == [.deliver([1, 2, 3])])
        #expect(machine.isEnded && !machine.isOpen)
        #expect(machine.handle(.join(waiter(4))) == [])
        #expect(machine.handle(.decoded(target(10))) == [])
        #expect(machine.handle(.failed) == [] && machine.handle(.responded) == [])
    }

    @Test("I1 different sizes share the request, and the most urgent one is decoded first")
    func sizes() {
        var machine = Machine()
        _ = machine.handle(.join(waiter(1, 10)))
        _ = machine.handle(.join(waiter(2, 20)))
        _ = machine.handle(.join(waiter(3, 30, priority: 5)))
        _ = machine.handle(.join(waiter(4, 10)))
        let submitted = [30, 10, 20].map { Machine.Action.submit(target($0)) }
        #expect(machine.handle(.responded) == submitted)
        #expect(machine.handle(.decoded(target(10))) == [.deliver([1, 4])])
        // The bytes are still here.
        #expect(machine.handle(.join(waiter(5, 40))) == [.submit(target(40))])
        #expect(machine.handle(.join(waiter(6, 10))) == [.submit(target(10))])
        for side in [20, 30, 40] { _ = machine.handle(.decoded(target(side))) }
        #expect(!machine.isEnded)
        #expect(machine.handle(.decoded(target(10))) == [.deliver([6])])
        #expect(machine.isEnded)
    }

    @Test("I1 the request has the highest priority of its waiters")
    func priorities() {
        var machine = Machine()
        _ = machine.handle(.join(waiter(1, priority: -100)))
        #expect(machine.priority == -100)
        #expect(machine.handle(.join(waiter(2, priority: -100))) == [])
        #expect(machine.handle(.join(waiter(3, priority: 7))) == [.align])
        #expect(machine.priority == 7)
        #expect(machine.handle(.setPriority(1, 5)) == [])
        #expect(machine.handle(.leave(3)) == [.align, .release(3)])
        #expect(machine.priority == 5)
        #expect(machine.handle(.setPriority(2, 50)) == [.align] && machine.priority == 50)
        #expect(machine.handle(.setPriority(99, 60)) == [])
        _ = machine.handle(.responded)
        #expect(machine.handle(.setPriority(2, 60)) == [])
    }

    @Test("I1 the request is paused while all waiters are paused")
    func pauses() {
        var machine = Machine()
        _ = machine.handle(.join(waiter(1)))
        #expect(machine.handle(.setPaused(1, true)) == [.align] && machine.isPaused)
        #expect(machine.handle(.join(waiter(2))) == [.align] && !machine.isPaused)
        #expect(machine.handle(.setPaused(2, true)) == [.align] && machine.isPaused)
        #expect(machine.handle(.setPaused(2, true)) == [])
        #expect(machine.handle(.setPaused(1, false)) == [.align] && !machine.isPaused)
        #expect(machine.handle(.leave(1)) == [.align, .release(1)] && machine.isPaused)
    }

    @Test("I1 the last waiter that leaves cancels the request, and ends with it")
    func lastLeaves() {
        for end in [Machine.Event.failed, .responded] {
            var machine = Machine()
            _ = machine.handle(.join(waiter(1)))
            _ = machine.handle(.join(waiter(2)))
            #expect(machine.handle(.leave(1)) == [.release(1)])
            #expect(machine.handle(.leave(2)) == [.cancelRequest])
            #expect(!machine.isOpen && !machine.isEnded)
            #expect(machine.handle(.leave(2)) == [])
            #expect(machine.handle(.join(waiter(3))) == [])
            #expect(machine.handle(end) == [.release(2)])
            #expect(machine.isEnded)
        }
    }

    @Test("I1 an image that nobody waits for is not decoded")
    func unwanted() {
        var machine = Machine()
        _ = machine.handle(.join(waiter(1, 10)))
        _ = machine.handle(.join(waiter(2, 20)))
        _ = machine.handle(.responded)
        #expect(machine.handle(.leave(1)) == [.release(1)])
        #expect(machine.handle(.ready(target(10))) == [])
        #expect(machine.handle(.ready(target(20))) == [.decode(target(20))])
        // The decoding goes on, and its result can be kept.
        #expect(machine.handle(.leave(2)) == [.release(2)])
        #expect(machine.handle(.decoded(target(20))) == [])
        #expect(machine.isEnded)
    }

    @Test("I1 all waiters get the failure of the request")
    func failure() {
        var machine = Machine()
        _ = machine.handle(.join(waiter(1, 10)))
        _ = machine.handle(.join(waiter(2, 20)))
        #expect(machine.handle(.failed) == [.deliver([1, 2])])
        #expect(machine.isEnded)
    }

    @Test("I1 in any order of events, every waiter gets exactly one result")
    func randomOrder() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<2_000 {
            var machine = Machine()
            var joined: Set<UInt64> = []
            var told: [UInt64] = []
            var requests = 0
            var isCancelled = false
            var hasEnded = false
            var submitted: [ImageTarget] = []
            var decoding: [ImageTarget] = []
            func take(_ actions: [Machine.Action]) {
                for action in actions {
                    switch action {
                    case .startRequest: requests += 1
                    case .align, .preview: break
                    case .cancelRequest: isCancelled = true
                    case .submit(let target): submitted.append(target)
                    case .decode(let target): decoding.append(target)
                    case .deliver(let ids): told += ids
                    case .release(let id): told.append(id)
                    }
                }
            }
            for step in 0..<40 {
                let id = UInt64.random(in: 1...8, using: &random)
                switch Int.random(in: 0..<7, using: &random) {
                case 0, 1:
                    guard machine.isOpen else { continue }
                    let next = UInt64(step + 10)
                    joined.insert(next)
                    take(machine.handle(.join(waiter(next, Int(id), priority: Int8(id)))))
                case 2: take(machine.handle(.leave(joined.randomElement(using: &random) ?? id)))
                case 3 where requests > 0 && !hasEnded:
                    hasEnded = true
                    take(machine.handle(isCancelled || id == 1 ? .failed : .responded))
                case 4 where !submitted.isEmpty:
                    take(machine.handle(.ready(submitted.removeLast())))
                case 5 where !decoding.isEmpty:
                    take(machine.handle(.decoded(decoding.removeFirst())))
                default: take(machine.handle(.setPriority(id, Int8(step))))
                }
            }
            if requests > 0, !hasEnded { take(machine.handle(.responded)) }
            while !submitted.isEmpty || !decoding.isEmpty {
                if let target = submitted.popLast() { take(machine.handle(.ready(target))) }
                if let target = decoding.popLast() { take(machine.handle(.decoded(target))) }
            }
            #expect(requests == (joined.isEmpty ? 0 : 1))
            #expect(told.count == Set(told).count && Set(told) == joined)
            #expect(machine.isEnded == !joined.isEmpty)
        }
    }
}
