// Wherry: a mutex that owns its state.
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A mutual-exclusion lock around a value, which is accessible only while the lock is held.
///
/// Uses a `pthread_mutex_t` on the heap: `Synchronization.Mutex` spins on a futex that
/// ThreadSanitizer cannot see, which leads to false reports.
///
/// Public, like the rest of this file, only so that other modules can inline it; no product exports
/// this module.
///
/// Not recursive. Hold it for a few instructions only: no I/O, no user code, no continuations.
public struct Lock<State>: ~Copyable, @unchecked Sendable {  // guarded by the mutex
    /// The mutex and the state behind it, in one allocation with a stable address.
    @usableFromInline let memory: UnsafeMutableRawPointer

    @inlinable
    static var stateOffset: Int {
        let alignment = MemoryLayout<State>.alignment
        return (MemoryLayout<pthread_mutex_t>.size + alignment - 1) & ~(alignment - 1)
    }

    @inlinable
    var mutex: UnsafeMutablePointer<pthread_mutex_t> {
        memory.assumingMemoryBound(to: pthread_mutex_t.self)
    }

    @inlinable
    var state: UnsafeMutablePointer<State> {
        (memory + Self.stateOffset).assumingMemoryBound(to: State.self)
    }

    @inlinable
    public init(_ state: consuming State) {
        memory = Self.allocate()
        let mutex = memory.bindMemory(to: pthread_mutex_t.self, capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
        (memory + Self.stateOffset).bindMemory(to: State.self, capacity: 1).initialize(to: state)
    }

    @inlinable
    deinit {
        pthread_mutex_destroy(mutex)
        state.deinitialize(count: 1)
        free(memory)
    }

    /// Not `UnsafeMutableRawPointer.allocate`, which calls `posix_memalign` for every alignment, at twice
    /// the cost.
    @inlinable
    static func allocate() -> UnsafeMutableRawPointer {
        precondition(MemoryLayout<State>.alignment <= 16, "malloc aligns to 16 bytes")
        guard let memory = malloc(stateOffset + MemoryLayout<State>.size) else {
            fatalError("No memory for a lock")
        }
        return memory
    }

    /// Runs `body` with the lock held and returns its result.
    @inlinable
    @inline(__always)
    public func withLock<Result, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&state.pointee)
    }
}

/// A lock with a condition variable, on which threads wait for a change of the state.
public final class Monitor<State>: @unchecked Sendable {  // guarded by `mutex`
    @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>
    @usableFromInline let condition: UnsafeMutablePointer<pthread_cond_t>
    // The mutex prevents overlapping access; checking each access would cost as much as the lock.
    @exclusivity(unchecked) @usableFromInline var state: State

    package init(_ state: State) {
        mutex = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        condition = .allocate(capacity: 1)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
        self.state = state
    }

    deinit {
        pthread_cond_destroy(condition)
        condition.deallocate()
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    @inlinable
    @inline(__always)
    public func withLock<Result, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&state)
    }

    /// Runs `body` with the lock held, then wakes all waiting threads.
    @inlinable
    public func update<Result>(_ body: (inout State) -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer {
            pthread_cond_broadcast(condition)
            pthread_mutex_unlock(mutex)
        }
        return body(&state)
    }

    /// Wakes all waiting threads. May be called with the lock held.
    @inlinable
    public func notify() { pthread_cond_broadcast(condition) }

    /// Wakes one waiting thread, if it does not matter which one.
    package func notifyOne() { pthread_cond_signal(condition) }

    /// Waits until `body` returns a value and returns that value; `nil` on timeout.
    ///
    /// - Parameter timeout: Real time in nanoseconds; `nil` waits forever.
    package func wait<Result>(
        timeout: Int64? = nil, until body: (inout State) -> Result?
    ) -> Result? {
        var deadline = timespec()
        if let timeout {
            clock_gettime(CLOCK_MONOTONIC, &deadline)
            let nanoseconds = Int64(deadline.tv_nsec) + max(0, timeout) % 1_000_000_000
            deadline.tv_sec = deadline.tv_sec.addingSaturating(
                Int(max(0, timeout) / 1_000_000_000) + Int(nanoseconds / 1_000_000_000))
            deadline.tv_nsec = Int(nanoseconds % 1_000_000_000)
        }
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            if let result = body(&state) { return result }
            if timeout == nil {
                pthread_cond_wait(condition, mutex)
            } else if pthread_cond_timedwait(condition, mutex, &deadline) == ETIMEDOUT {
                return body(&state)
            }
        }
    }
}

extension FixedWidthInteger {
    /// Returns the sum, clamped to the range of the type.
    @inlinable
    package func addingSaturating(_ other: Self) -> Self {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }
}
