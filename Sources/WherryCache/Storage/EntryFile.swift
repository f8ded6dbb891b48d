// Wherry: the file format of cache entries.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// A cache file: a header with lengths, times and checksums, the full key, the owner's description
/// of the body, and the body.
///
/// Checksums cover every byte, so that any damage is detected (SEC-C4). Numbers are little-endian.
///
///     0  magic "WhrC"        16  body length                40  CRC-32C of the body
///     4  version, 16 bits    24  stored at, ms since 1970   44  CRC-32C of the header except this
///     6  kind, 16 bits       32  useless after, ms          48  the key, then the description
///     8  header length
///     12 key length
package struct EntryFile: Sendable, Equatable {
    package enum Kind: UInt16, Sendable {
        case response = 1
        /// The header lists that the responses of a URL vary by.
        case index = 2
    }

    /// "WhrC".
    static let magic: UInt32 = 0x4372_6857
    /// Files of other versions are ignored.
    static let version: UInt16 = 2
    static let fixedCount = 48
    /// The maximum header length; response headers may take 300 KiB.
    static let mostHead = 1 << 20

    package var kind: Kind
    /// Compared when reading: file names are digests, for which collisions may be forced (SEC-C1).
    package var key: [UInt8]
    package var description: [UInt8]
    package var body: Bytes
    /// Milliseconds since 1970.
    package var storedAt: Int64
    /// The time after which a sweep may remove the file; `Int64.max` for never.
    package var uselessAfter: Int64

    package init(
        _ kind: Kind = .response, key: [UInt8], description: [UInt8], body: Bytes = Bytes(),
        storedAt: Int64, uselessAfter: Int64 = .max
    ) {
        self.kind = kind
        self.key = key
        self.description = description
        self.body = body
        self.storedAt = storedAt
        self.uselessAfter = uselessAfter
    }

    /// The number of bytes before the body.
    package var headCount: Int { Self.fixedCount + key.count + description.count }

    // MARK: Writing

    /// Returns the file in two pieces; `nil` if the header would be too large to be read again.
    package func encoded() -> [Bytes]? {
        guard headCount <= Self.mostHead else { return nil }
        var writer = BinaryWriter()
        writer.integer(Self.magic)
        writer.integer(Self.version)
        writer.integer(kind.rawValue)
        writer.integer(UInt32(headCount))
        writer.integer(UInt32(key.count))
        writer.integer(UInt64(body.count))
        writer.integer(storedAt)
        writer.integer(uselessAfter)
        writer.integer(Checksum.of(body))
        let fixed = writer.bytes
        let rest = key + description
        writer.integer(Checksum.of(fixed + rest))
        writer.raw(rest)
        return [Bytes(writer.bytes), body]
    }

    // MARK: Reading

    /// Parses a file; `nil` if it is damaged, has another version, or is not an entry. The body
    /// shares the memory of `bytes`.
    package init?(_ bytes: Bytes) {
        guard let head = Head(bytes), head.headCount <= bytes.count,
            head.bodyCount == UInt64(bytes.count - head.headCount)
        else { return nil }
        self.init(head, bytes)
        body = bytes.part(head.headCount..<bytes.count)
        guard Checksum.of(body) == head.bodyChecksum else { return nil }
    }

    /// Parses the header of a file of the given size. The body is empty and not verified.
    package init?(head bytes: [UInt8], fileSize: Int64) {
        let bytes = Bytes(bytes)
        guard let head = Head(bytes), head.headCount <= bytes.count,
            UInt64(head.headCount).addingReportingOverflow(head.bodyCount)
                == (UInt64(clamping: fileSize), false)
        else { return nil }
        self.init(head, bytes)
    }

    private init?(_ head: Head, _ bytes: Bytes) {
        guard head.keyCount <= head.headCount - Self.fixedCount else { return nil }
        var checksum = Checksum()
        checksum.update(bytes, 0..<44)
        checksum.update(bytes, Self.fixedCount..<head.headCount)
        guard checksum.value == head.headChecksum else { return nil }
        let end = Self.fixedCount + head.keyCount
        kind = head.kind
        key = bytes.array(Self.fixedCount..<end)
        description = bytes.array(end..<head.headCount)
        body = Bytes()
        storedAt = head.storedAt
        uselessAfter = head.uselessAfter
    }

    private struct Head {
        let kind: Kind
        let headCount: Int
        let keyCount: Int
        let bodyCount: UInt64
        let storedAt: Int64
        let uselessAfter: Int64
        let bodyChecksum: UInt32
        let headChecksum: UInt32

        init?(_ bytes: Bytes) {
            guard bytes.count >= EntryFile.fixedCount else { return nil }
            var reader = BinaryReader(bytes.array(0..<EntryFile.fixedCount))
            guard reader.integer(UInt32.self) == EntryFile.magic,
                reader.integer(UInt16.self) == EntryFile.version,
                let kind = reader.integer(UInt16.self).flatMap({ Kind(rawValue: $0) }),
                let headCount = reader.integer(UInt32.self),
                let keyCount = reader.integer(UInt32.self),
                let bodyCount = reader.integer(UInt64.self),
                let storedAt = reader.integer(Int64.self),
                let uselessAfter = reader.integer(Int64.self),
                let bodyChecksum = reader.integer(UInt32.self),
                let headChecksum = reader.integer(UInt32.self),
                Int(headCount) >= EntryFile.fixedCount, Int(headCount) <= EntryFile.mostHead
            else { return nil }
            self.kind = kind
            self.headCount = Int(headCount)
            self.keyCount = Int(keyCount)
            self.bodyCount = bodyCount
            self.storedAt = storedAt
            self.uselessAfter = uselessAfter
            self.bodyChecksum = bodyChecksum
            self.headChecksum = headChecksum
        }
    }
}
