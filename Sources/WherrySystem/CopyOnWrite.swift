// Wherry: a value behind one reference.
// SPDX-License-Identifier: Apache-2.0

/// A value whose copies share one piece of memory until one of them is changed: for what has many
/// members and goes through many hands, since each copy costs one count and not one per member.
///
/// Public only so that other modules compile it into their own code; no product shows this module.
public struct CopyOnWrite<Value: Sendable>: Sendable {
    @usableFromInline
    final class Storage: @unchecked Sendable {  // changed only by its one owner
        @exclusivity(unchecked) @usableFromInline var value: Value
        @inlinable init(_ value: Value) { self.value = value }
    }

    @usableFromInline var storage: Storage

    @inlinable
    public init(_ value: Value) { storage = Storage(value) }

    /// Whether both are copies of which none was changed since.
    @inlinable
    public func isUnchanged(from other: CopyOnWrite) -> Bool { storage === other.storage }

    @inlinable
    public var value: Value {
        _read { yield storage.value }
        _modify {
            if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.value) }
            yield &storage.value
        }
    }
}
