// Wherry: library threads, and fork detection.
// SPDX-License-Identifier: Apache-2.0

internal import CLinux
import Glibc
import Synchronization

/// A thread that blocks asynchronous signals, so that the program's handlers run on the program's
/// threads.
///
/// Signals raised by a thread's own instructions stay unblocked. The kernel kills a process that
/// blocks such a signal, and the program's crash handler would not run.
package final class NativeThread: @unchecked Sendable {  // `handle` is written once, in init
    private var handle = pthread_t()
    /// The stack of every library thread, whatever the stack limit of the process (`ulimit -s`): the
    /// usual default.
    private static let stackSize = 8 << 20

    private final class Start {
        let name: String
        let body: @Sendable () -> Void
        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }

    /// Starts a thread; `join` must be called once.
    package init(name: String, _ body: @escaping @Sendable () -> Void) throws(SystemError) {
        let start = Unmanaged.passRetained(Start(name: name, body: body))
        var blocked = sigset_t()
        var old = sigset_t()
        sigfillset(&blocked)
        for signal in [SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS] {
            sigdelset(&blocked, signal)
        }
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setstacksize(&attributes, Self.stackSize)
        pthread_sigmask(SIG_SETMASK, &blocked, &old)
        let result = pthread_create(
            &handle, &attributes,
            { argument in
                guard let argument else { return nil }
                let start = Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
                clinux_name_thread(start.name)
                clinux_exit_begin_thread()
                start.body()
                clinux_exit_end_thread()
                return nil
            }, start.toOpaque())
        pthread_sigmask(SIG_SETMASK, &old, nil)
        if result != 0 {
            start.release()
            throw SystemError(result, "start a thread")
        }
    }

    package var isCurrent: Bool { pthread_equal(handle, pthread_self()) != 0 }

    /// Waits until the thread has ended. Returns early if the process exits, because the thread may
    /// then block forever.
    package func join() { clinux_exit_join(UInt(handle)) }
    package func detach() { pthread_detach(handle) }
}

/// Distinguishes a forked child from its parent. No library thread exists in the child.
package enum ForkGuard {
    private static let generation = Atomic<Int>(0)
    private static let installed: Bool = {
        pthread_atfork(nil, nil, { ForkGuard.generation.wrappingAdd(1, ordering: .relaxed) })
        return true
    }()

    /// A number that differs in a forked child. Objects store the value of the process that created
    /// them.
    package static var current: Int {
        _ = installed
        return generation.load(ordering: .relaxed)
    }
}
