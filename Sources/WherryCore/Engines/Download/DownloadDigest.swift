// Wherry: the digest a file must have
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// A digest of the whole file, promised by the caller or announced by the server.
package struct DownloadDigest: Hashable, Sendable {
    package enum Source: UInt8, Sendable {
        case caller = 0
        /// Repr-Digest (RFC 9530).
        case reprDigest = 1
        /// The older Digest field (RFC 3230).
        case digest = 2
        /// Content-MD5 of a 200 (RFC 1864).
        case contentMD5 = 3

        /// What sentences call it.
        package var name: String {
            switch self {
            case .caller: "the digest asked for"
            case .reprDigest: "Repr-Digest"
            case .digest: "Digest"
            case .contentMD5: "Content-MD5"
            }
        }
    }

    package var algorithm: DigestAlgorithm
    package var bytes: [UInt8]
    package var source: Source

    /// `nil` if the bytes are not as many as the algorithm gives.
    package init?(_ algorithm: DigestAlgorithm, _ bytes: [UInt8], source: Source = .caller) {
        guard bytes.count == algorithm.byteCount else { return nil }
        self.algorithm = algorithm
        self.bytes = bytes
        self.source = source
    }

    /// The digest that a request asks for.
    package init?(_ expected: ExpectedDigest) {
        self.init(expected.algorithm, expected.value)
    }

    /// A digest written by a person: hexadecimal digits in either case, or Base64.
    package init?(_ algorithm: DigestAlgorithm, text: String) {
        let text = DownloadHead.trimmed(text)
        // 2n digits are never the Base64 of n bytes, so there is no doubt which one it is.
        let isHex = text.utf8.count == 2 * algorithm.byteCount
        guard let bytes = isHex ? Hex.decode(text) : Base64.decode(text) else { return nil }
        self.init(algorithm, bytes)
    }

    package var hex: String { Hex.encode(bytes) }

    /// Whether the two cannot both be true of one file.
    package func contradicts(_ other: DownloadDigest) -> Bool {
        algorithm == other.algorithm && bytes != other.bytes
    }
}

/// The fields by which servers announce digests.
package enum DigestFields {
    /// The digests of the whole file, the strongest algorithm first; what cannot be read or is
    /// unknown is left out, as RFC 9530 wants it.
    ///
    /// - Parameters:
    ///   - reprDigest: lines of Repr-Digest, a dictionary of byte sequences:
    ///     `sha-256=:BASE64:, sha-512=:BASE64:`.
    ///   - digest: lines of Digest: `SHA-256=BASE64,md5=BASE64`.
    ///   - contentMD5: Base64.
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
        // Sorting is stable only by hand: the newer field wins among equal algorithms.
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
