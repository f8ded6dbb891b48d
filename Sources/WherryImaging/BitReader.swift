// Wherry: numbers in the headers of coded images.
// SPDX-License-Identifier: Apache-2.0

/// Reads bits from the most significant one on.
struct BitReader {
    private let bytes: [UInt8]
    private var bit = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Reads a number of at most 32 bits.
    mutating func number(_ count: Int) throws(ImagingError) -> Int {
        guard count <= bytes.count * 8 - bit else { throw ImageInput.ended }
        var value = 0
        for _ in 0..<count {
            value = value << 1 | Int(bytes[bit >> 3] >> UInt8(7 - bit & 7)) & 1
            bit += 1
        }
        return value
    }

    mutating func flag() throws(ImagingError) -> Bool { try number(1) == 1 }

    mutating func skip(_ count: Int) throws(ImagingError) {
        guard count <= bytes.count * 8 - bit else { throw ImageInput.ended }
        bit += count
    }

    /// Reads a number in Exp-Golomb coding: `ue(v)` of HEVC, `uvlc()` of AV1.
    mutating func exponential() throws(ImagingError) -> Int {
        var zeros = 0
        while try !flag() {
            zeros += 1
            guard zeros < 32 else { throw .badImage("A number in its header is too large.") }
        }
        return try (1 << zeros) - 1 + number(zeros)
    }
}
