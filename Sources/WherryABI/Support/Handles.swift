// Wherry: conversion between handles and objects.
// SPDX-License-Identifier: Apache-2.0

import WherryCore
import WherryHTTP

extension WherryError {
    /// Returns an error that names the argument and says what was passed instead.
    ///
    /// - Parameter name: The name of the argument in wherry.h, if it is not that of its kind.
    static func badHandle(
        _ pointer: OpaquePointer?, _ kind: HandleKind, name: StaticString? = nil
    ) -> WherryError {
        let why: String
        switch pointer.map({ Handle($0).kind }) {
        case nil: why = "it is NULL"
        case kind.rawValue: why = "the handle was freed, or never existed"
        case .some(let other):
            why =
                HandleKind(rawValue: other).map { "it is a handle of kind \($0.word)" }
                ?? "it is not a handle"
        }
        return WherryError(
            .badHandle,
            "The argument \(name?.description ?? kind.word) is invalid: \(why). Pass a wherry_\(kind.word) that was not freed"
        )
    }
    static let inheritedHandle = WherryError(
        .forked, "The handle was created before this process was forked. Create another one.")
    static let noHandles = WherryError(
        .noMemory, "Too many handles are in use. Free those that you no longer need.")
}

/// The handles of this process.
enum Handles {
    static let table = HandleTable()

    /// Returns the object of a handle.
    ///
    /// - Parameter name: The name of the argument in wherry.h, if it is not that of its kind.
    @inline(__always)
    static func get<Object: HandleObject>(
        _ pointer: OpaquePointer?, _ type: Object.Type = Object.self, name: StaticString? = nil
    ) throws(WherryError) -> Object {
        guard let pointer, let object = table.object(pointer, Object.kind) else {
            throw unknown(pointer, Object.kind, name)
        }
        // The table has checked the kind, and each kind has one class.
        return unsafeDowncast(object, to: Object.self)
    }

    /// Writes a new handle to the caller's output pointer.
    static func give<Object: HandleObject>(
        _ object: Object, to out: UnsafeMutablePointer<OpaquePointer?>
    ) throws(WherryError) {
        out.pointee = try add(object)
    }

    static func add<Object: HandleObject>(_ object: Object) throws(WherryError) -> OpaquePointer {
        guard let pointer = table.add(object, Object.kind) else { throw .noHandles }
        return pointer
    }

    /// Frees a handle. Returns `nil` for NULL, which is allowed.
    @discardableResult
    static func free<Object: HandleObject>(
        _ pointer: OpaquePointer?, _ type: Object.Type, name: StaticString? = nil
    ) throws(WherryError) -> Object? {
        guard let pointer else { return nil }
        guard let object = table.remove(pointer, Object.kind) else {
            throw unknown(pointer, Object.kind, name)
        }
        return unsafeDowncast(object, to: Object.self)
    }

    /// Returns why a handle has no object.
    private static func unknown(
        _ pointer: OpaquePointer?, _ kind: HandleKind, _ name: StaticString?
    ) -> WherryError {
        pointer.map { table.isInherited($0) } == true
            ? .inheritedHandle : .badHandle(pointer, kind, name: name)
    }

    /// Frees handles that an object lent out, when that object ends.
    static func end(_ pointer: OpaquePointer, _ kind: HandleKind) {
        // In a forked child the table's lock may be held forever.
        guard !ForkGate.isForked else { return }
        _ = table.remove(pointer, kind)
    }
}
