// Wherry: standard input, output and error, as the command was given them.
// SPDX-License-Identifier: Apache-2.0

import Glibc

enum StandardStreams {
    /// Occupies the numbers of standard streams that are closed. Otherwise the next file or socket that
    /// is opened takes such a number, and results are written into it.
    ///
    /// The reserved descriptor can only be read, so that writing to it still fails with EBADF.
    static func reserve() {
        for descriptor in 0...2 where fcntl(Int32(descriptor), F_GETFD) < 0 {
            // The lowest free number: this one.
            _ = open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY)
        }
    }

    /// Whether a body may be read from standard input: a pipe, or a file that it was redirected from.
    static var inputIsPiped: Bool {
        var status = stat()
        guard fstat(STDIN_FILENO, &status) == 0 else { return false }
        return [S_IFIFO, S_IFREG].contains(status.st_mode & S_IFMT)
    }

    /// Whether standard input is a file of which another program has read the beginning, and which has
    /// more: the lines of a loop in a shell script, for example.
    static var inputIsShared: Bool {
        var status = stat()
        guard fstat(STDIN_FILENO, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return false }
        let offset = lseek(STDIN_FILENO, 0, SEEK_CUR)
        return offset > 0 && offset < status.st_size
    }
}
