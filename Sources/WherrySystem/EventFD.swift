// Wherry: an eventfd.
// SPDX-License-Identifier: Apache-2.0

internal import CLinux
import Glibc

/// A Linux eventfd: readable after `signal()` until the next `clear()`. Close-on-exec,
/// non-blocking.
package final class EventFD: Sendable {
    package let descriptor: Int32

    package init() throws(SystemError) {
        descriptor = clinux_eventfd()
        if descriptor < 0 { throw SystemError(errno, "create an eventfd") }
    }

    deinit { close(descriptor) }

    package func signal() {
        var one: UInt64 = 1
        while write(descriptor, &one, 8) < 0 && errno == EINTR {}
    }

    package func clear() {
        var count: UInt64 = 0
        while read(descriptor, &count, 8) < 0 && errno == EINTR {}
    }

    /// Waits in real time until the eventfd is readable. Returns `false` on timeout.
    package func wait(milliseconds: Int32) -> Bool {
        var interest = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&interest, 1, milliseconds) > 0
    }
}
