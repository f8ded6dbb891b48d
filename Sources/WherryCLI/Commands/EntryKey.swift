// Wherry: the short keys of cache entries.
// SPDX-License-Identifier: Apache-2.0

import WherryAsync

/// Names an entry of `wherry cache list` in `show` and `clear`: 16 hexadecimal digits.
struct EntryKey: Equatable {
    /// No URL has this form.
    let text: String

    /// Reads a key; `nil` for any other text.
    init?(_ argument: String) {
        guard argument.utf8.count == 16,
            argument.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 || $0 >= 0x61 && $0 <= 0x66 })
        else { return nil }
        text = argument
    }

    /// The key of an entry: the FNV-1a hash of its id, which is the same in every process.
    init(of entry: ResponseCache.Entry) {
        let hash = entry.id.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) {
            ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3
        }
        let digits = String(hash, radix: 16)
        text = String(repeating: "0", count: 16 - digits.count) + digits
    }
}
