// Wherry: the argument types of downloads.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WherryAsync
import WherrySystem

/// `sha256=DIGITS`; or md5, sha1, or sha512.
struct ChecksumArgument: ExpressibleByArgument, Sendable {
    let digest: ExpectedDigest

    init?(argument: String) {
        let parts = argument.split(separator: "=", maxSplits: 1)
        guard parts.count == 2, let algorithm = DigestAlgorithm(name: parts[0]),
            let value = Hex.decode(String(parts[1])), value.count == algorithm.byteCount
        else { return nil }
        digest = ExpectedDigest(algorithm: algorithm, value: value)
    }
}

extension DigestAlgorithm {
    /// The usual spelling of the name.
    var title: String {
        switch self {
        case .md5: "MD5"
        case .sha1: "SHA-1"
        case .sha256: "SHA-256"
        case .sha512: "SHA-512"
        case .sha512_256: "SHA-512/256"
        }
    }
}

/// `auto`, or 1 to 16.
struct SegmentCount: ExpressibleByArgument, Sendable {
    /// 0 for `auto`.
    let number: Int64

    init?(argument: String) {
        guard argument != "auto" else {
            number = 0
            return
        }
        guard let number = Int64(argument), (1...16).contains(number) else { return nil }
        self.number = number
    }
}

/// Bytes: `500k`, `2.5M`, or a number.
struct ByteCount: ExpressibleByArgument, Sendable {
    let number: Int64

    init?(argument: String) {
        let factors: [Character: Double] = ["k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9]
        let factor = argument.last.flatMap { factors[$0] }
        let digits = factor == nil ? argument[...] : argument.dropLast()
        guard digits.allSatisfy({ $0.isASCII && $0.isNumber || $0 == "." }),
            let number = Double(digits)
        else { return nil }
        let count = (number * (factor ?? 1)).rounded()
        guard count < 9e18 else { return nil }
        self.number = Int64(count)
    }
}

/// Bytes per second, more than 0: `500k`, `2.5M`, or a number.
struct ByteRate: ExpressibleByArgument, Sendable {
    let number: Int64

    init?(argument: String) {
        guard let count = ByteCount(argument: argument), count.number >= 1 else { return nil }
        number = count.number
    }
}
