// Wherry: kinds of file systems.
// SPDX-License-Identifier: Apache-2.0

/// A kind of file system, by its guarantees.
package enum FileSystem: Sendable {
    /// A local disk behind the page cache, without another machine or program: ext4, XFS, Btrfs,
    /// F2FS, overlayfs.
    case local
    /// In memory: tmpfs, ramfs. Reserved space is used memory.
    case memory
    /// A network file system whose locks may fail or be granted to several owners: NFS, Lustre,
    /// GPFS, SMB.
    case withoutLocks
    /// Any other, such as FUSE.
    case other

    /// - Parameter magic: The file system type from statfs(2).
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
