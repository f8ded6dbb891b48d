// Wherry: tests of the state machine of previews
// SPDX-License-Identifier: Apache-2.0

import Testing
import WherryImaging

@testable import WherryCore

@Suite struct PreviewMachineTests {
    private typealias Machine = PreviewMachine

    private func target(_ side: Int) -> ImageTarget {
        var compression = Compression()
        compression.maxWidth = side
        return ImageTarget(compression)
    }

    private func track(_ side: Int = 10, _ number: Int = 1) -> Machine.Track {
        Machine.Track(target: target(side), number: number)
    }

    /// Returns a machine whose first bytes a worker decodes.
    private func decoding() -> Machine {
        var machine = Machine()
        #expect(machine.handle(.want([target(10)])) == [])
        #expect(machine.handle(.grew(attempt: 1, count: 100)) == [.copy(track(), from: 0)])
        #expect(machine.handle(.copied(track())) == [.submit(track())])
        #expect(machine.handle(.ready(track())) == [.decode(track())])
        return machine
    }

    @Test("I2 without callers that want previews, no byte is copied")
    func unwanted() {
        var machine = Machine()
        #expect(!machine.isActive)
        #expect(machine.handle(.grew(attempt: 1, count: 100)) == [])
        _ = machine.handle(.want([target(10)]))
        #expect(machine.isActive)
        // A caller that comes late gets all bytes.
        #expect(machine.handle(.grew(attempt: 1, count: 300)) == [.copy(track(), from: 0)])
    }

    @Test("I2 one step decodes at a time, and the next one takes all bytes that arrived")
    func oneStep() {
        var machine = decoding()
        for count in [200, 300] {
            let action = Machine.Action.copy(track(), from: count - 100)
            #expect(machine.handle(.grew(attempt: 1, count: count)) == [action])
            #expect(machine.handle(.copied(track())) == [])
        }
        #expect(machine.handle(.grew(attempt: 1, count: 300)) == [])
        // The next step begins when the preview is reported, so that its own cannot overtake it.
        #expect(machine.handle(.decoded(track(), .preview)) == [.deliver(target(10))])
        #expect(machine.handle(.delivered(track())) == [.submit(track())])
        // Bytes that arrive before the worker begins belong to this step.
        #expect(machine.handle(.grew(attempt: 1, count: 400)) == [.copy(track(), from: 300)])
        #expect(machine.handle(.copied(track())) == [])
        #expect(machine.handle(.ready(track())) == [.decode(track())])
        #expect(machine.handle(.decoded(track(), .none)) == [])
        #expect(machine.handle(.ready(track())) == [])
    }

    @Test("I2 bytes that arrive while a preview is reported are decoded afterwards")
    func reporting() {
        var machine = decoding()
        #expect(machine.handle(.decoded(track(), .preview)) == [.deliver(target(10))])
        #expect(machine.handle(.grew(attempt: 1, count: 200)) == [.copy(track(), from: 100)])
        #expect(machine.handle(.copied(track())) == [])
        #expect(machine.handle(.delivered(track())) == [.submit(track())])
        #expect(machine.handle(.ready(track())) == [.decode(track())])
        #expect(machine.handle(.decoded(track(), .preview)) == [.deliver(target(10))])
        #expect(machine.handle(.delivered(track())) == [])
        #expect(machine.handle(.grew(attempt: 1, count: 300)) == [.copy(track(), from: 200)])
        #expect(machine.handle(.copied(track())) == [.submit(track())])
    }

    @Test("I2 each target has a decoder")
    func targets() {
        var machine = Machine()
        _ = machine.handle(.want([target(10), target(20)]))
        let actions = machine.handle(.grew(attempt: 1, count: 100))
        #expect(actions.count == 2)
        guard case .copy(let first, 0) = actions[0], case .copy(let second, 0) = actions[1] else {
            Issue.record("no copies")
            return
        }
        #expect(first.number != second.number)
        #expect(machine.handle(.copied(first)) == [.submit(first)])
        #expect(machine.handle(.want([second.target])) == [.release(first)])
        #expect(machine.handle(.ready(first)) == [])
        #expect(machine.handle(.copied(second)) == [.submit(second)])
        #expect(machine.handle(.want([])) == [.release(second)] && !machine.isActive)
    }

    @Test("I2 a retry begins again, and the preview of the response before is dropped")
    func retry() {
        var machine = decoding()
        #expect(
            machine.handle(.grew(attempt: 2, count: 50)) == [
                .release(track()), .copy(track(10, 2), from: 0),
            ])
        #expect(machine.handle(.decoded(track(), .preview)) == [])
        #expect(machine.handle(.copied(track())) == [])
        #expect(machine.handle(.grew(attempt: 1, count: 500)) == [])
        #expect(machine.handle(.copied(track(10, 2))) == [.submit(track(10, 2))])
    }

    @Test("I2 a damaged image has no further previews, unless it is requested again")
    func stopped() {
        var machine = decoding()
        #expect(machine.handle(.decoded(track(), .stopped)) == [.release(track())])
        #expect(machine.handle(.grew(attempt: 1, count: 200)) == [])
        #expect(machine.handle(.copied(track())) == [])
        let next = track(10, 2)
        #expect(machine.handle(.grew(attempt: 2, count: 9)) == [.copy(next, from: 0)])
        #expect(machine.handle(.lost(next)) == [.release(next)])
        #expect(machine.handle(.lost(next)) == [])
        #expect(machine.handle(.grew(attempt: 2, count: 20)) == [])
    }

    @Test("I2 nothing is delivered after the callers have left, even if others come")
    func left() {
        var machine = decoding()
        #expect(machine.handle(.want([])) == [.release(track())])
        _ = machine.handle(.want([target(10)]))
        let new = track(10, 2)
        #expect(machine.handle(.grew(attempt: 1, count: 200)) == [.copy(new, from: 0)])
        #expect(machine.handle(.copied(new)) == [.submit(new)])
        #expect(machine.handle(.decoded(track(), .preview)) == [])
        #expect(machine.handle(.ready(new)) == [.decode(new)])
        #expect(machine.handle(.decoded(new, .preview)) == [.deliver(target(10))])
    }

    @Test("I2 previews end with the request")
    func load() {
        var machine = ImageLoadMachine()
        func waiter(_ id: UInt64, _ side: Int, previews: Bool) -> ImageLoadMachine.Waiter {
            ImageLoadMachine.Waiter(
                id: id, target: target(side), priority: 0, wantsPreviews: previews)
        }
        #expect(machine.handle(.join(waiter(1, 10, previews: false))) == [.startRequest])
        #expect(!machine.needsBody)
        #expect(machine.handle(.preview(.grew(attempt: 1, count: 9))) == [])
        #expect(machine.handle(.join(waiter(2, 10, previews: true))) == [] && machine.needsBody)
        let copy = ImageLoadMachine.Action.preview(.copy(track(), from: 0))
        #expect(machine.handle(.preview(.grew(attempt: 1, count: 20))) == [copy])
        #expect(machine.handle(.leave(2)) == [.release(2), .preview(.release(track()))])
        #expect(!machine.needsBody)

        _ = machine.handle(.join(waiter(3, 20, previews: true)))
        _ = machine.handle(.preview(.grew(attempt: 1, count: 30)))
        let responded = machine.handle(.responded)
        #expect(
            responded == [
                .submit(target(10)), .submit(target(20)), .preview(.release(track(20, 2))),
            ])
        #expect(machine.handle(.preview(.decoded(track(20, 2), .preview))) == [])
        #expect(machine.handle(.join(waiter(4, 30, previews: true))) == [.submit(target(30))])
        #expect(!machine.needsBody)
    }

    @Test("I2 a random order of events never starts two steps of a decoder")
    func random() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<300 {
            var machine = Machine()
            var attempt = 1
            var count = 0
            var running: Set<Machine.Track> = []
            var queued: [Machine.Track] = []
            var copies: [Machine.Track] = []
            var released: Set<Machine.Track> = []
            func carryOut(_ actions: [Machine.Action]) {
                for action in actions {
                    switch action {
                    case .copy(let track, _):
                        #expect(!released.contains(track))
                        copies.append(track)
                    case .submit(let track):
                        #expect(!queued.contains(track) && !running.contains(track))
                        queued.append(track)
                    case .decode(let track): #expect(running.insert(track).inserted)
                    case .deliver: break
                    case .release(let track): #expect(released.insert(track).inserted)
                    }
                }
            }
            for _ in 0..<80 {
                switch Int.random(in: 0..<9, using: &generator) {
                case 0:
                    let sides = [10, 20].filter { _ in Bool.random(using: &generator) }
                    carryOut(machine.handle(.want(Set(sides.map { target($0) }))))
                case 1, 2, 3:
                    if Int.random(in: 0..<6, using: &generator) == 0 {
                        attempt += 1
                        count = 0
                    }
                    count += 10
                    carryOut(machine.handle(.grew(attempt: attempt, count: count)))
                    for track in copies { carryOut(machine.handle(.copied(track))) }
                    copies = []
                case 4, 5, 6:
                    guard !queued.isEmpty else { continue }
                    carryOut(machine.handle(.ready(queued.removeFirst())))
                default:
                    guard let track = running.popFirst() else { continue }
                    let outcomes: [Machine.Outcome] = [.none, .preview, .preview, .stopped]
                    let outcome = outcomes.randomElement(using: &generator) ?? .none
                    let actions = machine.handle(.decoded(track, outcome))
                    #expect(!released.contains(track) || actions.isEmpty)
                    carryOut(actions)
                }
            }
            carryOut(machine.handle(.want([])))
            #expect(!machine.isActive)
        }
    }
}
