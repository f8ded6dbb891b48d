// Wherry: from the numbers that C holds to objects, checked.
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Every object that C holds, by handle. A freed slot is used again under a new generation, so a
/// handle that was freed is told from the one that has its place; a slot whose generations are
/// used up is left alone.
///
/// The lock is held for a few instructions, and nothing is let go of under it: what an object's
/// end brings about may come back here.
final class HandleTable: @unchecked Sendable {  // everything is guarded by `mutex`
    private struct Slot {
        var object: Unmanaged<AnyObject>?
        var generation: UInt32
        var nextFree: UInt32
        var kind: UInt
    }

    private static let noSlot = UInt32.max

    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private var slots: UnsafeMutablePointer<Slot>?
    private var capacity = 0
    private var used = 0
    private var firstFree = noSlot
    private var held = 0
    /// Handles that were put by, for objects that are to come.
    private var reserved = 0
    /// Slots that are left alone.
    private var retired = 0
    private let limit: Int
    /// The index of the first slot. Handles below it are those of the process we were forked from.
    private var base = 0

    /// - Parameter limit: so many slots at most.
    init(limit: Int = Handle.indexLimit) {
        self.limit = limit
        mutex = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        free(slots)
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// How many handles are good.
    var count: Int {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return held
    }

    /// A new handle, which keeps the object; `nil` if there is no room left.
    func add(_ object: AnyObject, _ kind: HandleKind) -> OpaquePointer? {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return hasRoom(1) ? enter(object, kind) : nil
    }

    /// Puts handles by, which nobody else gets; `false` if there is no room for them.
    func reserve(_ count: Int) -> Bool {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        guard hasRoom(count) else { return false }
        reserved += count
        return true
    }

    /// Gives up handles that were put by.
    func unreserve(_ count: Int) {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        reserved -= count
    }

    /// Handles for objects, of those that were put by; the rest of these is given up.
    func add<Object: HandleObject>(
        _ objects: some Sequence<Object>, reserved count: Int, _ body: (Int, OpaquePointer?) -> Void
    ) {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        reserved -= count
        for (index, object) in objects.enumerated() { body(index, enter(object, Object.kind)) }
    }

    /// The object behind a handle, if it is good and of this kind.
    @inline(__always)
    func object(_ pointer: OpaquePointer, _ kind: HandleKind) -> AnyObject? {
        let handle = Handle(pointer)
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return find(handle, kind)?.pointee.object?.takeUnretainedValue()
    }

    /// Ends a handle and hands over what it kept.
    func remove(_ pointer: OpaquePointer, _ kind: HandleKind) -> AnyObject? {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return leave(Handle(pointer), kind)
    }

    /// Ends many handles under one lock. `false` if one of them was not good; `nil` ones are fine.
    func remove<Object: HandleObject>(
        _ count: Int, into objects: inout [Object], _ pointer: (Int) -> OpaquePointer?
    ) -> Bool {
        var areGood = true
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        for index in 0..<count {
            guard let pointer = pointer(index) else { continue }
            if let object = leave(Handle(pointer), Object.kind) {
                objects.append(unsafeDowncast(object, to: Object.self))
            } else {
                areGood = false
            }
        }
        return areGood
    }

    /// Makes every handle dead, in a forked child. The objects are given up as they are: threads
    /// that they wait for do not exist here, and their locks may be held by them.
    func restart() {
        pthread_mutex_init(mutex, nil)
        base += used
        slots = nil
        capacity = 0
        used = 0
        held = 0
        reserved = 0
        retired = 0
        firstFree = Self.noSlot
    }

    /// Whether it was given by the process that this one was forked from.
    func isInherited(_ pointer: OpaquePointer) -> Bool {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return Handle(pointer).index < base
    }

    // MARK: Under the lock

    private func find(_ handle: Handle, _ kind: HandleKind) -> UnsafeMutablePointer<Slot>? {
        let index = handle.index &- base
        guard index >= 0, index < used, let slot = slots.map({ $0 + index }),
            slot.pointee.generation == handle.generation, handle.kind == kind.rawValue,
            slot.pointee.kind == kind.rawValue
        else { return nil }
        return slot
    }

    /// Whether `count` more handles can be had beside those that were put by.
    @inline(__always)
    private func hasRoom(_ count: Int) -> Bool {
        let wanted = held + retired + reserved + count
        return wanted <= capacity || grow(wanted)
    }

    /// A handle, where there is room for it.
    private func enter(_ object: AnyObject, _ kind: HandleKind) -> OpaquePointer? {
        let index: Int
        if firstFree != Self.noSlot, let slots {
            index = Int(firstFree)
            firstFree = slots[index].nextFree
        } else {
            guard used < capacity, let slots else { return nil }
            index = used
            used += 1
            (slots + index).initialize(
                to: Slot(object: nil, generation: 1, nextFree: Self.noSlot, kind: 0))
        }
        guard let slots else { return nil }
        slots[index].object = Unmanaged.passRetained(object)
        slots[index].kind = kind.rawValue
        held += 1
        return Handle(kind: kind, generation: slots[index].generation, index: base + index).pointer
    }

    private func leave(_ handle: Handle, _ kind: HandleKind) -> AnyObject? {
        guard let slot = find(handle, kind), let kept = slot.pointee.object else { return nil }
        slot.pointee.object = nil
        slot.pointee.kind = 0
        held -= 1
        if slot.pointee.generation < UInt32.max {
            slot.pointee.generation += 1
            slot.pointee.nextFree = firstFree
            firstFree = UInt32(handle.index - base)
        } else {
            retired += 1
        }
        return kept.takeRetainedValue()
    }

    private func grow(_ wanted: Int) -> Bool {
        let larger = min(max(wanted, capacity * 2, 256), limit - base)
        guard larger >= wanted, larger > capacity,
            let memory = realloc(slots, larger * MemoryLayout<Slot>.stride)
        else { return false }
        slots = memory.bindMemory(to: Slot.self, capacity: larger)
        capacity = larger
        return true
    }
}
