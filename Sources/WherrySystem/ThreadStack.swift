// Wherry: the stack of the current thread.
// SPDX-License-Identifier: Apache-2.0

internal import CLinux

package enum ThreadStack {
    /// The number of bytes that are left on the stack of the current thread. `Int.max` if it is unknown,
    /// as on the stack of a coroutine.
    package static var room: Int { Int(clamping: clinux_stack_room()) }
}
