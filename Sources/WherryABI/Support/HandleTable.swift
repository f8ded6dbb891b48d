// Wherry: the table of handles.
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// All objects of the C interface by handle. A freed slot is reused with a new generation, so that
/// a freed handle is distinguished from its successor. A slot without generations left is retired.
///
/// The lock is held for a few instructions, and no object is released under it: its deinit may use
/// the table.
final class HandleTable: @unchecked Sendable {  // guarded by `mutex`
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
    /// The number of handles reserved for future objects.
    private var reserved = 0
    /// The number of retired slots.
    private var retired = 0
    private let limit: Int
    /// The index of the first slot. Handles below it belong to the parent process.
    private var base = 0

    /// - Parameter limit: The maximum number of slots.
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

    /// The number of valid handles.
    var count: Int {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return held
    }

    /// Returns a new handle that retains the object; `nil` if the table is full.
    func add(_ object: AnyObject, _ kind: HandleKind) -> OpaquePointer? {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return hasRoom(1) ? enter(object, kind) : nil
    }

    /// Reserves handles; returns `false` if the table is full.
    func reserve(_ count: Int) -> Bool {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        guard hasRoom(count) else { return false }
        reserved += count
        return true
    }

    /// Releases reserved handles.
    func unreserve(_ count: Int) {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        reserved -= count
    }

    /// Returns handles for objects from the reserved ones; releases the other reserved ones.
    func add<Object: HandleObject>(
        _ objects: some Sequence<Object>, reserved count: Int, _ body: (Int, OpaquePointer?) -> Void
    ) {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        reserved -= count
        for (index, object) in objects.enumerated() { body(index, enter(object, Object.kind)) }
    }

    /// Returns the object of a handle, if it is valid and has this kind.
    @inline(__always)
    func object(_ pointer: OpaquePointer, _ kind: HandleKind) -> AnyObject? {
        let handle = Handle(pointer)
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return find(handle, kind)?.pointee.object?.takeUnretainedValue()
    }

    /// Frees a handle and returns its object.
    func remove(_ pointer: OpaquePointer, _ kind: HandleKind) -> AnyObject? {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return leave(Handle(pointer), kind)
    }

    /// Frees many handles under one lock. Returns `false` if one of them was invalid; `nil` is
    /// allowed.
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

    /// Invalidates all handles in a forked child. The objects are abandoned: their threads do not
    /// exist here, and may hold their locks.
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

    /// Returns whether the parent process created the handle.
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

    /// Returns whether `count` more handles are available besides the reserved ones.
    @inline(__always)
    private func hasRoom(_ count: Int) -> Bool {
        let wanted = held + retired + reserved + count
        return wanted <= capacity || grow(wanted)
    }

    /// Adds an object if there is room.
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
