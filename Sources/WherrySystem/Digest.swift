// Wherry: digests of bytes as they come.
// SPDX-License-Identifier: Apache-2.0

/// The digests that checksums and identifiers use.
package enum DigestAlgorithm: String, Sendable, CaseIterable {
    case md5, sha1, sha256, sha512
    /// SHA-512/256 (FIPS 180-4, section 5.3.6.2): 256 bits of a SHA-512 with another initial value. Only
    /// Digest authentication uses it.
    case sha512_256 = "sha512-256"

    /// The algorithm of a name in any case, with or without a dash after "sha"; `nil` for others.
    package init?(name: some StringProtocol) {
        let name = name.lowercased()
        self.init(rawValue: name.hasPrefix("sha-") ? "sha" + name.dropFirst(4) : name)
    }

    /// The size of the digest in bytes.
    package var byteCount: Int {
        switch self {
        case .md5: 16
        case .sha1: 20
        case .sha256, .sha512_256: 32
        case .sha512: 64
        }
    }
}

/// Something that takes bytes in and gives their digest.
protocol DigestEngine: Sendable {
    mutating func update(_ bytes: UnsafeRawBufferPointer)
    /// The digest of the bytes so far; more may follow.
    func finalize() -> [UInt8]
}

/// A digest in the making: a value, so that a copy goes its own way.
///
/// libcrypto does the work where it can be loaded and offers the algorithm; else our own code does.
package struct Digest: Sendable {
    /// What is computed.
    package let algorithm: DigestAlgorithm
    private var engine: any DigestEngine

    /// The digest of nothing yet.
    package init(_ algorithm: DigestAlgorithm) {
        self.init(algorithm, usesLibrary: true)
    }

    init(_ algorithm: DigestAlgorithm, usesLibrary: Bool) {
        self.algorithm = algorithm
        let library = usesLibrary ? LibcryptoDigest(algorithm) : nil
        engine = library ?? algorithm.fallback
    }

    /// Takes in more bytes.
    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        if bytes.count > 0 { engine.update(bytes) }
    }

    /// Takes in more bytes.
    package mutating func update(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { update($0) }
    }

    /// The digest of all bytes so far; more may follow.
    ///
    /// Empty, and so equal to no digest, in the one case that libcrypto fails in the middle.
    package func finalize() -> [UInt8] { engine.finalize() }

    /// The digest of `bytes`.
    package static func hash(of bytes: [UInt8], _ algorithm: DigestAlgorithm) -> [UInt8] {
        if let digest = LibcryptoDigest.hash(of: bytes, algorithm) { return digest }
        var digest = Digest(algorithm)
        digest.update(bytes)
        return digest.finalize()
    }

    /// The digest of the UTF-8 form of `text`.
    package static func hash(of text: String, _ algorithm: DigestAlgorithm) -> [UInt8] {
        hash(of: Array(text.utf8), algorithm)
    }
}
