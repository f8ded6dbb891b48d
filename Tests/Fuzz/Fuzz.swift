// Wherry: what all fuzz targets have in common
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Writes inputs to begin with into the folder that WHERRY_FUZZ_SEEDS names.
func writeSeeds(_ seeds: [[UInt8]]) {
    guard let folder = getenv("WHERRY_FUZZ_SEEDS") else { return }
    for (number, seed) in seeds.enumerated() {
        let name = String(cString: folder) + "/seed\(number)"
        guard let file = fopen(name, "wb"), fwrite(seed, 1, seed.count, file) == seed.count,
            fclose(file) == 0
        else { fatalError("\(name) cannot be written") }
    }
}

/// An input that is cut into texts: the first byte chooses what reads them.
struct FuzzInput {
    let choice: Int
    let bytes: [UInt8]

    init?(_ data: UnsafePointer<UInt8>?, _ count: Int) {
        guard let data, count > 0 else { return nil }
        choice = Int(data[0])
        bytes = Array(UnsafeBufferPointer(start: data + 1, count: count - 1))
    }

    /// The bytes as text; what is no UTF-8 is replaced.
    var text: String { String(decoding: bytes, as: UTF8.self) }
    /// The lines of the text, without their ends.
    var lines: [String] {
        bytes.split(separator: 0x0A, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
    }

    /// An input of that choice and text.
    static func seed(_ choice: Int, _ text: String) -> [UInt8] { [UInt8(choice)] + Array(text.utf8) }
}

/// Ends the process, which the fuzzer takes for a find, where `isTrue` is not.
func demand(_ isTrue: Bool, _ message: @autoclosure () -> String) {
    if !isTrue { fatalError(message()) }
}

/// Whether nothing in a text could end a field line or be taken for its end.
func isFieldText(_ text: String) -> Bool {
    text.utf8.allSatisfy { $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7F) }
}
