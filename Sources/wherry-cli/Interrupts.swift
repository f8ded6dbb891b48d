// Wherry: Ctrl-C and its kind, taken by a thread and not by a handler.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import WherrySystem

/// SIGINT, SIGTERM and SIGHUP are blocked in every thread; one thread waits for them.
enum Interrupts {
    private static let taken = Mailbox<Int32>()
    /// Readable once a signal came; `nil` where the process has no descriptor left.
    private static let news = try? EventFD()

    /// What `poll` can watch for the first signal; -1, which it passes over, if there is nothing.
    static var descriptor: Int32 { news?.descriptor ?? -1 }

    /// The signals that end a command in order. One that was ignored when we were started stays
    /// so: SIGHUP under nohup, SIGINT of what a script runs in the background.
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
        // A function or one of two small numbers; SIG_IGN is 1.
        return unsafeBitCast(present.__sigaction_handler.sa_handler, to: Int.self) == 1
    }

    /// Holds the signals back. For the first lines of the program, before there are threads.
    static func block() {
        var set = signals
        pthread_sigmask(SIG_BLOCK, &set, nil)
        // A reader of our output that goes away is an error of write, not an end without a word.
        signal(SIGPIPE, SIG_IGN)
    }

    /// Calls `cancel` at the first signal; the second one ends the program at once.
    static func watch(_ cancel: @escaping @Sendable () -> Void) {
        Thread.detachNewThread {
            var set = signals
            var number: Int32 = 0
            guard sigwait(&set, &number) == 0 else { return }
            taken.put(number)
            news?.signal()
            cancel()
            guard sigwait(&set, &number) == 0 else { return }
            _exit(128 + number)
        }
    }

    /// The status to leave with if a signal came: 128 and its number.
    static var status: Int32? { taken.peek().map { 128 + $0 } }
}

/// One value, handed from thread to thread.
final class Mailbox<Value: Sendable>: @unchecked Sendable {  // `value` is under `lock`
    private let lock = NSLock()
    private var value: Value?

    init(_ value: Value? = nil) { self.value = value }

    func put(_ value: Value) { lock.withLock { self.value = value } }
    func peek() -> Value? { lock.withLock { value } }
    func take() -> Value? {
        lock.withLock {
            defer { value = nil }
            return value
        }
    }
}
