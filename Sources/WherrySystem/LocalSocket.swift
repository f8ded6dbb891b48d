// Wherry: sockets between processes of one user.
// SPDX-License-Identifier: Apache-2.0

internal import CLinux
import Glibc

/// A Unix stream socket with a name in a directory. Non-blocking; closed with the last reference.
///
/// The name is resolved through the open directory (`/proc/self/fd`), so the directory's path may
/// be long or may have been replaced. Use the socket from one thread at a time.
package final class LocalSocket: Sendable {
    private let file: File
    package var descriptor: Int32 { file.descriptor }

    private init(_ descriptor: Int32, _ path: String) {
        file = File(adopting: descriptor, path: path)
    }

    private static func reach(_ name: String, _ directory: Directory) -> String {
        "/proc/self/fd/\(directory.file.descriptor)/\(name)"
    }

    /// Listens under a name with mode 0600. Replaces an existing file, so the caller must be the
    /// only process that listens there.
    package static func listen(_ name: String, in directory: Directory) throws(SystemError)
        -> LocalSocket
    {
        try directory.remove(name)
        let descriptor = clinux_listen(reach(name, directory))
        guard descriptor >= 0 else { throw .last("listen on", path: directory.path(of: name)) }
        return LocalSocket(descriptor, directory.path(of: name))
    }

    /// Connects to a listener; `nil` if there is none, or if its backlog is full.
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

    /// Returns whether a process listens under a name.
    package static func hasListener(_ name: String, in directory: Directory) -> Bool {
        let descriptor = clinux_connect(reach(name, directory))
        guard descriptor >= 0 else { return errno == EAGAIN }
        close(descriptor)
        return true
    }

    /// Accepts the next connection; `nil` if none is pending.
    package func accept() -> LocalSocket? {
        let descriptor = clinux_accept(self.descriptor)
        return descriptor >= 0 ? LocalSocket(descriptor, file.path) : nil
    }

    /// Whether the peer process runs as the same user as this process.
    package var isPeerOurs: Bool {
        var user: UInt32 = 0
        return clinux_peer_user(descriptor, &user) == 0 && user == geteuid()
    }

    /// The result of one send or receive call.
    package enum Step: Equatable, Sendable {
        /// The number of bytes transferred.
        case moved(Int)
        /// The call would block.
        case wait
        /// The peer closed the connection, or the connection failed.
        case closed
    }

    /// Sends as many bytes from `offset` on as the socket accepts now.
    package func send(_ bytes: [UInt8], from offset: Int) -> Step {
        guard offset < bytes.count else { return .moved(0) }
        let count = bytes.withUnsafeBytes { all -> Int64 in
            guard let base = all.baseAddress else { return 0 }
            return clinux_send(descriptor, base + offset, UInt64(all.count - offset))
        }
        if count >= 0 { return .moved(Int(count)) }
        return errno == EAGAIN ? .wait : .closed
    }

    /// Appends available bytes, at most `limit`.
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

/// Waiting for descriptors with poll(2).
package enum Poll {
    /// The events to wait for, and those that occurred.
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

    /// Sleeps for a span of real time.
    package static func rest(nanoseconds: Int64) {
        var items: [Item] = []
        wait(&items, nanoseconds: nanoseconds)
    }

    /// Waits in real time for an event. A descriptor whose peer is gone counts as readable and
    /// writable.
    ///
    /// - Parameter nanoseconds: The timeout; `nil` waits forever.
    package static func wait(_ items: inout [Item], nanoseconds: Int64?) {
        var interests = items.map { item in
            pollfd(
                fd: item.descriptor,
                events: Int16((item.wantsRead ? POLLIN : 0) | (item.wantsWrite ? POLLOUT : 0)),
                revents: 0)
        }
        // Rounded up, so that the deadline has passed when the wait ends.
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
