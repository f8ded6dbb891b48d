// Wherry: one object per process, separate after fork.
// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A holder of one object per process, created on first use. A forked child creates a new object,
/// because the parent's object may lack its threads or hold locks that no thread will release.
package final class ProcessLocal<Object: AnyObject & Sendable>: Sendable {
    private final class Entry: Sendable {
        let object: Object
        let generation: Int
        init(_ object: Object, _ generation: Int) {
            self.object = object
            self.generation = generation
        }
    }
    /// The address of an `Entry` that is never freed, or 0.
    private let entry = Atomic<UInt>(0)
    private let make: @Sendable () -> Object

    package init(_ make: @escaping @Sendable () -> Object) { self.make = make }

    /// The object of this process. Takes no lock.
    package var object: Object {
        let generation = ForkGuard.current
        while true {
            let known = entry.load(ordering: .acquiring)
            if let pointer = UnsafeRawPointer(bitPattern: known) {
                let found = Unmanaged<Entry>.fromOpaque(pointer).takeUnretainedValue()
                // The parent's object must not be touched.
                if found.generation == generation { return found.object }
            }
            let fresh = Unmanaged.passRetained(Entry(make(), generation))
            let bits = UInt(bitPattern: fresh.toOpaque())
            let result = entry.compareExchange(
                expected: known, desired: bits, ordering: .acquiringAndReleasing)
            if result.exchanged { return fresh.takeUnretainedValue().object }
            fresh.release()
        }
    }
}
