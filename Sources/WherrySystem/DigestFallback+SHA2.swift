// Wherry: SHA-256, SHA-512, and SHA-512/256 in Swift.
// SPDX-License-Identifier: Apache-2.0

/// The constants of FIPS 180-4. SHA-256 uses the upper halves of the first 64 of SHA-512.
private enum SHA2 {
    /// The first 64 bits of the fractional parts of the cube roots of the first 80 primes.
    static let rounds: [UInt64] = [
        0x428a2f98_d728ae22, 0x71374491_23ef65cd, 0xb5c0fbcf_ec4d3b2f, 0xe9b5dba5_8189dbbc,
        0x3956c25b_f348b538, 0x59f111f1_b605d019, 0x923f82a4_af194f9b, 0xab1c5ed5_da6d8118,
        0xd807aa98_a3030242, 0x12835b01_45706fbe, 0x243185be_4ee4b28c, 0x550c7dc3_d5ffb4e2,
        0x72be5d74_f27b896f, 0x80deb1fe_3b1696b1, 0x9bdc06a7_25c71235, 0xc19bf174_cf692694,
        0xe49b69c1_9ef14ad2, 0xefbe4786_384f25e3, 0x0fc19dc6_8b8cd5b5, 0x240ca1cc_77ac9c65,
        0x2de92c6f_592b0275, 0x4a7484aa_6ea6e483, 0x5cb0a9dc_bd41fbd4, 0x76f988da_831153b5,
        0x983e5152_ee66dfab, 0xa831c66d_2db43210, 0xb00327c8_98fb213f, 0xbf597fc7_beef0ee4,
        0xc6e00bf3_3da88fc2, 0xd5a79147_930aa725, 0x06ca6351_e003826f, 0x14292967_0a0e6e70,
        0x27b70a85_46d22ffc, 0x2e1b2138_5c26c926, 0x4d2c6dfc_5ac42aed, 0x53380d13_9d95b3df,
        0x650a7354_8baf63de, 0x766a0abb_3c77b2a8, 0x81c2c92e_47edaee6, 0x92722c85_1482353b,
        0xa2bfe8a1_4cf10364, 0xa81a664b_bc423001, 0xc24b8b70_d0f89791, 0xc76c51a3_0654be30,
        0xd192e819_d6ef5218, 0xd6990624_5565a910, 0xf40e3585_5771202a, 0x106aa070_32bbd1b8,
        0x19a4c116_b8d2d0c8, 0x1e376c08_5141ab53, 0x2748774c_df8eeb99, 0x34b0bcb5_e19b48a8,
        0x391c0cb3_c5c95a63, 0x4ed8aa4a_e3418acb, 0x5b9cca4f_7763e373, 0x682e6ff3_d6b2b8a3,
        0x748f82ee_5defb2fc, 0x78a5636f_43172f60, 0x84c87814_a1f0ab72, 0x8cc70208_1a6439ec,
        0x90befffa_23631e28, 0xa4506ceb_de82bde9, 0xbef9a3f7_b2c67915, 0xc67178f2_e372532b,
        0xca273ece_ea26619c, 0xd186b8c7_21c0c207, 0xeada7dd6_cde0eb1e, 0xf57d4f7f_ee6ed178,
        0x06f067aa_72176fba, 0x0a637dc5_a2c898a6, 0x113f9804_bef90dae, 0x1b710b35_131c471b,
        0x28db77f5_23047d84, 0x32caab7b_40c72493, 0x3c9ebe0a_15c9bebc, 0x431d67c4_9c100d4c,
        0x4cc5d4be_cb3e42b6, 0x597f299c_fc657e2a, 0x5fcb6fab_3ad6faec, 0x6c44198c_4a475817,
    ]

    /// The first 64 bits of the fractional parts of the square roots of the first 8 primes.
    static let start: [UInt64] = [
        0x6a09e667_f3bcc908, 0xbb67ae85_84caa73b, 0x3c6ef372_fe94f82b, 0xa54ff53a_5f1d36f1,
        0x510e527f_ade682d1, 0x9b05688c_2b3e6c1f, 0x1f83d9ab_fb41bd6b, 0x5be0cd19_137e2179,
    ]

    /// The initial value of SHA-512/256.
    static let start256: [UInt64] = [
        0x22312194_fc2bf72c, 0x9f555fa3_c84c64c2, 0x2393b86b_6f53b151, 0x96387719_5940eabd,
        0x96283ee2_a88effe3, 0xbe5e1e25_53863992, 0x2b0199fc_2c85b8aa, 0x0eb72ddc_81c52ca2,
    ]

    static let rounds32 = rounds.prefix(64).map { UInt32($0 >> 32) }
    static let start32 = start.map { UInt32($0 >> 32) }
}

/// SHA-256 (FIPS 180-4, section 6.2).
struct SHA256Blocks: BlockHash {
    static var blockBytes: Int { 64 }
    static var lengthBytes: Int { 8 }
    static var isBigEndian: Bool { true }

    private(set) var words = SHA2.start32

    mutating func compress(_ block: UnsafeRawPointer) {
        withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 64) { schedule in
            for index in 0..<16 {
                let word = block.loadUnaligned(fromByteOffset: index * 4, as: UInt32.self)
                schedule[index] = UInt32(bigEndian: word)
            }
            for index in 16..<64 {
                let x = schedule[index - 15]
                let y = schedule[index - 2]
                let first = rotated(x, 7) ^ rotated(x, 18) ^ x >> 3
                let second = rotated(y, 17) ^ rotated(y, 19) ^ y >> 10
                schedule[index] = schedule[index - 16] &+ first &+ schedule[index - 7] &+ second
            }
            var (a, b, c, d) = (words[0], words[1], words[2], words[3])
            var (e, f, g, h) = (words[4], words[5], words[6], words[7])
            SHA2.rounds32.withUnsafeBufferPointer { constants in
                for index in 0..<64 {
                    let mixed = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)
                    let chosen = e & f ^ ~e & g
                    let one = h &+ mixed &+ chosen &+ constants[index] &+ schedule[index]
                    let sum = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)
                    let two = sum &+ (a & b ^ a & c ^ b & c)
                    (h, g, f, e, d, c, b, a) = (g, f, e, d &+ one, c, b, a, one &+ two)
                }
            }
            for (index, word) in [a, b, c, d, e, f, g, h].enumerated() { words[index] &+= word }
        }
    }

    @inline(__always)
    private func rotated(_ word: UInt32, _ count: UInt32) -> UInt32 {
        word >> count | word << (32 - count)
    }
}

/// SHA-512 (FIPS 180-4, section 6.4).
struct SHA512Blocks: BlockHash {
    static var blockBytes: Int { 128 }
    static var lengthBytes: Int { 16 }
    static var isBigEndian: Bool { true }

    private(set) var words: [UInt64]

    init() { self.init(start: SHA2.start) }

    fileprivate init(start: [UInt64]) { words = start }

    mutating func compress(_ block: UnsafeRawPointer) {
        withUnsafeTemporaryAllocation(of: UInt64.self, capacity: 80) { schedule in
            for index in 0..<16 {
                let word = block.loadUnaligned(fromByteOffset: index * 8, as: UInt64.self)
                schedule[index] = UInt64(bigEndian: word)
            }
            for index in 16..<80 {
                let x = schedule[index - 15]
                let y = schedule[index - 2]
                let first = rotated(x, 1) ^ rotated(x, 8) ^ x >> 7
                let second = rotated(y, 19) ^ rotated(y, 61) ^ y >> 6
                schedule[index] = schedule[index - 16] &+ first &+ schedule[index - 7] &+ second
            }
            var (a, b, c, d) = (words[0], words[1], words[2], words[3])
            var (e, f, g, h) = (words[4], words[5], words[6], words[7])
            SHA2.rounds.withUnsafeBufferPointer { constants in
                for index in 0..<80 {
                    let mixed = rotated(e, 14) ^ rotated(e, 18) ^ rotated(e, 41)
                    let chosen = e & f ^ ~e & g
                    let one = h &+ mixed &+ chosen &+ constants[index] &+ schedule[index]
                    let sum = rotated(a, 28) ^ rotated(a, 34) ^ rotated(a, 39)
                    let two = sum &+ (a & b ^ a & c ^ b & c)
                    (h, g, f, e, d, c, b, a) = (g, f, e, d &+ one, c, b, a, one &+ two)
                }
            }
            for (index, word) in [a, b, c, d, e, f, g, h].enumerated() { words[index] &+= word }
        }
    }

    @inline(__always)
    private func rotated(_ word: UInt64, _ count: UInt64) -> UInt64 {
        word >> count | word << (64 - count)
    }
}

/// SHA-512/256 (FIPS 180-4, section 6.7).
struct SHA512To256Blocks: BlockHash {
    static var blockBytes: Int { SHA512Blocks.blockBytes }
    static var lengthBytes: Int { SHA512Blocks.lengthBytes }
    static var isBigEndian: Bool { true }

    private var hash = SHA512Blocks(start: SHA2.start256)
    var words: [UInt64] { Array(hash.words.prefix(4)) }

    mutating func compress(_ block: UnsafeRawPointer) { hash.compress(block) }
}
