// Wherry: the standard streams that the command was started with.
// SPDX-License-Identifier: Apache-2.0

import Glibc

enum StandardStreams {
    /// Occupies the descriptors of closed standard streams. Otherwise the next file or socket that
    /// is opened would get such a descriptor, and results would be written into it.
    ///
    /// The descriptor is read-only, so that writing to it still fails with EBADF.
    static func reserve() {
        for descriptor in 0...2 where fcntl(Int32(descriptor), F_GETFD) < 0 {
            // `open` returns the lowest free descriptor, which is this one.
            _ = open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY)
        }
    }

    /// Whether standard input can be a body: it is a pipe or a redirected file.
    static var inputIsPiped: Bool {
        var status = stat()
        guard fstat(STDIN_FILENO, &status) == 0 else { return false }
        return [S_IFIFO, S_IFREG].contains(status.st_mode & S_IFMT)
    }

    /// Whether standard input is a file that another program has partly read, such as the lines of a
    /// loop in a shell script.
    static var inputIsShared: Bool {
        var status = stat()
        guard fstat(STDIN_FILENO, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            return false
        }
        let offset = lseek(STDIN_FILENO, 0, SEEK_CUR)
        return offset > 0 && offset < status.st_size
    }
}
