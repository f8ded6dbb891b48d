// Wherry: expected digest of a file.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherrySystem

/// A digest of the whole file, given by the caller or sent by the server.
package struct DownloadDigest: Hashable, Sendable {
    package enum Source: UInt8, Sendable {
        case caller = 0
        /// Repr-Digest (RFC 9530).
        case reprDigest = 1
        /// The older Digest field (RFC 3230).
        case digest = 2
        /// The Content-MD5 field of a 200 response (RFC 1864).
        case contentMD5 = 3

        /// The name for use in messages.
        package var name: String {
            switch self {
            case .caller: "the expected digest"
            case .reprDigest: "Repr-Digest"
            case .digest: "Digest"
            case .contentMD5: "Content-MD5"
            }
        }
    }

    package var algorithm: DigestAlgorithm
    package var bytes: [UInt8]
    package var source: Source

    /// Creates a digest, or `nil` if the byte count does not match the algorithm.
    package init?(_ algorithm: DigestAlgorithm, _ bytes: [UInt8], source: Source = .caller) {
        guard bytes.count == algorithm.byteCount else { return nil }
        self.algorithm = algorithm
        self.bytes = bytes
        self.source = source
    }

    /// Creates the digest that a request expects.
    package init?(_ expected: ExpectedDigest) {
        self.init(expected.algorithm, expected.value)
    }

    /// Parses a digest written as hexadecimal digits in either case or as Base64.
    package init?(_ algorithm: DigestAlgorithm, text: String) {
        let text = DownloadHead.trimmed(text)
        // 2n digits are never the Base64 form of n bytes, so the two forms cannot be confused.
        let isHex = text.utf8.count == 2 * algorithm.byteCount
        guard let bytes = isHex ? Hex.decode(text) : Base64.decode(text) else { return nil }
        self.init(algorithm, bytes)
    }

    package var hex: String { Hex.encode(bytes) }

    /// Returns whether the two digests cannot both belong to the same file.
    package func contradicts(_ other: DownloadDigest) -> Bool {
        algorithm == other.algorithm && bytes != other.bytes
    }
}

/// The response fields that carry digests.
package enum DigestFields {
    /// Returns the digests of the whole file, the strongest algorithm first. Ignores malformed and
    /// unknown digests, as RFC 9530 requires.
    ///
    /// - Parameters:
    ///   - reprDigest: Values of Repr-Digest, a dictionary of byte sequences: `sha-256=:BASE64:,
    ///     sha-512=:BASE64:`.
    ///   - digest: Values of Digest: `SHA-256=BASE64,md5=BASE64`.
    ///   - contentMD5: The value of Content-MD5, in Base64.
    package static func announced(reprDigest: [String], digest: [String], contentMD5: String?)
        -> [DownloadDigest]
    {
        var found: [DownloadDigest] = []
        for (lines, source) in [(reprDigest, DownloadDigest.Source.reprDigest), (digest, .digest)] {
            for member in lines.flatMap({ $0.split(separator: ",") }) {
                let parts = member.split(separator: "=", maxSplits: 1)
                guard parts.count == 2,
                    let algorithm = algorithm(DownloadHead.trimmed(parts[0]).lowercased())
                else { continue }
                var value = DownloadHead.trimmed(parts[1])
                if source == .reprDigest {
                    // Parameters may follow the byte sequence.
                    let pieces = value.split(separator: ":", omittingEmptySubsequences: false)
                    guard pieces.count == 3, pieces[0].isEmpty else { continue }
                    value = String(pieces[1])
                }
                guard let bytes = Base64.decode(value),
                    let digest = DownloadDigest(algorithm, bytes, source: source)
                else { continue }
                found.append(digest)
            }
        }
        if let bytes = contentMD5.flatMap({ Base64.decode(DownloadHead.trimmed($0)) }),
            let digest = DownloadDigest(.md5, bytes, source: .contentMD5)
        {
            found.append(digest)
        }
        // Swift's sort is not guaranteed to be stable: the newer field wins among equal algorithms.
        return found.sorted {
            ($1.algorithm.byteCount, $0.source.rawValue)
                < ($0.algorithm.byteCount, $1.source.rawValue)
        }
    }

    private static func algorithm(_ name: String) -> DigestAlgorithm? {
        switch name {
        case "md5": .md5
        case "sha", "sha-1": .sha1
        case "sha-256": .sha256
        case "sha-512": .sha512
        default: nil
        }
    }
}
