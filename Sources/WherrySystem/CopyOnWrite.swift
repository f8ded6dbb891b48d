// Wherry: a copy-on-write value.
// SPDX-License-Identifier: Apache-2.0

/// A value whose copies share memory until one of them changes.
///
/// For structs with many members that are copied often: a copy costs one reference count instead of
/// one per member.
///
/// Public only so that other modules can inline it; no product exports this module.
public struct CopyOnWrite<Value: Sendable>: Sendable {
    @usableFromInline
    final class Storage: @unchecked Sendable {  // mutated only while uniquely referenced
        @exclusivity(unchecked) @usableFromInline var value: Value
        @inlinable init(_ value: Value) { self.value = value }
    }

    @usableFromInline var storage: Storage

    @inlinable
    public init(_ value: Value) { storage = Storage(value) }

    /// Returns whether two values still share memory, so neither changed since they were copied.
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
