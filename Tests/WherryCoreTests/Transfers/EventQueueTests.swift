// Wherry: tests of the completion queue.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import WherrySystem
@testable import WherryCore
@testable import WherryHTTP
@testable import WherryImaging
@testable import WherryRequests

@Suite("The completion queue")
struct EventQueueTests {
    private let client: Client
    private let queue = EventQueue()

    init() throws { client = try Client() }

    private func transfer() -> Transfer {
        Transfer(
            .request, Request("http://127.0.0.1/"), client: client, settings: client.settings,
            options: client.settings.options, observer: queue, userData: 7)
    }

    private func progress(_ completed: Int64) -> TransferEvent {
        var progress = Progress()
        progress.completed = completed
        return .progress(progress)
    }

    /// A short word for each event that waits.
    private func words() throws -> [String] {
        try queue.read(1000, timeout: 0).map { event in
            switch event.event {
            case nil: "none"
            case .progress(let progress): "progress \(progress.completed)"
            case .state(let state, _): "\(state)"
            case .preview(let preview): "preview \(preview.pass)"
            case .done: "done"
            default: "other"
            }
        }
    }

    private func isReadable(_ descriptor: Int32) -> Bool {
        var interest = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&interest, 1, 0) == 1
    }

    @Test("events are read in the order of their arrival")
    func order() throws {
        let transfer = transfer()
        for state in [TransferState.running, .waiting, .running, .verifying] {
            transfer.emit(.state(state, reason: nil))
        }
        transfer.emit(.done(TransferOutcome()))

        #expect(queue.count == 5)
        #expect(try queue.next(timeout: 0)?.userData == 7)
        #expect(try words() == ["waiting", "running", "verifying", "done"])
        #expect(try queue.next(timeout: 0) == nil)
    }

    @Test("the ring grows and wraps around")
    func growth() throws {
        for round in 0..<50 {
            for number in 0..<(round * 3) { try queue.wake(userData: UInt(number)) }
            let half = try queue.read(round, timeout: 0).map(\.userData)
            let rest = try queue.read(1000, timeout: 0).map(\.userData)
            #expect(half + rest == (0..<(round * 3)).map { UInt($0) })
        }
    }

    @Test("of a transfer's progress only the newest waits, in order with the others")
    func coalescing() throws {
        let one = transfer()
        let two = transfer()

        one.emit(progress(1))
        two.emit(progress(100))
        one.emit(progress(2))
        #expect(queue.count == 2)
        #expect(try words() == ["progress 2", "progress 100"])

        one.emit(progress(3))
        one.emit(.state(.paused, reason: nil))
        one.emit(progress(4))
        #expect(queue.count == 2)
        #expect(try words() == ["paused", "progress 4"])

        one.emit(progress(5))
        #expect(try words() == ["progress 5"])
    }

    @Test("I2 of the previews of an image load only the newest waits")
    func previews() throws {
        let pixels = try PixelBuffer(format: .gray8, width: 1, height: 1, maxMemory: 1)
        let load = transfer()
        let other = transfer()
        func preview(_ pass: Int) -> TransferEvent {
            .preview(DecodedPreview(pixels: pixels, pass: pass))
        }
        for pass in 1...3 { load.emit(preview(pass)) }
        other.emit(preview(1))
        load.emit(preview(4))
        #expect(queue.count == 2)
        #expect(try words() == ["preview 4", "preview 1"])

        load.emit(preview(5))
        load.emit(progress(1))
        load.emit(.state(.paused, reason: nil))
        load.emit(preview(6))
        load.emit(progress(2))
        load.emit(.done(TransferOutcome()))
        #expect(try words() == ["paused", "preview 6", "progress 2", "done"])
    }

    @Test("an unread queue does not grow with progress")
    func bounded() {
        let transfer = transfer()
        for number in 0..<10_000 { transfer.emit(progress(Int64(number))) }
        #expect(queue.count == 1)
    }

    @Test("the descriptor is readable exactly while events wait")
    func descriptor() throws {
        try queue.wake(userData: 1)
        let descriptor = try queue.descriptor()
        #expect(isReadable(descriptor))
        #expect(try queue.descriptor() == descriptor)

        try queue.wake(userData: 2)
        _ = try queue.next(timeout: 0)
        #expect(isReadable(descriptor))
        _ = try queue.next(timeout: 0)
        #expect(!isReadable(descriptor))
        try queue.wake(userData: 3)
        #expect(isReadable(descriptor))
        _ = try queue.read(10, timeout: 0)
        #expect(!isReadable(descriptor))
    }

    @Test("a read takes no more than requested")
    func limit() throws {
        for number in 0..<5 { try queue.wake(userData: UInt(number)) }
        #expect(try queue.read(3, timeout: 0).count == 3)
        #expect(try queue.read(3, timeout: 0).count == 2)
        #expect(try queue.read(3, timeout: 1_000_000).isEmpty)
    }

    @Test("several threads wait, and each event goes to one of them")
    func waiting() {
        let total = 4000
        let received = Lock<[UInt]>([])
        DispatchQueue.concurrentPerform(iterations: 5) { worker in
            do {
                if worker == 0 {
                    for number in 1...total { try queue.wake(userData: UInt(number)) }
                    for _ in 1...4 { try queue.wake(userData: 0) }
                    return
                }
                while let event = try queue.next(timeout: 60_000_000_000), event.userData != 0 {
                    received.withLock { $0.append(event.userData) }
                }
            } catch {
                Issue.record("\(error)")
            }
        }
        #expect(received.withLock { $0.sorted() } == (1...total).map { UInt($0) })
    }

    @Test("closing ends the waits, cancels bound transfers, and drops waiting events")
    func closing() throws {
        let transfer = transfer()
        try queue.willStart(transfer)
        try queue.wake(userData: 1)
        let taken = try #require(try queue.next(timeout: 0))
        let descriptor = try queue.descriptor()
        let isWaiting = DispatchSemaphore(value: 0)
        let result = Lock<String?>(nil)
        let thread = try NativeThread(name: "test-waits") { [queue] in
            isWaiting.signal()
            do throws(WherryError) {
                let event = try queue.next(timeout: 60_000_000_000)
                result.withLock { $0 = "\(event?.userData ?? 0)" }
            } catch {
                result.withLock { $0 = error.reason }
            }
        }
        isWaiting.wait()

        queue.close()
        thread.join()

        #expect(result.withLock { $0 } == "closed")
        #expect(transfer.isCancelled)
        #expect(queue.count == 0)
        #expect(taken.userData == 1)
        #expect(descriptor >= 0)
        #expect(try queue.descriptor() == -1)
        #expect(throws: WherryError.self) { try queue.wake(userData: 2) }
        #expect(throws: WherryError.self) { try queue.willStart(transfer) }
        #expect(throws: WherryError.self) { try queue.next(timeout: 0) }
    }

    @Test("a transfer that has ended is no longer bound")
    func unbinding() throws {
        let transfer = transfer()
        try queue.willStart(transfer)
        transfer.emit(.done(TransferOutcome()))

        queue.close()

        #expect(!transfer.isCancelled)
    }

    @Test("a pending hook gets its default only after its transfer was cancelled")
    func droppedQuestion() throws {
        let transfer = transfer()
        try queue.willStart(transfer)
        let wasCancelled = Lock<Bool?>(nil)
        transfer.emit(
            .hook(
                HookCall(.adapt(Request("http://127.0.0.1/"))) { [unowned transfer] _ in
                    let state = transfer.isCancelled
                    wasCancelled.withLock { $0 = state }
                }))

        queue.close()

        #expect(wasCancelled.withLock { $0 } == true)
    }
}
