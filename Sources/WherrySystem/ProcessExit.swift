// Wherry: coordination of library threads with the exit of the process.
// SPDX-License-Identifier: Apache-2.0

internal import CLinux
import Glibc

/// Keeps library threads out of OpenSSL while the process exits.
///
/// OpenSSL's exit handler frees locks, algorithms and providers while other threads run. The
/// program crashed if a thread was in a handshake at that moment, or freed its OpenSSL data as it
/// ended. Therefore code that may reach OpenSSL runs in `pass`, and every thread frees its data
/// explicitly. Our exit handler runs before OpenSSL's: it waits until every thread has left `pass`,
/// and admits no more.
package enum ProcessExit {
    /// Prevents OpenSSL from registering an exit handler, and runs `initialize`.
    ///
    /// Registers our own exit handler before and after, in case the program initialized OpenSSL
    /// earlier. Returns `nil` without running `initialize` if the process is exiting.
    @discardableResult
    package static func guarding<Result>(_ initialize: () -> Result) -> Result? {
        clinux_exit_keep_tls()
        return watched(initialize)
    }

    /// Like ``guarding(_:)``, for a library loaded by `dlopen`.
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

    /// Whether an exit handler has run. If so, libcurl and OpenSSL must not be called.
    package static var hasBegun: Bool { clinux_exit_has_begun() != 0 }

    /// The interval, in nanoseconds, at which a wait for another thread checks ``hasBegun``: the
    /// exit may stop that thread for good.
    package static let checkInterval: Int64 = 20_000_000

    /// A descriptor that becomes readable when the process exits; -1 if unavailable.
    package static var descriptor: Int32 { clinux_exit_descriptor() }

    /// Runs `body`, which may call libcurl or OpenSSL. Returns `nil` without running it if the
    /// process is exiting. Calls may nest.
    @inline(__always)
    package static func pass<Result>(_ body: () -> Result) -> Result? {
        guard clinux_exit_enter() != 0 else { return nil }
        defer { clinux_exit_leave() }
        return body()
    }

    /// Keeps libcurl memory reachable that can no longer be freed because the process is exiting,
    /// so that LeakSanitizer does not report it.
    package static func keep(_ memory: UnsafeRawPointer) { clinux_exit_keep(memory) }

    /// Runs `body`, which calls `pass` many times on a program thread. Frees the thread's OpenSSL
    /// data once at the end. If the process is exiting, `body` still runs, but `pass` does nothing.
    package static func attached<Result>(_ body: () -> Result) -> Result {
        let isAttached = clinux_exit_attach() != 0
        defer { if isAttached { clinux_exit_detach() } }
        return body()
    }

    /// Runs `body` like `pass`, for work that must not be skipped. If the process is exiting,
    /// blocks the calling thread until the process has ended. The thread that runs the exit
    /// handlers never blocks.
    @inline(__always)
    package static func require<Result>(_ body: () -> Result) -> Result {
        guard clinux_exit_enter() != 0 else {
            clinux_exit_block(0)
            return body()
        }
        defer { clinux_exit_leave() }
        return body()
    }

    /// Blocks a thread that stayed in `pass` longer than the exit handler waited, because the state
    /// that the thread would return to may be freed.
    package static func blockIfOver() {
        guard clinux_exit_has_begun() != 0 else { return }
        clinux_exit_block(1)
    }
}
