// Wherry: perceptual hashes of images.
// SPDX-License-Identifier: Apache-2.0

import WherryImaging

extension Image {
    /// A perceptual hash of 64 bits: copies of an image that were resized, recompressed, or slightly
    /// edited have hashes that differ in few bits.
    public struct Hash: Hashable, Sendable, CustomStringConvertible {
        /// A way to compute a hash.
        public enum Kind: Sendable, Hashable {
            /// Compares neighboring pixels: `dhash` of the Python package imagehash. The cheaper one.
            case difference
            /// Compares the lowest frequencies: `phash` of imagehash. Survives more edits.
            case perceptual

            var kind: ImageHash.Kind { self == .difference ? .difference : .perceptual }
        }

        let hash: ImageHash

        /// Creates a hash that was stored as a number.
        public init(bits: UInt64) { hash = ImageHash(bits: bits) }

        init(_ hash: ImageHash) { self.hash = hash }

        /// The bits, row by row; the top left one is the most significant bit.
        public var bits: UInt64 { hash.bits }
        /// 16 hexadecimal digits in lower case, as imagehash prints them.
        public var description: String { hash.description }

        /// Returns the number of bits in which two hashes of the same kind differ, 0 to 64.
        ///
        /// Copies of an image usually differ in at most 4 bits, and different images in 20 or more.
        public func distance(to other: Hash) -> Int { hash.distance(to: other.hash) }

        /// Returns the groups of similar hashes, as indices in `hashes`.
        ///
        /// Two hashes are in the same group if they differ in at most `distance` bits, or if a chain
        /// of such hashes connects them. Groups and their members are in the order of `hashes`.
        /// Hashes without a similar one are left out.
        public static func groups(of hashes: [Hash], within distance: Int = 4) -> [[Int]] {
            ImageHash.groups(of: hashes.map(\.hash), within: distance)
        }
    }

    /// Returns the perceptual hash of the upright image. Decodes the image, and blocks while it runs.
    ///
    /// The hash equals that of imagehash 4.3 with Pillow 13. imagehash does not turn images upright;
    /// for an equal hash, keep the orientation. It also clips 16-bit gray images, which this method
    /// does not. Alpha is ignored. Of an animation, this method uses one frame.
    ///
    /// - Parameters:
    ///   - kind: Only hashes of the same kind are comparable.
    ///   - settings: Only orientation and limits apply.
    /// - Throws: An error with code `image` for anything but a valid image that can be read, and for
    ///   too many pixels; `limit` if it needs more memory or time than allowed; `file` if the file
    ///   cannot be read.
    public func hash(
        _ kind: Hash.Kind = .perceptual, _ settings: Compression = Compression()
    ) throws(WherryError) -> Hash {
        do {
            return Hash(try ImageHash.hashes(of: source, [kind.kind], settings.settings)[0])
        } catch {
            throw WherryError(error)
        }
    }
}
