// Wherry: tests of the file format of cache entries
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WherryCache
@testable import WherryHTTP
@testable import WherrySystem

@Suite struct EntryFileTests {
    private func flat(_ entry: EntryFile) throws -> [UInt8] {
        try #require(entry.encoded()).flatMap { $0.array }
    }

    @Test("CRC-32C matches RFC 3720, B.4")
    func checksum() {
        #expect(Checksum.of([UInt8](repeating: 0, count: 32)) == 0x8A91_36AA)
        #expect(Checksum.of([UInt8](repeating: 0xFF, count: 32)) == 0x62A8_AB43)
        #expect(Checksum.of((0..<32).map { UInt8($0) }) == 0x46DD_794E)
        #expect(Checksum.of(Array("123456789".utf8)) == 0xE306_9283)
        #expect(Checksum.of([UInt8]()) == 0)
        let long = Array("123456789".utf8) + [UInt8](repeating: 7, count: 1000)
        for cut in [0, 1, 7, 8, 9, 500, 1008] {
            var parts = Checksum()
            long[..<cut].withUnsafeBytes { parts.update($0) }
            long[cut...].withUnsafeBytes { parts.update($0) }
            #expect(parts.value == Checksum.of(long))
        }
    }

    @Test("CRC-32C by the processor and by tables is the same for every length and alignment")
    func processor() {
        let bytes = (0..<40_000).map { UInt8(truncatingIfNeeded: $0 &* 131 &+ $0 >> 7) }
        let counts = Array(0...70) + [2_047, 2_048, 6_143, 6_144, 6_145, 12_288, 20_001, 39_990]
        for count in counts {
            for start in [0, 1, 7] {
                bytes[start..<(start + count)].withUnsafeBytes { part in
                    var (own, plain) = (Checksum(), Checksum())
                    own.update(part)
                    plain.update(part, usesProcessor: false)
                    #expect(own.value == plain.value, "\(count) from \(start)")
                }
            }
        }
    }

    @Test(
        "A written entry is read back",
        arguments: ["", "x", String(repeating: "long ", count: 9999)])
    func roundTrip(body: String) throws {
        var written = entry(body)
        written.uselessAfter = 77
        let bytes = try flat(written)
        #expect(EntryFile(Bytes(bytes)) == written)
        let head = try #require(
            EntryFile(head: Array(bytes.prefix(4096)), fileSize: Int64(bytes.count)))
        #expect(head.key == written.key && head.description == written.description)
        #expect(head.body.isEmpty && head.storedAt == noon && head.uselessAfter == 77)
        #expect(EntryFile(head: bytes, fileSize: Int64(bytes.count) + 1) == nil)
    }

    @Test("SEC-C4 every changed byte, every cut, and every trailing byte is detected")
    func damage() throws {
        let bytes = try flat(entry("a small body"))
        for index in bytes.indices {
            for bit in 0..<8 {
                var bad = bytes
                bad[index] ^= 1 << bit
                #expect(EntryFile(Bytes(bad)) == nil)
            }
        }
        for count in 0..<bytes.count { #expect(EntryFile(Bytes(bytes.prefix(count))) == nil) }
        #expect(EntryFile(Bytes(bytes + [0])) == nil)
        #expect(EntryFile(Bytes(bytes + bytes)) == nil)
        for byte in [UInt8(0), 0xFF] {
            #expect(EntryFile(Bytes([UInt8](repeating: byte, count: bytes.count))) == nil)
        }
    }

    @Test("Headers that could not be read back are not written")
    func largeHead() {
        var large = entry("x")
        large.description = [UInt8](repeating: 0, count: 1 << 20)
        #expect(large.encoded() == nil)
    }

    @Test("A stored response survives encoding, with and without all parts")
    func responses() throws {
        let asked = request("GET", ["X-A": "1", "Accept": "a, b"])
        var full = stored(
            [
                ("Cache-Control", "max-age=60, must-revalidate, immutable, stale-if-error=5"),
                ("ETag", "W/\"v\""), ("Last-Modified", date(-9)), ("Vary", "X-A, X-B, Accept"),
            ], for: asked)
        full.part = StoredPart(first: 3, last: 6, total: nil)
        full.isDecoded = true
        let plain = stored([], status: 404, body: "")
        for response in [full, plain] {
            let description = response.description()
            #expect(StoredResponse(description: description, body: response.body) == response)
            // No cut of it is another response, or a trap.
            for count in 0..<description.count {
                #expect(
                    StoredResponse(
                        description: Array(description.prefix(count)), body: response.body)
                        == nil)
            }
        }
        full.part = StoredPart(first: 3, last: 7, total: nil)
        #expect(StoredResponse(description: full.description(), body: full.body) == nil)
    }

    @Test("No bytes cause a trap in the readers")
    func noise() {
        var seed: UInt64 = 1
        for _ in 0..<20_000 {
            var bytes: [UInt8] = []
            for _ in 0..<(seed >> 58) {
                seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                bytes.append(UInt8(truncatingIfNeeded: seed >> 56) & (seed & 1 == 0 ? 0xFF : 3))
            }
            seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            _ = StoredResponse(description: bytes, body: Bytes())
            #expect(EntryFile(Bytes(bytes)) == nil)
        }
    }
}
