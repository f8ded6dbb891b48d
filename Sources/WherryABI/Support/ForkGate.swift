// Wherry: recovery in a forked child.
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import WherrySystem

/// The process that owns the library's state.
enum ForkGate {
    private static let home = Atomic<Int>(0)

    /// Whether this process was forked from one that used the library.
    @inline(__always)
    static var isForked: Bool { ForkGuard.current != home.load(ordering: .acquiring) }

    /// Resets the library in a child: all handles become invalid, and state that other threads held
    /// is abandoned.
    static func restart() {
        guard isForked else { return }
        Handles.table.restart()
        Stripes.shared.restart()
        LastError.forget()
        home.store(ForkGuard.current, ordering: .releasing)
    }
}
