// Wherry: tests of digests.
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WherrySystem

@Suite struct DigestTests {
    private func hex(
        _ algorithm: DigestAlgorithm, _ text: String, usesLibrary: Bool
    ) -> String {
        var digest = Digest(algorithm, usesLibrary: usesLibrary)
        digest.update(Array(text.utf8))
        return Hex.encode(digest.finalize())
    }

    @Test(
        "Digests match RFC 1321, RFC 3174, and FIPS 180-4, in libcrypto and in Swift",
        arguments: [
            (.md5, "", "d41d8cd98f00b204e9800998ecf8427e"),
            (.md5, "abc", "900150983cd24fb0d6963f7d28e17f72"),
            (.md5, "message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
            (
                .md5,
                "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
                "57edf4a22be3c955ac49da2e2107b67a"
            ),
            (.sha1, "", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
            (.sha1, "abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
            (
                .sha1, "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "84983e441c3bd26ebaae4aa1f95129e5e54670f1"
            ),
            (.sha256, "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            (.sha256, "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                .sha256, "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
            ),
            (
                .sha512, "",
                "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce"
                    + "47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e"
            ),
            (
                .sha512, "abc",
                "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
                    + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"
            ),
            (
                .sha512_256, "",
                "c672b8d1ef56ed28ab87c3622c5114069bdd3ad7b8f9737498d0c01ecef0967a"
            ),
            (
                .sha512_256, "abc",
                "53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23"
            ),
        ] as [(DigestAlgorithm, String, String)])
    func vectors(algorithm: DigestAlgorithm, text: String, expected: String) {
        #expect(hex(algorithm, text, usesLibrary: true) == expected)
        #expect(hex(algorithm, text, usesLibrary: false) == expected)
        #expect(Hex.encode(Digest.hash(of: text, algorithm)) == expected)
    }

    @Test(
        "libcrypto is found here, so the two are really compared",
        arguments: DigestAlgorithm.allCases)
    func libraryIsUsed(algorithm: DigestAlgorithm) {
        #expect(LibcryptoDigest(algorithm) != nil)
    }

    @Test(
        "Both implementations agree on every length up to three blocks, for any chunk boundaries",
        arguments: DigestAlgorithm.allCases)
    func agreement(algorithm: DigestAlgorithm) {
        let bytes = (0..<400).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ 7) }
        for count in 0...bytes.count {
            let whole = Array(bytes.prefix(count))
            let expected = Digest.hash(of: whole, algorithm)
            #expect(expected.count == algorithm.byteCount)
            for cut in [0, 1, count / 3, count / 2, count] where cut <= count {
                for usesLibrary in [true, false] {
                    var digest = Digest(algorithm, usesLibrary: usesLibrary)
                    digest.update(Array(whole.prefix(cut)))
                    digest.update([])
                    digest.update(Array(whole.dropFirst(cut)))
                    #expect(digest.finalize() == expected)
                }
            }
        }
        let large = (0..<1_000_003).map { UInt8(truncatingIfNeeded: $0 &* 131) }
        var ours = Digest(algorithm, usesLibrary: false)
        ours.update(large)
        #expect(ours.finalize() == Digest.hash(of: large, algorithm))
    }

    @Test(
        "A copy is independent, and reading the digest does not end it",
        arguments: DigestAlgorithm.allCases)
    func copies(algorithm: DigestAlgorithm) {
        for usesLibrary in [true, false] {
            var one = Digest(algorithm, usesLibrary: usesLibrary)
            one.update([1, 2])
            var other = one
            other.update([3])
            #expect(one.finalize() == Digest.hash(of: [1, 2], algorithm))
            #expect(one.finalize() == Digest.hash(of: [1, 2], algorithm))
            #expect(other.finalize() == Digest.hash(of: [1, 2, 3], algorithm))
            one.update([4])
            #expect(one.finalize() == Digest.hash(of: [1, 2, 4], algorithm))
        }
    }

    @Test("Names are parsed in any case, with and without the dash")
    func names() {
        for name in ["md5", "MD5"] { #expect(DigestAlgorithm(name: name) == .md5) }
        for name in ["sha1", "SHA-1"] { #expect(DigestAlgorithm(name: name) == .sha1) }
        for name in ["Sha256", "sha-256"] { #expect(DigestAlgorithm(name: name) == .sha256) }
        for name in ["sha512-256", "SHA-512-256"] {
            #expect(DigestAlgorithm(name: name) == .sha512_256)
        }
        for name in ["sha512", "SHA-512"] { #expect(DigestAlgorithm(name: name) == .sha512) }
        for name in ["", "sha", "sha-", "md-5", "sha--1", "sha384", "crc32c"] {
            #expect(DigestAlgorithm(name: name) == nil)
        }
    }
}
