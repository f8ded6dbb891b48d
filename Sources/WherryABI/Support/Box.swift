// Wherry: mutable values behind handles.
// SPDX-License-Identifier: Apache-2.0

import Glibc
import WherryCore
import WherryHTTP

/// A few locks shared by many objects, so that a request needs no separate lock. Never hold two.
final class Stripes: @unchecked Sendable {  // the pointer never changes
    static let shared = Stripes()

    private static let count = 64
    private let locks: UnsafeMutablePointer<pthread_mutex_t>

    private init() {
        locks = .allocate(capacity: Self.count)
        restart()
    }

    /// Unlocks all locks in a forked child, whichever thread held them.
    func restart() {
        for index in 0..<Self.count { pthread_mutex_init(locks + index, nil) }
    }

    @inline(__always)
    func lock(of object: AnyObject) -> UnsafeMutablePointer<pthread_mutex_t> {
        let address = UInt(bitPattern: Unmanaged.passUnretained(object).toOpaque())
        return locks + Int((address >> 5) & UInt(Self.count - 1))
    }
}

/// A value that a handle refers to.
protocol BoxedValue {
    static var kind: HandleKind { get }
}

/// The object of a value's handle. One stripe guards it, so that sharing it between threads is
/// safe.
final class Box<Value: BoxedValue>: HandleObject, @unchecked Sendable {  // guarded by its stripe
    static var kind: HandleKind { Value.kind }

    private var value: Value
    /// Whether another object owns it, so that it must not be freed.
    let isLent: Bool

    init(_ value: Value, isLent: Bool = false) {
        self.value = value
        self.isLent = isLent
    }

    @inline(__always)
    func with<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let lock = Stripes.shared.lock(of: self)
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        return try body(&value)
    }
}

extension Handles {
    /// Changes the value of a handle.
    @inline(__always)
    static func change<Value: BoxedValue, Result>(
        _ pointer: OpaquePointer?, _ type: Value.Type, name: StaticString? = nil,
        _ body: (inout Value) throws(WherryError) -> Result
    ) throws(WherryError) -> Result {
        try get(pointer, Box<Value>.self, name: name).with(body)
    }

    /// Frees the handle of a value that the caller owns.
    static func freeOwned<Value: BoxedValue>(
        _ pointer: OpaquePointer?, _ type: Value.Type
    ) throws(WherryError) {
        guard let pointer else { return }
        if try get(pointer, Box<Value>.self).isLent { throw .lent }
        try free(pointer, Box<Value>.self)
    }
}

extension WherryError {
    static let lent = WherryError(
        .wrongState, "The handle belongs to an event. Free the event instead.")
}
