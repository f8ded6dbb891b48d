// Wherry: code shared by all fuzz targets
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Writes initial inputs into the folder that WHERRY_FUZZ_SEEDS names.
func writeSeeds(_ seeds: [[UInt8]]) {
    guard let folder = getenv("WHERRY_FUZZ_SEEDS") else { return }
    for (number, seed) in seeds.enumerated() {
        let name = String(cString: folder) + "/seed\(number)"
        guard let file = fopen(name, "wb"), fwrite(seed, 1, seed.count, file) == seed.count,
            fclose(file) == 0
        else { fatalError("\(name) cannot be written") }
    }
}

/// An input split into texts: the first byte selects the parser.
struct FuzzInput {
    let choice: Int
    let bytes: [UInt8]

    init?(_ data: UnsafePointer<UInt8>?, _ count: Int) {
        guard let data, count > 0 else { return nil }
        choice = Int(data[0])
        bytes = Array(UnsafeBufferPointer(start: data + 1, count: count - 1))
    }

    /// The bytes as text; invalid UTF-8 is replaced.
    var text: String { String(decoding: bytes, as: UTF8.self) }
    /// The lines of the text, without their ends.
    var lines: [String] {
        bytes.split(separator: 0x0A, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
    }

    /// An input with that selection and text.
    static func seed(_ choice: Int, _ text: String) -> [UInt8] {
        [UInt8(choice)] + Array(text.utf8)
    }
}

/// Ends the process, which the fuzzer reports as a finding, unless `isTrue` holds.
func demand(_ isTrue: Bool, _ message: @autoclosure () -> String) {
    if !isTrue { fatalError(message()) }
}

/// Whether no byte in a text could end a header line or be taken for its end.
func isFieldText(_ text: String) -> Bool {
    text.utf8.allSatisfy { $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7F) }
}
