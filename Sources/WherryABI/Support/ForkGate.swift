// Wherry: nothing is touched in a forked child before it is made good.
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import WherrySystem

/// Knows the process that the library works in.
enum ForkGate {
    private static let home = Atomic<Int>(0)

    /// Whether this process was forked from one that used the library.
    @inline(__always)
    static var isForked: Bool { ForkGuard.current != home.load(ordering: .acquiring) }

    /// Starts over in a child: all handles are dead, and what other threads held is given up.
    static func restart() {
        guard isForked else { return }
        Handles.table.restart()
        Stripes.shared.restart()
        LastError.forget()
        home.store(ForkGuard.current, ordering: .releasing)
    }
}
