// Wherry: the end of the process, as the library's threads see it.
// SPDX-License-Identifier: Apache-2.0

internal import CLinux
import Glibc

/// Keeps library threads out of OpenSSL while the process exits.
///
/// OpenSSL's exit handler frees locks, algorithms, and providers while other threads run. A thread
/// that was in a handshake at that moment, or that freed its own OpenSSL data as it ended, crashed
/// the program. Code that may reach OpenSSL therefore runs in `pass`, and every thread frees its data
/// itself. Our exit handler runs before OpenSSL's, waits until every thread has left, and lets none
/// in again.
package enum ProcessExit {
    /// Prevents OpenSSL from registering an exit handler, and runs `initialize`.
    ///
    /// Registers our own exit handler before and after, for a program that had initialized OpenSSL
    /// earlier. Returns `nil` without running `initialize` if the process is exiting.
    @discardableResult
    package static func guarding<Result>(_ initialize: () -> Result) -> Result? {
        clinux_exit_keep_tls()
        return watched(initialize)
    }

    /// The same for a library that was loaded by `dlopen`.
    @discardableResult
    package static func guarding<Result>(
        _ library: UnsafeMutableRawPointer, _ initialize: () -> Result
    ) -> Result? {
        clinux_exit_keep_libcrypto(library)
        return watched(initialize)
    }

    private static func watched<Result>(_ initialize: () -> Result) -> Result? {
        clinux_exit_watch()
        defer { clinux_exit_watch() }
        return pass(initialize)
    }

    /// Whether an exit handler has run: libcurl and OpenSSL must not be called any more.
    package static var hasBegun: Bool { clinux_exit_has_begun() != 0 }

    /// Readable once the process is exiting; -1 if there is none.
    package static var descriptor: Int32 { clinux_exit_descriptor() }

    /// Runs `body`, which may call libcurl or OpenSSL. `nil` without running it if the process is
    /// exiting. Calls nest.
    @inline(__always)
    package static func pass<Result>(_ body: () -> Result) -> Result? {
        guard clinux_exit_enter() != 0 else { return nil }
        defer { clinux_exit_leave() }
        return body()
    }

    /// Runs `body`, which calls `pass` many times on a thread of the program, and frees OpenSSL's data
    /// of the thread once at the end. Runs `body` also if the process is exiting: `pass` skips its
    /// work then.
    package static func attached<Result>(_ body: () -> Result) -> Result {
        let isAttached = clinux_exit_attach() != 0
        defer { if isAttached { clinux_exit_detach() } }
        return body()
    }

    /// Runs `body` like `pass`, for work that cannot end without it: if the process is exiting,
    /// blocks the calling thread until the process is gone. The thread that runs the exit handlers
    /// never blocks.
    @inline(__always)
    package static func require<Result>(_ body: () -> Result) -> Result {
        guard clinux_exit_enter() != 0 else {
            clinux_exit_block(0)
            return body()
        }
        defer { clinux_exit_leave() }
        return body()
    }

    /// Blocks a thread that was inside of `pass` for longer than the exit handler has waited: what
    /// it would return to may be gone.
    package static func blockIfOver() {
        guard clinux_exit_has_begun() != 0 else { return }
        clinux_exit_block(1)
    }
}
