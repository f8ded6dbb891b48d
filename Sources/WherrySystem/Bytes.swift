// Wherry: bytes that are received once and lent many times.
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// An immutable run of bytes on the heap, shared by reference.
@usableFromInline
package final class ByteStorage: @unchecked Sendable {  // never changes after init
    @usableFromInline package let base: UnsafeMutableRawPointer?
    @usableFromInline package let count: Int
    /// Whose memory it is a part of; `nil` where it is its own.
    private let owner: ByteStorage?
    /// Where its memory goes afterwards; `nil` is `free`.
    private let pool: BlockPool?

    /// Takes over memory from malloc; it is given back to `pool`, or to free.
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

    /// No bytes.
    public init() { storage = nil }

    package init(_ storage: ByteStorage) { self.storage = storage.count == 0 ? nil : storage }

    /// A copy of the bytes of `buffer`. Ends the program where there is no memory for it, as making
    /// an array does.
    public init(copying buffer: UnsafeRawBufferPointer) {
        guard let copy = Bytes(copyingIfPossible: buffer) else {
            fatalError("There is no memory for a copy of \(buffer.count) bytes")
        }
        self = copy
    }

    /// A copy of the bytes of `buffer`; `nil` if there is no memory for it. For what others choose
    /// the size of.
    package init?(copyingIfPossible buffer: UnsafeRawBufferPointer) {
        guard buffer.count > 0, let source = buffer.baseAddress else {
            storage = nil
            return
        }
        guard let base = malloc(buffer.count) else { return nil }
        memcpy(base, source, buffer.count)
        storage = ByteStorage(taking: base, count: buffer.count)
    }

    /// A copy of the elements of `bytes`.
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

    /// The UTF-8 form of `text`.
    public init(_ text: String) {
        var text = text
        self = text.withUTF8 { Bytes(copying: UnsafeRawBufferPointer($0)) }
    }

    public init(arrayLiteral elements: UInt8...) { self.init(elements) }

    public var startIndex: Int { 0 }
    public var endIndex: Int { storage?.count ?? 0 }

    public subscript(position: Int) -> UInt8 {
        precondition(position >= 0 && position < count, "an index outside of the bytes")
        return storage!.base!.load(fromByteOffset: position, as: UInt8.self)
    }

    /// Calls `body` with the bytes in place. The pointer is good inside `body` only.
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

    /// Where the bytes lie, good as long as these bytes or a copy of them live; `nil` for none.
    package var lent: UnsafeMutableRawPointer? { storage?.base }

    /// The bytes as text; sequences that are not UTF-8 become U+FFFD.
    public var text: String {
        withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }

    /// A copy as an array.
    public var array: [UInt8] { withUnsafeBytes { Array($0) } }

    /// A copy of a part as an array.
    package func array(_ part: Range<Int>) -> [UInt8] { withUnsafeBytes { Array($0[part]) } }

    /// A part of these bytes, which shares their memory and so keeps all of it.
    package func part(_ part: Range<Int>) -> Bytes {
        guard let storage, part != 0..<storage.count else {
            precondition(part == 0..<count, "a part outside of no bytes")
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

/// A growing run of bytes whose memory is handed over, not copied, at the end.
///
/// Growth is checked: where no memory can be had, `append` answers `false` and nothing changes,
/// since sizes here are chosen by the peer.
package struct ByteBuffer: ~Copyable {
    @usableFromInline var base: UnsafeMutableRawPointer?
    @usableFromInline var filled = 0
    @usableFromInline var capacity = 0
    /// Whose block the memory is; `nil` where it is nobody's.
    @usableFromInline var pool: BlockPool?

    @inlinable package var count: Int { filled }

    @inlinable
    package init() {}

    deinit { BlockPool.release(base, to: pool) }

    /// Makes room for `total` bytes in all. `false` if there is no memory.
    @inlinable
    package mutating func reserve(_ total: Int) -> Bool {
        guard total > capacity else { return true }
        guard let grown = realloc(base, total) else { return false }
        base = grown
        capacity = total
        // It is no block any more.
        pool = nil
        return true
    }

    /// Makes room for a block of the pool, of one that has no memory yet. `false` if there is none.
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

    @inlinable
    package mutating func removeAll() { filled = 0 }

    /// Gives memory back that is more than so many bytes.
    package mutating func trim(to most: Int) {
        guard capacity > most else { return }
        BlockPool.release(base, to: pool)
        pool = nil
        base = nil
        filled = 0
        capacity = 0
    }

    /// Takes the last byte away, if there is one.
    package mutating func dropLast() { filled = Swift.max(0, count - 1) }

    @inlinable
    package mutating func append(_ text: StaticString, _ length: Int) -> Bool {
        append(UnsafeRawPointer(text.utf8Start), length)
    }

    /// The bytes in place, until the next change.
    @inlinable
    package var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: base, count: count)
    }

    /// Hands the bytes over and is empty afterwards.
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
