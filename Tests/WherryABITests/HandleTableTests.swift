// Wherry: tests of the handle table.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import WherryABI

private final class Thing: HandleObject {
    static var kind: HandleKind { .json }
    let number: Int
    let onEnd: (Int) -> Void

    init(_ number: Int, onEnd: @escaping (Int) -> Void = { _ in }) {
        self.number = number
        self.onEnd = onEnd
    }

    deinit { onEnd(number) }
}

@Suite("The handle table")
struct HandleTableTests {
    @Test("a handle leads to its object until it is removed, and then to none")
    func lifetime() throws {
        let table = HandleTable()
        let thing = Thing(1)

        let handle = try #require(table.add(thing, .json))
        #expect(table.object(handle, .json) === thing)
        #expect(table.remove(handle, .json) === thing)

        #expect(table.object(handle, .json) == nil)
        #expect(table.remove(handle, .json) == nil)
        #expect(table.count == 0)
    }

    // A reader that had reserved a handle took an event, found that another thread had already used the
    // handle, and the event was lost.
    @Test("reserved handles belong to one thread, and the last one leaves no space")
    func reserved() throws {
        let table = HandleTable(limit: 4)
        let first = try #require(table.add(Thing(1), .json))
        #expect(table.reserve(2))
        let second = try #require(table.add(Thing(2), .json))
        #expect(table.add(Thing(3), .json) == nil)
        #expect(!table.reserve(1))

        // A freed handle leaves space, for reservations too.
        _ = table.remove(second, .json)
        #expect(table.reserve(1))
        #expect(table.add(Thing(3), .json) == nil)
        table.unreserve(1)
        #expect(!table.reserve(2))

        var given: [OpaquePointer?] = []
        table.add([Thing(4), Thing(5)], reserved: 2) { given.append($1) }
        let numbers = try given.map { (table.object(try #require($0), .json) as? Thing)?.number }
        #expect(numbers == [4, 5])
        let last = table.add(Thing(6), .json)
        #expect(last != nil && table.count == 4)
        #expect(table.add(Thing(7), .json) == nil && table.count == 4)
        #expect(table.object(first, .json) != nil)
    }

    @Test("unused reservations are released")
    func givenUp() {
        let table = HandleTable(limit: 2)
        #expect(table.reserve(2))
        var given: [OpaquePointer?] = []
        table.add([Thing(1)], reserved: 2) { given.append($1) }
        #expect(given.count == 1 && given.first != .some(nil))
        #expect(table.add(Thing(2), .json) != nil)
        #expect(!table.reserve(1))
    }

    @Test("a handle of the wrong kind is refused")
    func kinds() throws {
        let table = HandleTable()

        let handle = try #require(table.add(Thing(1), .json))

        #expect(table.object(handle, .list) == nil)
        #expect(table.remove(handle, .list) == nil)
        #expect(table.object(handle, .json) != nil)
    }

    @Test("a reused slot has another handle")
    func generations() throws {
        let table = HandleTable()
        var seen: Set<UInt> = []
        for number in 0..<1000 {
            let handle = try #require(table.add(Thing(number), .json))
            #expect(seen.insert(UInt(bitPattern: handle)).inserted)
            #expect(table.remove(handle, .json) != nil)
        }

        let last = try #require(table.add(Thing(0), .json))
        for bits in seen {
            let old = try #require(OpaquePointer(bitPattern: bits))
            #expect(table.object(old, .json) == nil)
        }
        #expect(Handle(last).index == 0)
    }

    @Test("a handle is a number that is never an address")
    func noAddresses() throws {
        let table = HandleTable()
        let handle = try #require(table.add(Thing(1), .json))

        // Addresses of programs on 64-bit Linux are below 2^47, or 2^56 with five levels.
        #expect(UInt(bitPattern: handle) >= 1 << 58)
    }

    @Test("arbitrary numbers are not handles")
    func strangers() throws {
        let table = HandleTable()
        let good = try #require(table.add(Thing(1), .json))
        var random = SystemRandomNumberGenerator()
        for _ in 0..<10_000 {
            let bits = UInt.random(in: 1...UInt.max, using: &random)
            guard bits != UInt(bitPattern: good), let pointer = OpaquePointer(bitPattern: bits)
            else { continue }
            #expect(table.object(pointer, .json) == nil)
        }
        for bit in 0..<64 {
            let bits = UInt(bitPattern: good) ^ (1 << UInt(bit))
            guard let pointer = OpaquePointer(bitPattern: bits) else { continue }
            #expect(table.object(pointer, .json) == nil)
        }
    }

    @Test("after a restart every older handle is invalid, and new ones differ")
    func restart() throws {
        let table = HandleTable()
        let old = try (0..<300).map { try #require(table.add(Thing($0), .json)) }

        table.restart()
        let new = try (0..<300).map { try #require(table.add(Thing($0), .json)) }

        for handle in old { #expect(table.object(handle, .json) == nil) }
        for (number, handle) in new.enumerated() {
            #expect((table.object(handle, .json) as? Thing)?.number == number)
        }
        #expect(Set(old).isDisjoint(with: new))
    }

    @Test("a batch is freed completely, and invalid handles in it are reported")
    func batches() throws {
        let table = HandleTable()
        let made = try (0..<5).map { try #require(table.add(Thing($0), .json)) }
        var handles: [OpaquePointer?] = made
        handles[1] = nil
        _ = table.remove(try #require(handles[3]), .json)

        var freed: [Thing] = []
        let areGood = table.remove(handles.count, into: &freed) { handles[$0] }

        #expect(!areGood)
        #expect(freed.map(\.number) == [0, 2, 4])
    }

    @Test("an object's deinit may use the table")
    func reentrance() throws {
        let table = HandleTable()
        let inner = try #require(table.add(Thing(2), .json))
        let outer = try #require(
            table.add(Thing(1) { _ in _ = table.remove(inner, .json) }, .json))

        _ = table.remove(outer, .json)

        #expect(table.count == 0)
    }

    @Test("many threads add, look up, and remove without interference")
    func threads() {
        let table = HandleTable()
        DispatchQueue.concurrentPerform(iterations: 8) { worker in
            for round in 0..<2000 {
                let number = worker * 10_000 + round
                guard let handle = table.add(Thing(number), .json) else {
                    Issue.record("no handle")
                    return
                }
                let found = table.object(handle, .json) as? Thing
                let removed = table.remove(handle, .json) as? Thing
                if found?.number != number || removed?.number != number {
                    Issue.record("another object came back")
                }
            }
        }
        #expect(table.count == 0)
    }
}
