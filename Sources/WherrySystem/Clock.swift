// Wherry: the monotonic clock, and a manual clock for tests.
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A point in monotonic time, in nanoseconds since an arbitrary moment.
package struct Instant: Hashable, Comparable, Sendable {
    package var nanoseconds: Int64

    @inlinable package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// An instant after all others; the value of "no deadline".
    package static let never = Instant(nanoseconds: .max)

    @inlinable package static func < (a: Instant, b: Instant) -> Bool {
        a.nanoseconds < b.nanoseconds
    }

    /// Returns the instant that is `nanoseconds` later. Saturates.
    @inlinable package func advanced(by nanoseconds: Int64) -> Instant {
        Instant(nanoseconds: self.nanoseconds.addingSaturating(nanoseconds))
    }

    /// Returns the nanoseconds from `earlier` to this instant; negative if `earlier` is later.
    @inlinable package func since(_ earlier: Instant) -> Int64 {
        nanoseconds.subtractingReportingOverflow(earlier.nanoseconds).partialValue
    }
}

/// The source of time for deadlines, ages, and speeds. Tests pass a `ManualClock`.
package protocol Clock: AnyObject, Sendable {
    func now() -> Instant
    /// Returns seconds since 1970, to compare with dates from servers and files.
    func wallSeconds() -> Double
    /// Returns the real time in nanoseconds that a thread may sleep for a span of clock time; `nil`
    /// if only a manual advance can end the span.
    func realDelay(for nanoseconds: Int64) -> Int64?
    /// Calls `body` after each manual advance while the returned observation exists.
    func observe(_ body: @escaping @Sendable () -> Void) -> ClockObservation?
}

extension Clock {
    /// Calls `body` with the observer after each manual advance. Does not retain the observer.
    ///
    /// Creates no weak reference for the system clock, which is never advanced manually. Swift
    /// stores the reference counts of weakly referenced objects in a side table behind a packed
    /// pointer. Leak detectors do not see that pointer and report the table for objects that live
    /// as long as the process.
    package func observe<Observer: AnyObject & Sendable>(
        for observer: Observer, _ body: @escaping @Sendable (Observer) -> Void
    ) -> ClockObservation? {
        guard !(self is SystemClock) else { return nil }
        return observe { [weak observer] in
            if let observer { body(observer) }
        }
    }
}

/// A token for a clock observation; releasing it ends the observation.
package final class ClockObservation: Sendable {
    private let cancel: @Sendable () -> Void
    init(cancel: @escaping @Sendable () -> Void) { self.cancel = cancel }
    deinit { cancel() }
}

/// The system clock: CLOCK_MONOTONIC and the wall clock.
package final class SystemClock: Clock {
    package static let shared = SystemClock()

    package init() {}

    package func now() -> Instant {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Instant(nanoseconds: Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec))
    }

    package func wallSeconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    package func realDelay(for nanoseconds: Int64) -> Int64? { nanoseconds }
    package func observe(_ body: @escaping @Sendable () -> Void) -> ClockObservation? { nil }
}

/// A clock that changes only by `advance`. Before the first advance it can follow the system clock.
package final class ManualClock: Clock {
    private struct State {
        var manual: Bool
        var now: Instant
        var wall: Double
        var nextObserver = 0
        var observers: [Int: @Sendable () -> Void] = [:]
    }
    private let state: Lock<State>

    /// - Parameter manual: `false` follows the system clock until the first `advance`.
    package init(manual: Bool = true) {
        let system = SystemClock.shared
        state = Lock(State(manual: manual, now: system.now(), wall: system.wallSeconds()))
    }

    package func now() -> Instant {
        state.withLock { $0.manual ? $0.now : SystemClock.shared.now() }
    }

    package func wallSeconds() -> Double {
        state.withLock { $0.manual ? $0.wall : SystemClock.shared.wallSeconds() }
    }

    package func realDelay(for nanoseconds: Int64) -> Int64? {
        state.withLock { $0.manual ? nil : nanoseconds }
    }

    package func observe(_ body: @escaping @Sendable () -> Void) -> ClockObservation? {
        let key = state.withLock { state in
            state.nextObserver += 1
            state.observers[state.nextObserver] = body
            return state.nextObserver
        }
        return ClockObservation { [weak self] in
            self?.state.withLock { _ = $0.observers.removeValue(forKey: key) }
        }
    }

    /// Advances the clock and wakes all sleepers.
    package func advance(by nanoseconds: Int64) {
        let observers = state.withLock { state in
            if !state.manual {
                state.manual = true
                state.now = SystemClock.shared.now()
                state.wall = SystemClock.shared.wallSeconds()
            }
            // `never` must not become due, so stop just before it.
            let last = Instant(nanoseconds: Instant.never.nanoseconds - 1)
            state.now = min(state.now.advanced(by: max(0, nanoseconds)), last)
            state.wall += Double(max(0, nanoseconds)) / 1e9
            return Array(state.observers.values)
        }
        for observer in observers { observer() }
    }
}

extension Int64 {
    /// Converts milliseconds to nanoseconds; saturates.
    package static func milliseconds(_ count: Int64) -> Int64 {
        let (product, overflow) = count.multipliedReportingOverflow(by: 1_000_000)
        return overflow ? (count < 0 ? .min : .max) : product
    }
}

extension Duration {
    /// The duration in milliseconds, rounded up, at least 0; saturates.
    package var wholeMilliseconds: Int64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        if overflow { return .max }
        return product.addingSaturating((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }

    /// The duration in nanoseconds; saturates.
    package var nanosecondsSaturating: Int64 { .milliseconds(wholeMilliseconds) }
}
