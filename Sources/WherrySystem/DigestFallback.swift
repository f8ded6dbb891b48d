// Wherry: digests in Swift, for systems without libcrypto.
// SPDX-License-Identifier: Apache-2.0

/// The compression function of a Merkle-Damgard hash.
protocol BlockHash: Sendable {
    associatedtype Word: FixedWidthInteger & Sendable
    /// The block size in bytes.
    static var blockBytes: Int { get }
    /// The size of the message length field at the end of the last block, in bytes.
    static var lengthBytes: Int { get }
    /// Whether the words and the length are big-endian.
    static var isBigEndian: Bool { get }
    /// The state; the digest after the last block.
    var words: [Word] { get }
    init()
    /// Processes one block of `blockBytes`.
    mutating func compress(_ block: UnsafeRawPointer)
}

/// Splits the input into blocks and pads the last block.
struct BlockHasher<Hash: BlockHash>: DigestEngine {
    private var hash = Hash()
    /// The bytes of the incomplete block.
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
        // The length has at most 64 bits, even if its field has 128.
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
    /// The Swift implementation of the algorithm.
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
