// Wherry: binary format of the download journal.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// The content of a journal: the file that a partial file belongs to, and which of its bytes are
/// durable.
package struct JournalRecord: Hashable, Sendable {
    /// The number of the record. The slot with the higher number is valid.
    package var sequence: UInt64 = 0
    package var id: DownloadID
    /// A random value from the download that took over the partial file last.
    package var owner: [UInt8]
    /// The inode of the partial file. A copy has another one and is not resumed.
    package var inode: UInt64
    /// The length of the partial file when the record was written.
    package var partSize: Int64
    package var identity: DownloadIdentity
    /// The URL for display, truncated to fit into the slot.
    package var url: String
    /// The name of the finished file.
    package var name: String
    package var facts: DownloadFacts
    /// The bytes that were durable before this record was written.
    package var ranges: ByteRanges
}

/// The format of a journal: two slots of 4 KiB, written alternately. A torn write costs one
/// checkpoint instead of the whole download. Numbers are little-endian.
///
///     0  magic "WHRYJRNL"    8  version, flags (2 bytes each)
///     12 CRC-32C of the slot, computed with this field as 0
///     16 sequence   24 id (16)   40 owner (16)   56 inode   64 length of the partial file
///     72 total, -1 unknown   80 generation (4)   84 identity (2 x 32)
///     148 the remaining fields, each text after its length (2 bytes): name,
///     validator (kind, text), encoding, two digests (algorithm, source, bytes),
///     ranges (count, then start and end of each), url. Zeros up to the end.
package enum Journal {
    package static let slotSize = 4096
    package static let fileSize = 2 * slotSize
    package static let version: UInt16 = 1
    package static let maximumRanges = 64
    static let magic = Array("WHRYJRNL".utf8)

    /// Why a slot is unusable. Never fatal: the download restarts (DR21).
    package enum Defect: String, Error, Sendable {
        /// No bytes, or only zeros.
        case empty
        /// Shorter than a slot.
        case short
        /// Not a journal.
        case foreign
        /// Written by an incompatible version.
        case version
        /// The checksum does not match: the slot is torn or damaged.
        case damaged
        /// The checksum matches but the content is invalid.
        case malformed
        /// The journal of another download or of another partial file.
        case mismatch
        /// A link, a device, or a file of another user.
        case unsafe
        /// The file could not be read.
        case unreadable
    }

    /// Returns the 4096 bytes of a slot; `nil` if the record does not fit, which only happens with
    /// extremely long names and encodings.
    package static func encode(_ record: JournalRecord) -> [UInt8]? {
        guard record.owner.count == 16 else { return nil }
        var slot = SlotWriter()
        slot.put(magic)
        slot.put(version)
        slot.put(UInt16(0))
        slot.put(UInt32(0))
        slot.put(record.sequence)
        slot.put(record.id.bytes)
        slot.put(record.owner)
        slot.put(record.inode)
        slot.put(UInt64(bitPattern: record.partSize))
        slot.put(UInt64(bitPattern: record.facts.total ?? -1))
        slot.put(record.facts.generation)
        slot.put(record.identity.whole)
        slot.put(record.identity.withoutQuery)
        slot.put(text: record.name)
        switch record.facts.validator {
        case nil: slot.put(UInt8(0))
        case .entityTag: slot.put(UInt8(1))
        case .lastModified: slot.put(UInt8(2))
        }
        slot.put(text: record.facts.validator?.fieldValue ?? "")
        slot.put(text: record.facts.encoding)
        slot.put(record.facts.expected)
        slot.put(record.facts.announced)
        let ranges = record.ranges.limited(to: maximumRanges).ranges
        slot.put(UInt16(ranges.count))
        for range in ranges {
            slot.put(UInt64(bitPattern: range.lowerBound))
            slot.put(UInt64(bitPattern: range.upperBound))
        }
        let room = slotSize - slot.bytes.count - 2
        guard room >= 0 else { return nil }
        slot.put(text: record.url.cut(toBytes: room))
        slot.bytes += [UInt8](repeating: 0, count: slotSize - slot.bytes.count)
        let sum = Checksum.of(slot.bytes)
        for index in 0..<4 {
            slot.bytes[12 + index] = UInt8(truncatingIfNeeded: sum >> (8 * index))
        }
        return slot.bytes
    }

    /// Parses a slot. Trusts nothing in it before the checksum matches, and never traps.
    package static func decode(_ bytes: some Collection<UInt8>) throws(Defect) -> JournalRecord {
        var bytes = Array(bytes)
        guard bytes.contains(where: { $0 != 0 }) else { throw .empty }
        guard bytes.count == slotSize else { throw .short }
        guard bytes.starts(with: magic) else { throw .foreign }
        var slot = SlotReader(bytes: bytes, position: 8)
        guard slot.number(2) == UInt64(version) else { throw .version }
        _ = slot.number(2)
        let sum = slot.number(4)
        for index in 12..<16 { bytes[index] = 0 }
        guard sum == UInt64(Checksum.of(bytes)) else { throw .damaged }
        guard let record = record(&slot) else { throw .malformed }
        return record
    }

    private static func record(_ slot: inout SlotReader) -> JournalRecord? {
        guard let sequence = slot.number(8),
            let id = slot.take(16).flatMap(DownloadID.init(bytes:)),
            let owner = slot.take(16), let inode = slot.number(8), let partSize = slot.signed(),
            let total = slot.signed(), let generation = slot.number(4), let whole = slot.take(32),
            let withoutQuery = slot.take(32),
            let identity = DownloadIdentity(whole: whole, withoutQuery: withoutQuery),
            let name = slot.text(), let kind = slot.number(1), let validator = slot.text(),
            let encoding = slot.text(), let expected = slot.digest(), let announced = slot.digest(),
            let count = slot.number(2), count <= UInt64(maximumRanges), total >= -1, partSize >= 0
        else { return nil }
        var facts = DownloadFacts()
        facts.generation = UInt32(truncatingIfNeeded: generation)
        facts.total = total < 0 ? nil : total
        switch kind {
        case 0: facts.validator = nil
        case 1: facts.validator = .entityTag(validator)
        case 2: facts.validator = .lastModified(validator)
        default: return nil
        }
        facts.encoding = encoding
        facts.expected = expected
        facts.announced = announced
        facts.name = name.isEmpty ? nil : name
        var ranges = ByteRanges()
        for _ in 0..<count {
            guard let start = slot.signed(), let end = slot.signed(), start >= ranges.end,
                start < end, end <= facts.total ?? Int64.max
            else { return nil }
            ranges.insert(start..<end)
        }
        guard let url = slot.text() else { return nil }
        return JournalRecord(
            sequence: sequence, id: id, owner: owner, inode: inode, partSize: partSize,
            identity: identity, url: url, name: name, facts: facts, ranges: ranges)
    }
}

/// Builds a slot.
private struct SlotWriter {
    var bytes: [UInt8] = []

    mutating func put(_ more: [UInt8]) { bytes += more }

    mutating func put(_ number: some FixedWidthInteger & UnsignedInteger) {
        for index in 0..<(number.bitWidth / 8) {
            bytes.append(UInt8(truncatingIfNeeded: number >> (8 * index)))
        }
    }

    /// Appends a text after its length. A text longer than a slot makes the slot too large.
    mutating func put(text: String) {
        let utf8 = Array(text.utf8)
        put(UInt16(clamping: utf8.count))
        put(utf8)
    }

    mutating func put(_ digest: DownloadDigest?) {
        guard let digest else { return put(UInt8(0)) }
        switch digest.algorithm {
        case .md5: put(UInt8(1))
        case .sha1: put(UInt8(2))
        case .sha256: put(UInt8(3))
        case .sha512: put(UInt8(4))
        case .sha512_256: put(UInt8(5))
        }
        put(digest.source.rawValue)
        put(digest.bytes)
    }
}

/// Reads the fields of a slot; every method returns `nil` beyond the end.
private struct SlotReader {
    let bytes: [UInt8]
    var position: Int

    mutating func take(_ count: Int) -> [UInt8]? {
        guard count <= bytes.count - position else { return nil }
        defer { position += count }
        return Array(bytes[position..<position + count])
    }

    mutating func number(_ count: Int) -> UInt64? {
        take(count)?.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    mutating func signed() -> Int64? { number(8).map { Int64(bitPattern: $0) } }

    mutating func text() -> String? {
        number(2).flatMap { take(Int($0)) }.flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// Reads a digest. Returns `.some(nil)` for no digest, and `nil` for an invalid one.
    mutating func digest() -> DownloadDigest?? {
        let algorithm: DigestAlgorithm
        switch number(1) {
        case 0: return .some(nil)
        case 1: algorithm = .md5
        case 2: algorithm = .sha1
        case 3: algorithm = .sha256
        case 4: algorithm = .sha512
        case 5: algorithm = .sha512_256
        default: return nil
        }
        guard let source = number(1).flatMap({ DownloadDigest.Source(rawValue: UInt8($0)) }),
            let bytes = take(algorithm.byteCount),
            let digest = DownloadDigest(algorithm, bytes, source: source)
        else { return nil }
        return .some(digest)
    }
}
