// Wherry: what a file system may be trusted with.
// SPDX-License-Identifier: Apache-2.0

/// A file system by what it promises.
package enum FileSystem: Sendable {
    /// Of a device of this machine. What is written goes to memory first, and no other machine or
    /// program is asked: ext4, XFS, Btrfs, F2FS, overlayfs.
    case local
    /// In memory: tmpfs, ramfs. Space that is reserved is memory that is taken.
    case memory
    /// Of the network, with locks that are known to be granted to several at once, or to none: NFS,
    /// Lustre, GPFS, SMB.
    case withoutLocks
    /// Any other, as FUSE.
    case other

    /// - Parameter magic: its number (statfs(2)).
    package init(magic: UInt64) {
        self =
            switch magic {
            case 0xEF53, 0x5846_5342, 0x9123_683E, 0xF2F5_2010, 0x794C_7630: .local
            case 0x0102_1994, 0x8584_58F6: .memory
            case 0x6969, 0x0BD0_0BD0, 0x4750_4653, 0xFF53_4D42, 0xFE53_4D42: .withoutLocks
            default: .other
            }
    }
}
