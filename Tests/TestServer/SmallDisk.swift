// Wherry: a small file system for tests of full and read-only disks.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A separate tmpfs. Only root can create one, and not in every container.
public final class SmallDisk {
    public let path: String

    /// - Parameter options: The mount options of tmpfs.
    public init?(_ options: String = "size=1m") {
        path = NSTemporaryDirectory() + "wherry-disk-" + UUID().uuidString
        guard geteuid() == 0, mkdir(path, 0o700) == 0 else { return nil }
        guard mount("tmpfs", path, "tmpfs", 0, options) == 0 else {
            rmdir(path)
            return nil
        }
    }

    deinit {
        umount2(path, Int32(MNT_DETACH))
        rmdir(path)
    }

    public static let isPossible = SmallDisk() != nil

    public func makeReadOnly() -> Bool {
        mount("tmpfs", path, "tmpfs", UInt(MS_REMOUNT | MS_RDONLY), "") == 0
    }

    /// Leaves this many bytes free by creating a file of that name.
    public func fill(_ name: String, leaving free: Int) throws {
        let file = open(path + "/" + name, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        defer { close(file) }
        let piece = [UInt8](repeating: 1, count: 4096)
        var size = 0
        while true {
            let count = write(file, piece, piece.count)
            guard count > 0 else { break }
            size += count
        }
        guard size > free, ftruncate(file, off_t(size - free)) == 0 else {
            throw POSIXError(.ENOSPC)
        }
    }
}
