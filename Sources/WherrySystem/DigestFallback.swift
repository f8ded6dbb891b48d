// Wherry: digests where no libcrypto can be loaded.
// SPDX-License-Identifier: Apache-2.0

/// A hash function of the Merkle-Damgard kind: what it does with one block.
protocol BlockHash: Sendable {
    associatedtype Word: FixedWidthInteger & Sendable
    /// The size of a block.
    static var blockBytes: Int { get }
    /// The size of the message's length in bits at the end of the last block.
    static var lengthBytes: Int { get }
    /// The byte order of the words and of the length.
    static var isBigEndian: Bool { get }
    /// The state, which is the digest after the last block.
    var words: [Word] { get }
    init()
    /// Takes in one block of `blockBytes`.
    mutating func compress(_ block: UnsafeRawPointer)
}

/// Cuts what is hashed into blocks and pads the last one.
struct BlockHasher<Hash: BlockHash>: DigestEngine {
    private var hash = Hash()
    /// The bytes of the block that is not full yet.
    private var pending: [UInt8] = []
    private var total: UInt64 = 0

    init() { pending.reserveCapacity(Hash.blockBytes * 2) }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        total &+= UInt64(bytes.count)
        var rest = bytes[...]
        if !pending.isEmpty {
            let missing = rest.prefix(Hash.blockBytes - pending.count)
            pending.append(contentsOf: missing)
            rest = rest.dropFirst(missing.count)
            guard pending.count == Hash.blockBytes else { return }
            takePending()
        }
        let whole = UnsafeRawBufferPointer(rebasing: rest)
        guard let base = whole.baseAddress else { return }
        let end = whole.count - whole.count % Hash.blockBytes
        for offset in stride(from: 0, to: end, by: Hash.blockBytes) {
            hash.compress(base + offset)
        }
        pending.append(contentsOf: whole[end...])
    }

    func finalize() -> [UInt8] {
        var last = self
        last.pending.append(0x80)
        let lengthStart = Hash.blockBytes - Hash.lengthBytes
        if last.pending.count > lengthStart {
            last.pad(to: Hash.blockBytes)
            last.takePending()
        }
        // The length is at most 64 bits here, also where the field has room for 128.
        let bits = total &* 8
        last.pad(to: Hash.isBigEndian ? Hash.blockBytes - 8 : lengthStart)
        for place: UInt64 in 0..<8 {
            let shift = Hash.isBigEndian ? 56 - place * 8 : place * 8
            last.pending.append(UInt8(truncatingIfNeeded: bits >> shift))
        }
        last.takePending()
        return last.hash.words.flatMap { word in
            withUnsafeBytes(of: Hash.isBigEndian ? word.bigEndian : word.littleEndian, Array.init)
        }
    }

    private mutating func pad(to count: Int) {
        pending.append(contentsOf: repeatElement(0, count: count - pending.count))
    }

    private mutating func takePending() {
        pending.withUnsafeBytes { hash.compress($0.baseAddress!) }
        pending.removeAll(keepingCapacity: true)
    }
}

extension DigestAlgorithm {
    /// The algorithm in Swift.
    var fallback: any DigestEngine {
        switch self {
        case .md5: BlockHasher<MD5Blocks>()
        case .sha1: BlockHasher<SHA1Blocks>()
        case .sha256: BlockHasher<SHA256Blocks>()
        case .sha512: BlockHasher<SHA512Blocks>()
        case .sha512_256: BlockHasher<SHA512To256Blocks>()
        }
    }
}
