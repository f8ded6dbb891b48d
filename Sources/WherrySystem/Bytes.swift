// Wherry: immutable shared bytes, and the buffer that builds them.
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// An immutable, reference-counted block of heap memory.
@usableFromInline
package final class ByteStorage: @unchecked Sendable {  // never changes after init
    @usableFromInline package let base: UnsafeMutableRawPointer?
    @usableFromInline package let count: Int
    /// The storage that owns the memory; `nil` if this object owns it.
    private let owner: ByteStorage?
    /// The pool that receives the memory on release; `nil` for `free`.
    private let pool: BlockPool?

    /// Takes ownership of memory from malloc. Releases it to `pool`, or with `free`.
    package init(
        taking base: UnsafeMutableRawPointer?, count: Int, givingBackTo pool: BlockPool? = nil
    ) {
        self.base = base
        self.count = base == nil ? 0 : count
        self.pool = pool
        owner = nil
    }

    fileprivate init(_ part: Range<Int>, of owner: ByteStorage) {
        precondition(part.lowerBound >= 0 && part.upperBound <= owner.count, "a part outside")
        base = owner.base.map { $0 + part.lowerBound }
        count = part.count
        self.owner = owner
        pool = nil
    }

    deinit { if owner == nil { BlockPool.release(base, to: pool) } }
}

/// An immutable sequence of bytes. Copies share the memory.
public struct Bytes: Sendable, RandomAccessCollection, ExpressibleByArrayLiteral {
    @usableFromInline package let storage: ByteStorage?

    /// Creates an empty sequence.
    public init() { storage = nil }

    package init(_ storage: ByteStorage) { self.storage = storage.count == 0 ? nil : storage }

    /// Copies the bytes of `buffer`. Terminates the program if out of memory, as creating an array
    /// does.
    public init(copying buffer: UnsafeRawBufferPointer) {
        guard let copy = Bytes(copyingIfPossible: buffer) else {
            fatalError("Not enough memory for a copy of \(buffer.count) bytes")
        }
        self = copy
    }

    /// Copies the bytes of `buffer`, whose size the peer may have chosen. `nil` if out of memory.
    package init?(copyingIfPossible buffer: UnsafeRawBufferPointer) {
        guard buffer.count > 0, let source = buffer.baseAddress else {
            storage = nil
            return
        }
        guard let base = malloc(buffer.count) else { return nil }
        memcpy(base, source, buffer.count)
        storage = ByteStorage(taking: base, count: buffer.count)
    }

    /// Copies the elements of `bytes`.
    @inlinable
    public init(_ bytes: some Sequence<UInt8>) {
        if let copied = bytes.withContiguousStorageIfAvailable({
            Bytes(copying: UnsafeRawBufferPointer($0))
        }) {
            self = copied
        } else {
            self = Array(bytes).withUnsafeBytes { Bytes(copying: $0) }
        }
    }

    /// Copies the UTF-8 form of `text`.
    public init(_ text: String) {
        var text = text
        self = text.withUTF8 { Bytes(copying: UnsafeRawBufferPointer($0)) }
    }

    public init(arrayLiteral elements: UInt8...) { self.init(elements) }

    public var startIndex: Int { 0 }
    public var endIndex: Int { storage?.count ?? 0 }

    public subscript(position: Int) -> UInt8 {
        precondition(position >= 0 && position < count, "the index is out of range")
        return storage!.base!.load(fromByteOffset: position, as: UInt8.self)
    }

    /// Calls `body` with the bytes. The pointer is valid inside `body` only.
    @inlinable
    public func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeRawBufferPointer(start: storage?.base, count: storage?.count ?? 0))
    }

    public func withContiguousStorageIfAvailable<Result>(
        _ body: (UnsafeBufferPointer<UInt8>) throws -> Result
    ) rethrows -> Result? {
        let buffer = UnsafeRawBufferPointer(start: storage?.base, count: storage?.count ?? 0)
        return try body(buffer.bindMemory(to: UInt8.self))
    }

    /// A pointer that is valid as long as these bytes or a copy of them live; `nil` if empty.
    package var lent: UnsafeMutableRawPointer? { storage?.base }

    /// The bytes as UTF-8 text; invalid sequences become U+FFFD.
    public var text: String {
        withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }

    /// A copy of the bytes as an array.
    public var array: [UInt8] { withUnsafeBytes { Array($0) } }

    /// Returns a range of the bytes as an array.
    package func array(_ part: Range<Int>) -> [UInt8] { withUnsafeBytes { Array($0[part]) } }

    /// Returns a range of these bytes. It shares the memory, and so keeps the full memory alive.
    package func part(_ part: Range<Int>) -> Bytes {
        guard let storage, part != 0..<storage.count else {
            precondition(part == 0..<count, "the range is out of bounds")
            return self
        }
        return Bytes(ByteStorage(part, of: storage))
    }
}

extension Bytes: Equatable {
    public static func == (a: Bytes, b: Bytes) -> Bool {
        guard a.count == b.count else { return false }
        guard a.count > 0, a.storage !== b.storage else { return true }
        return memcmp(a.storage!.base!, b.storage!.base!, a.count) == 0
    }
}

extension Bytes: CustomStringConvertible {
    public var description: String { "\(count) bytes" }
}

/// A growing byte buffer that hands over its memory without a copy.
///
/// Peers choose the sizes here, so growth is checked: if memory runs out, `append` returns `false`
/// and changes nothing.
package struct ByteBuffer: ~Copyable {
    @usableFromInline var base: UnsafeMutableRawPointer?
    @usableFromInline var filled = 0
    @usableFromInline var capacity = 0
    /// The pool that the memory belongs to; `nil` for malloc memory.
    @usableFromInline var pool: BlockPool?

    @inlinable package var count: Int { filled }

    @inlinable
    package init() {}

    deinit { BlockPool.release(base, to: pool) }

    /// Reserves capacity for `total` bytes. Returns `false` if out of memory.
    @inlinable
    package mutating func reserve(_ total: Int) -> Bool {
        guard total > capacity else { return true }
        guard let grown = realloc(base, total) else { return false }
        base = grown
        capacity = total
        // The reallocated memory no longer belongs to the pool.
        pool = nil
        return true
    }

    /// Takes a block of the pool if the buffer has no memory yet. Returns `false` if out of memory.
    package mutating func reserve(from pool: BlockPool) -> Bool {
        guard base == nil else { return reserve(pool.blockSize) }
        guard let block = pool.take() else { return false }
        base = block
        capacity = pool.blockSize
        self.pool = pool
        return true
    }

    @inlinable
    package mutating func append(_ source: UnsafeRawPointer, _ length: Int) -> Bool {
        guard length > 0 else { return true }
        let (total, overflow) = count.addingReportingOverflow(length)
        if overflow { return false }
        if total > capacity && !reserve(Swift.max(total, 2 &* capacity, 256)) { return false }
        memcpy(base! + count, source, length)
        filled = total
        return true
    }

    @inlinable
    package mutating func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let start = bytes.baseAddress else { return true }
        return append(start, bytes.count)
    }

    /// Appends a part of contents of `expected` bytes. Reserves memory for the complete contents at most.
    package mutating func append(_ bytes: UnsafeRawBufferPointer, of expected: Int) -> Bool {
        let total = count + bytes.count
        if total > capacity, total <= expected,
            !reserve(Swift.min(expected, Swift.max(total, 2 * capacity)))
        {
            return false
        }
        return append(bytes)
    }

    @inlinable
    package mutating func removeAll() { filled = 0 }

    /// Releases the memory, including its contents, if its capacity exceeds `most` bytes.
    package mutating func trim(to most: Int) {
        guard capacity > most else { return }
        BlockPool.release(base, to: pool)
        pool = nil
        base = nil
        filled = 0
        capacity = 0
    }

    /// Removes the last byte, if any.
    package mutating func dropLast() { filled = Swift.max(0, count - 1) }

    @inlinable
    package mutating func append(_ text: StaticString, _ length: Int) -> Bool {
        append(UnsafeRawPointer(text.utf8Start), length)
    }

    /// The bytes, valid until the next change.
    @inlinable
    package var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: base, count: count)
    }

    /// Returns the bytes without a copy, and empties the buffer.
    package mutating func take() -> Bytes {
        guard count > 0, let memory = base else { return Bytes() }
        let storage = ByteStorage(taking: memory, count: count, givingBackTo: pool)
        base = nil
        filled = 0
        capacity = 0
        pool = nil
        return Bytes(storage)
    }
}
