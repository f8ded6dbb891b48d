// Wherry: the expected digest of a download.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// The digest that a completed download must have.
package struct ExpectedDigest: Sendable, Hashable {
    package var algorithm: DigestAlgorithm
    package var value: [UInt8]

    package init(algorithm: DigestAlgorithm, value: [UInt8]) {
        self.algorithm = algorithm
        self.value = value
    }

    /// Parses a digest in hexadecimal or Base64.
    package init(_ algorithm: DigestAlgorithm, text: String) throws(WherryError) {
        let read = [Hex.decode(text), Base64.decode(text)].compactMap { $0 }
        guard let value = read.first(where: { $0.count == algorithm.byteCount }) else {
            throw WherryError(
                .badDigest,
                "The digest is not \(algorithm.byteCount) bytes in hexadecimal or Base64")
        }
        self.init(algorithm: algorithm, value: value)
    }
}
