// Wherry: fuzz target of JPEG files (libFuzzer); scripts/fuzz builds and runs it
// SPDX-License-Identifier: Apache-2.0

@_cdecl("LLVMFuzzerInitialize")
public func initialize(
    _ count: UnsafeMutablePointer<CInt>?, _ arguments: UnsafeMutableRawPointer?
) -> CInt {
    writeSeeds(pictureSeeds(.jpeg))
    return 0
}

@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    fuzz(data, count) { file in
        if file.count > 1 { file.replaceSubrange(0..<2, with: [0xFF, 0xD8]) }
        // A cut file is refused early: most files should be decoded.
        if file.count % 8 != 0 { file += [0xFF, 0xD9] }
    }
}
