// Wherry: the one way from handles to objects and back.
// SPDX-License-Identifier: Apache-2.0

import WherryCore

extension WherryError {
    /// Names the argument, which has the name of its kind, and what it is instead.
    static func badHandle(_ pointer: OpaquePointer?, _ kind: HandleKind) -> WherryError {
        let why: String
        switch pointer.map({ Handle($0).kind }) {
        case nil: why = "it is NULL"
        case kind.rawValue: why = "the handle was freed, or never existed"
        case .some(let other):
            why = HandleKind(rawValue: other).map { "it is a handle of kind \($0.word)" }
                ?? "it is no handle"
        }
        return WherryError(
            .badHandle,
            "The argument \(kind.word) is invalid: \(why). Pass a wherry_\(kind.word) that was not freed")
    }
    static let inheritedHandle = WherryError(
        .forked, "The handle is one of the process that this one was forked from: make another")
    static let noHandles = WherryError(
        .noMemory, "There is no room for another handle: free those that are not needed any more")
}

/// Handles of this process.
enum Handles {
    static let table = HandleTable()

    /// The object behind a handle.
    @inline(__always)
    static func get<Object: HandleObject>(
        _ pointer: OpaquePointer?, _ type: Object.Type = Object.self
    ) throws(WherryError) -> Object {
        guard let pointer, let object = table.object(pointer, Object.kind) else {
            throw unknown(pointer, Object.kind)
        }
        // The table has checked the kind, and each kind has one class.
        return unsafeDowncast(object, to: Object.self)
    }

    /// A new handle, written to where the caller wants it.
    static func give<Object: HandleObject>(
        _ object: Object, to out: UnsafeMutablePointer<OpaquePointer?>
    ) throws(WherryError) {
        out.pointee = try add(object)
    }

    static func add<Object: HandleObject>(_ object: Object) throws(WherryError) -> OpaquePointer {
        guard let pointer = table.add(object, Object.kind) else { throw .noHandles }
        return pointer
    }

    /// Ends a handle. `nil` for NULL, which is fine.
    @discardableResult
    static func free<Object: HandleObject>(
        _ pointer: OpaquePointer?, _ type: Object.Type
    ) throws(WherryError) -> Object? {
        guard let pointer else { return nil }
        guard let object = table.remove(pointer, Object.kind) else { throw unknown(pointer, Object.kind) }
        return unsafeDowncast(object, to: Object.self)
    }

    /// Why there is no object behind a handle.
    private static func unknown(_ pointer: OpaquePointer?, _ kind: HandleKind) -> WherryError {
        pointer.map { table.isInherited($0) } == true
            ? .inheritedHandle : .badHandle(pointer, kind)
    }

    /// Ends handles that an object has lent, when that object ends.
    static func end(_ pointer: OpaquePointer, _ kind: HandleKind) {
        // In a forked child the table's lock may be held for ever.
        guard !ForkGate.isForked else { return }
        _ = table.remove(pointer, kind)
    }
}
