// Wherry: incremental digests.
// SPDX-License-Identifier: Apache-2.0

/// The digest algorithms for checksums and identifiers.
package enum DigestAlgorithm: String, Sendable, CaseIterable {
    case md5, sha1, sha256, sha512
    /// SHA-512/256 (FIPS 180-4, section 5.3.6.2): SHA-512 truncated to 256 bits, with a different
    /// initial value. Used only by Digest authentication.
    case sha512_256 = "sha512-256"

    /// Parses a case-insensitive name, with or without a dash after "sha"; `nil` if unknown.
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

/// An incremental digest implementation.
protocol DigestEngine: Sendable {
    mutating func update(_ bytes: UnsafeRawBufferPointer)
    /// Returns the digest of the bytes so far. More bytes may follow.
    func finalize() -> [UInt8]
}

/// An incremental digest. A value type: copies are independent.
///
/// Uses libcrypto if it can be loaded and supports the algorithm, otherwise the Swift
/// implementation.
package struct Digest: Sendable {
    /// The digest algorithm.
    package let algorithm: DigestAlgorithm
    private var engine: any DigestEngine

    /// Creates the digest of no bytes.
    package init(_ algorithm: DigestAlgorithm) {
        self.init(algorithm, usesLibrary: true)
    }

    init(_ algorithm: DigestAlgorithm, usesLibrary: Bool) {
        self.algorithm = algorithm
        let library = usesLibrary ? LibcryptoDigest(algorithm) : nil
        engine = library ?? algorithm.fallback
    }

    /// Adds bytes.
    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        if bytes.count > 0 { engine.update(bytes) }
    }

    /// Adds bytes.
    package mutating func update(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { update($0) }
    }

    /// Returns the digest of all bytes so far. More bytes may follow.
    ///
    /// Returns an empty array, which equals no digest, if libcrypto failed.
    package func finalize() -> [UInt8] { engine.finalize() }

    /// Returns the digest of `bytes`.
    package static func hash(of bytes: [UInt8], _ algorithm: DigestAlgorithm) -> [UInt8] {
        if let digest = LibcryptoDigest.hash(of: bytes, algorithm) { return digest }
        var digest = Digest(algorithm)
        digest.update(bytes)
        return digest.finalize()
    }

    /// Returns the digest of `text` in UTF-8.
    package static func hash(of text: String, _ algorithm: DigestAlgorithm) -> [UInt8] {
        hash(of: Array(text.utf8), algorithm)
    }
}
