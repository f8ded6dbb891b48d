// Wherry: the result of stat(2).
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Type, identity, owner, size and times of a file.
package struct FileStatus: Equatable, Sendable {
    package enum Kind: Sendable { case regular, directory, symbolicLink, other }

    package let kind: Kind
    package let device: UInt64
    package let inode: UInt64
    /// The number of hard links; 0 once the file is unlinked.
    package let links: UInt64
    package let owner: UInt32
    /// The twelve permission bits.
    package let permissions: UInt32
    package let size: Int64
    /// The modification time in nanoseconds since 1970.
    package let modifiedNanoseconds: Int64
    /// The access time, as far as the mount records it, in nanoseconds since 1970.
    package let accessedNanoseconds: Int64

    init(_ status: stat) {
        switch status.st_mode & mode_t(S_IFMT) {
        case mode_t(S_IFREG): kind = .regular
        case mode_t(S_IFDIR): kind = .directory
        case mode_t(S_IFLNK): kind = .symbolicLink
        default: kind = .other
        }
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        links = UInt64(status.st_nlink)
        owner = status.st_uid
        permissions = status.st_mode & 0o7777
        size = Int64(status.st_size)
        modifiedNanoseconds = FileStatus.nanoseconds(status.st_mtim)
        accessedNanoseconds = FileStatus.nanoseconds(status.st_atim)
    }

    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }

    /// Returns whether both describe the same file.
    package func isSameFile(as other: FileStatus) -> Bool {
        device == other.device && inode == other.inode
    }

    /// Whether the effective user of this process owns the file.
    package var isOurs: Bool { owner == geteuid() }
}
