// Wherry: binary encoding of numbers and text.
// SPDX-License-Identifier: Apache-2.0

/// Appends values: little-endian numbers, and bytes prefixed with their count.
package struct BinaryWriter: Sendable {
    package private(set) var bytes: [UInt8] = []

    package init() {}

    package mutating func integer(_ value: some FixedWidthInteger) {
        var rest = value
        for _ in 0..<(value.bitWidth / 8) {
            bytes.append(UInt8(truncatingIfNeeded: rest))
            rest >>= 8
        }
    }

    package mutating func raw(_ more: some Collection<UInt8>) { bytes += more }

    package mutating func counted(_ more: some Collection<UInt8>) {
        integer(UInt32(clamping: more.count))
        bytes += more
    }

    package mutating func text(_ text: String) { counted(text.utf8) }

    /// Appends an optional value.
    package mutating func optional<Value>(
        _ value: Value?, _ write: (inout BinaryWriter, Value) -> Void
    ) {
        integer(UInt8(value == nil ? 0 : 1))
        if let value { write(&self, value) }
    }
}

/// Reads values in the same order; `nil` if the bytes do not contain them.
package struct BinaryReader: Sendable {
    private let bytes: [UInt8]
    private var position = 0

    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Whether all bytes were read.
    package var isAtEnd: Bool { position == bytes.count }

    package mutating func integer<Value: FixedWidthInteger>(_ type: Value.Type) -> Value? {
        let count = Value.bitWidth / 8
        guard bytes.count - position >= count else { return nil }
        var value: Value = 0
        for index in 0..<count {
            value |= Value(truncatingIfNeeded: bytes[position + index]) << (8 * index)
        }
        position += count
        return value
    }

    package mutating func raw(_ count: Int) -> ArraySlice<UInt8>? {
        guard count >= 0, bytes.count - position >= count else { return nil }
        defer { position += count }
        return bytes[position..<(position + count)]
    }

    package mutating func counted() -> ArraySlice<UInt8>? {
        integer(UInt32.self).flatMap { raw(Int($0)) }
    }

    package mutating func text() -> String? {
        counted().map { String(decoding: $0, as: UTF8.self) }
    }

    /// Reads an optional value: `nil` for malformed data, `.some(nil)` for no value.
    package mutating func optional<Value>(
        _ read: (inout BinaryReader) -> Value?
    ) -> Value?? {
        switch integer(UInt8.self) {
        case 0: return .some(nil)
        case 1: return read(&self).map { .some($0) }
        default: return nil
        }
    }
}
