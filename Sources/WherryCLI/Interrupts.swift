// Wherry: handles SIGINT, SIGTERM, and SIGHUP on a thread instead of in a signal handler.
// SPDX-License-Identifier: Apache-2.0

import Glibc
import WherrySystem

/// SIGINT, SIGTERM and SIGHUP are blocked in every thread; one thread waits for them.
enum Interrupts {
    private static let taken = Mailbox<Int32>()
    /// Readable after the first signal; `nil` if the process has no free descriptor.
    private static let news = try? EventFD()

    /// A descriptor for `poll`, readable after the first signal; -1, which `poll` ignores, if there is none.
    static var descriptor: Int32 { news?.descriptor ?? -1 }

    /// The signals that cancel a command. A signal that the parent process ignores stays ignored, such as
    /// SIGHUP under nohup, or SIGINT of a background process of a script.
    private static var signals: sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        for signal in [SIGINT, SIGTERM, SIGHUP] where !isIgnored(signal) {
            sigaddset(&set, signal)
        }
        return set
    }

    private static func isIgnored(_ signal: Int32) -> Bool {
        var present = sigaction()
        guard sigaction(signal, nil, &present) == 0 else { return false }
        // Either a function or one of two constants; SIG_IGN is 1.
        return unsafeBitCast(present.__sigaction_handler.sa_handler, to: Int.self) == 1
    }

    /// Blocks the signals. Call it before any thread exists.
    static func block() {
        var set = signals
        pthread_sigmask(SIG_BLOCK, &set, nil)
        // If the reader of the output closes it, writing fails instead of ending the process silently.
        signal(SIGPIPE, SIG_IGN)
    }

    /// Restores the signals for a program that replaces this one.
    static func unblock() {
        var set = signals
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
        signal(SIGPIPE, SIG_DFL)
    }

    /// Calls `cancel` at the first signal. The second one ends the process at once.
    static func watch(_ cancel: @escaping @Sendable () -> Void) {
        do {
            try NativeThread(name: "wherry-signals") { wait(cancel) }.detach()
        } catch {
            // Without a thread, the first signal ends the process at once.
            var set = signals
            pthread_sigmask(SIG_UNBLOCK, &set, nil)
        }
    }

    private static func wait(_ cancel: () -> Void) {
        var set = signals
        var number: Int32 = 0
        guard sigwait(&set, &number) == 0 else { return }
        taken.put(number)
        news?.signal()
        cancel()
        guard sigwait(&set, &number) == 0 else { return }
        _exit(128 + number)
    }

    /// The exit status after a signal: 128 plus its number.
    static var status: Int32? { taken.peek().map { 128 + $0 } }
}

/// Passes one value from one thread to another.
final class Mailbox<Value: Sendable>: Sendable {
    private let value: Lock<Value?>

    init(_ value: Value? = nil) { self.value = Lock(value) }

    func put(_ value: Value) { self.value.withLock { $0 = value } }
    func peek() -> Value? { value.withLock { $0 } }
    func take() -> Value? {
        value.withLock { value in
            defer { value = nil }
            return value
        }
    }
}
