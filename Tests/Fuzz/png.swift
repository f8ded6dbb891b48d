// Wherry: fuzz target of PNG files (libFuzzer); scripts/fuzz builds and runs it
// SPDX-License-Identifier: Apache-2.0

@_cdecl("LLVMFuzzerInitialize")
public func initialize(
    _ count: UnsafeMutablePointer<CInt>?, _ arguments: UnsafeMutableRawPointer?
) -> CInt {
    writeSeeds(pictureSeeds(.png))
    return 0
}

@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    fuzz(data, count) { file in
        let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
        if file.count >= 8 { file.replaceSubrange(0..<8, with: signature) }
        // Wrong checksums would end parsing: they are corrected, except in every eighth file.
        if file.count % 8 != 0 { mendChecksums(&file) }
    }
}

private let table: [UInt32] = (0..<256).map { byte in
    (0..<8).reduce(UInt32(byte)) { value, _ in
        value & 1 == 1 ? 0xEDB8_8320 ^ value >> 1 : value >> 1
    }
}

/// Sets the CRC of every complete chunk, and appends IEND.
private func mendChecksums(_ file: inout [UInt8]) {
    var at = 8
    while at + 12 <= file.count {
        let length = file[at..<at + 4].reduce(0) { $0 << 8 | Int($1) }
        guard length <= file.count - at - 12 else { break }
        let crc = ~file[at + 4..<at + 8 + length].reduce(0xFFFF_FFFF as UInt32) {
            table[Int(($0 ^ UInt32($1)) & 0xFF)] ^ $0 >> 8
        }
        for place in 0..<4 {
            file[at + 8 + length + place] = UInt8(truncatingIfNeeded: crc >> (24 - 8 * place))
        }
        at += 12 + length
    }
    file += [0, 0, 0, 0, 0x49, 0x45, 0x4E, 0x44, 0xAE, 0x42, 0x60, 0x82]
}
