// Wherry: a socket between processes of one user.
// SPDX-License-Identifier: Apache-2.0

internal import CLinux
import Glibc

/// A unix stream socket under a name in a directory. Non-blocking, closed with the last reference.
///
/// The name is reached through the open directory (`/proc/self/fd`), so that neither a long path nor
/// one that was replaced meanwhile matters. It is used from one thread at a time.
package final class LocalSocket: Sendable {
    private let file: File
    package var descriptor: Int32 { file.descriptor }

    private init(_ descriptor: Int32, _ path: String) {
        file = File(adopting: descriptor, path: path)
    }

    private static func reach(_ name: String, _ directory: Directory) -> String {
        "/proc/self/fd/\(directory.file.descriptor)/\(name)"
    }

    /// Listens under a name, mode 0600; what had the name goes. Call it as the only one who may.
    package static func listen(_ name: String, in directory: Directory) throws(SystemError)
        -> LocalSocket
    {
        try directory.remove(name)
        let descriptor = clinux_listen(reach(name, directory))
        guard descriptor >= 0 else { throw .last("listen on", path: directory.path(of: name)) }
        return LocalSocket(descriptor, directory.path(of: name))
    }

    /// Connects to a listener; `nil` if nobody listens, or so many wait that one more has no room.
    package static func connect(_ name: String, in directory: Directory) throws(SystemError)
        -> LocalSocket?
    {
        let descriptor = clinux_connect(reach(name, directory))
        if descriptor >= 0 { return LocalSocket(descriptor, directory.path(of: name)) }
        switch errno {
        case ENOENT, ECONNREFUSED, EAGAIN, ECONNRESET: return nil
        default: throw .last("connect to", path: directory.path(of: name))
        }
    }

    /// Whether somebody listens under a name.
    package static func hasListener(_ name: String, in directory: Directory) -> Bool {
        let descriptor = clinux_connect(reach(name, directory))
        guard descriptor >= 0 else { return errno == EAGAIN }
        close(descriptor)
        return true
    }

    /// The next one who wants to talk; `nil` if nobody does.
    package func accept() -> LocalSocket? {
        let descriptor = clinux_accept(self.descriptor)
        return descriptor >= 0 ? LocalSocket(descriptor, file.path) : nil
    }

    /// Whether the other end belongs to a process of this process's user.
    package var isPeerOurs: Bool {
        var user: UInt32 = 0
        return clinux_peer_user(descriptor, &user) == 0 && user == geteuid()
    }

    /// What a step brought.
    package enum Step: Equatable, Sendable {
        /// So many bytes went.
        case moved(Int)
        /// Nothing just now.
        case wait
        /// The other end is gone, or the socket broken.
        case closed
    }

    /// Sends what goes now of the bytes from `offset` on.
    package func send(_ bytes: [UInt8], from offset: Int) -> Step {
        guard offset < bytes.count else { return .moved(0) }
        let count = bytes.withUnsafeBytes { all -> Int64 in
            guard let base = all.baseAddress else { return 0 }
            return clinux_send(descriptor, base + offset, UInt64(all.count - offset))
        }
        if count >= 0 { return .moved(Int(count)) }
        return errno == EAGAIN ? .wait : .closed
    }

    /// Appends what is there, at most `limit` bytes.
    package func receive(into bytes: inout [UInt8], limit: Int = 65_536) -> Step {
        let old = bytes.count
        bytes += [UInt8](repeating: 0, count: limit)
        let count = bytes.withUnsafeMutableBytes { all -> Int64 in
            guard let base = all.baseAddress else { return -1 }
            return clinux_receive(descriptor, base + old, UInt64(limit))
        }
        let failure = errno
        bytes.removeLast(limit - Int(max(0, count)))
        if count > 0 { return .moved(Int(count)) }
        return count < 0 && failure == EAGAIN ? .wait : .closed
    }
}

/// Waits for descriptors.
package enum Poll {
    /// What is waited for, and what came.
    package struct Item: Sendable {
        package let descriptor: Int32
        package var wantsRead: Bool
        package var wantsWrite: Bool
        package var canRead = false
        package var canWrite = false

        package init(_ descriptor: Int32, read: Bool = true, write: Bool = false) {
            self.descriptor = descriptor
            wantsRead = read
            wantsWrite = write
        }
    }

    /// Lets a moment of real time pass.
    package static func rest(nanoseconds: Int64) {
        var items: [Item] = []
        wait(&items, nanoseconds: nanoseconds)
    }

    /// Waits in real time until something comes; a descriptor whose other end is gone can be read
    /// and written.
    ///
    /// - Parameter nanoseconds: `nil` waits for ever.
    package static func wait(_ items: inout [Item], nanoseconds: Int64?) {
        var interests = items.map { item in
            pollfd(
                fd: item.descriptor,
                events: Int16((item.wantsRead ? POLLIN : 0) | (item.wantsWrite ? POLLOUT : 0)),
                revents: 0)
        }
        // Rounded up, so that what is due then is due.
        let milliseconds = nanoseconds.map { max(0, $0).addingSaturating(999_999) / 1_000_000 }
        let timeout = milliseconds.map { Int32(clamping: $0) } ?? -1
        let count = poll(&interests, nfds_t(interests.count), timeout)
        for index in items.indices {
            let found = count > 0 ? Int32(interests[index].revents) : 0
            let gone = found & (POLLHUP | POLLERR | POLLNVAL) != 0
            items[index].canRead = found & POLLIN != 0 || gone
            items[index].canWrite = found & POLLOUT != 0 || gone
        }
    }
}
