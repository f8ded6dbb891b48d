// Wherry: one object for a process, and another for each child that it forks.
// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Holds one object for the process, made when it is first asked for. A forked child gets one of
/// its own: in the parent's, threads may be missing and locks held by nobody.
package final class ProcessLocal<Object: AnyObject & Sendable>: Sendable {
    private final class Entry: Sendable {
        let object: Object
        let generation: Int
        init(_ object: Object, _ generation: Int) {
            self.object = object
            self.generation = generation
        }
    }
    /// An `Entry` that is kept for ever, or 0.
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
                // What a parent had is left as it is.
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
