// Wherry: tests of sizes as text.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import WherryHTTP

@Suite struct ByteCountTests {
    @Test(
        "K10 sizes match the test vectors",
        arguments: [
            (1_298_609, "1.2385 MB"), (1_048_575, "1023.9990 KB"), (1_048_576, "1.0000 MB"),
            (0, "0.0000 KB"), (1, "0.0010 KB"), (1024, "1.0000 KB"), (-5, "0.0000 KB"),
            (.max, "8796093022208.0000 MB"),
        ] as [(Int64, String)])
    func vectors(bytes: Int64, expected: String) {
        #expect(ByteCount.text(bytes) == expected)
    }

    @Test("K10 sizes are rounded like printf")
    func likePrintf() {
        for bytes in Array(0...2_048) + Array(1_048_000...1_054_000) + [123_456_789, 5 << 30] {
            let bytes = Int64(bytes)
            let expected =
                bytes < 1 << 20
                ? String(format: "%.4f KB", Double(bytes) / 1024)
                : String(format: "%.4f MB", Double(bytes) / 1_048_576)
            #expect(ByteCount.text(bytes) == expected)
        }
    }
}
