// Wherry: the sockets of a loop and their registration with epoll.
// SPDX-License-Identifier: Apache-2.0

internal import CLinux
import Glibc
import WherrySystem

/// The sockets of a loop: the events that libcurl wants from each, and those registered with epoll.
///
/// libcurl unregisters and registers a socket around every transfer. Calling epoll each time would
/// double the cost of a small request. So changes are only noted, and applied before the next wait.
/// A socket without interest stays in epoll until it becomes ready.
final class SocketTable {
    private struct Interest {
        var want: UInt8 = 0
        var have: UInt8 = 0
        var isListed = false
        /// Whether the socket belongs to a connection. `closed` reports the end of these sockets,
        /// so they may stay in epoll without interest. libcurl's resolver closes its sockets
        /// without a report, and their numbers are reused.
        var isConnection = false
        /// Whether data arrived while libcurl wanted no events.
        var isSoiled = false
        /// The number of inspections when the last interest ended.
        var idleSince = 0
        /// Whether the connection uses HTTP/1, even if its host also supports HTTP/2.
        var isSerial = false
        /// The ports of the connection, as in `route`; 0 until determined.
        var route: UInt32 = 0
    }

    private var epoll: Int32
    @exclusivity(unchecked) private var interests: [Interest] = []
    @exclusivity(unchecked) private var changed: [Int32] = []
    /// The sockets of connections by ports, to find reused ones.
    @exclusivity(unchecked) private var routes: [UInt32: Int32] = [:]
    private let ready = UnsafeMutablePointer<clinux_ready>.allocate(capacity: 64)
    private static let inspectedLimit = Int(CLINUX_READY_LIMIT)
    private let inspected = UnsafeMutablePointer<clinux_ready>.allocate(capacity: inspectedLimit)
    @exclusivity(unchecked) private var inspections = 0
    /// Whether the last inspection reported all ready sockets.
    @exclusivity(unchecked) private var hasSeenAll = false
    /// The libcurl call of the last inspection.
    @exclusivity(unchecked) private var inspectedCall = -1

    init(waker: EventFD, exit: Int32) throws(SystemError) {
        epoll = clinux_epoll_create()
        if epoll < 0 { throw SystemError(errno, "create an epoll descriptor") }
        if clinux_epoll_set(epoll, waker.descriptor, UInt32(CLINUX_READ), 0) != 0 {
            throw SystemError(errno, "watch an eventfd")
        }
        // Without it, a sleeping loop would notice the exit of the process only at its next
        // wake-up.
        if exit >= 0 { _ = clinux_epoll_set(epoll, exit, UInt32(CLINUX_READ), 0) }
    }

    deinit {
        close()
        ready.deallocate()
        inspected.deallocate()
    }

    /// Closes the epoll descriptor; nothing can be watched afterwards.
    func close() {
        if epoll >= 0 { _ = Glibc.close(epoll) }
        epoll = -1
    }

    /// Notes the events that libcurl wants: bits of CLINUX_READ and CLINUX_WRITE.
    @inline(__always)
    func want(_ socket: Int32, _ events: UInt8) {
        guard socket >= 0 else { return }
        let index = Int(socket)
        grow(to: index)
        interests[index].want = events
        // Data that arrived while a transfer was paused belong to it.
        if events != 0 { interests[index].isSoiled = false }
        interests[index].idleSince = inspections
        if events == 0 && !interests[index].isConnection && interests[index].have != 0 {
            _ = clinux_epoll_set(epoll, socket, 0, 1)
            interests[index].have = 0
        }
        if events != 0 && interests[index].have != events && !interests[index].isListed {
            interests[index].isListed = true
            changed.append(socket)
        }
    }

    private func grow(to index: Int) {
        guard index >= interests.count else { return }
        let missing = index + 64 - interests.count
        interests.append(contentsOf: repeatElement(Interest(), count: missing))
    }

    /// Handles a new socket of a connection.
    func opened(_ socket: Int32) {
        guard socket >= 0 else { return }
        grow(to: Int(socket))
        interests[Int(socket)].have = 0
        interests[Int(socket)].isSoiled = false
        interests[Int(socket)].isSerial = false
        interests[Int(socket)].isConnection = true
    }

    /// Handles a closed socket, which the kernel has already removed from epoll.
    func closed(_ socket: Int32) {
        guard socket >= 0, Int(socket) < interests.count else { return }
        interests[Int(socket)].want = 0
        interests[Int(socket)].have = 0
        interests[Int(socket)].isConnection = false
        let route = interests[Int(socket)].route
        if route != 0 {
            interests[Int(socket)].route = 0
            if routes[route] == socket { routes[route] = nil }
        }
    }

    /// Returns the socket of the connection between these ports; `nil` if there is none.
    func connection(to port: Int32, from localPort: Int32) -> Int32? {
        let route = Self.route(
            UInt16(truncatingIfNeeded: port), UInt16(truncatingIfNeeded: localPort))
        if let socket = routes[route] { return socket }
        // Determined once per connection, and only when it is reused.
        for index in interests.indices
        where interests[index].isConnection && interests[index].route == 0 {
            let socket = Int32(index)
            guard let remote = Self.port(of: socket, getpeername),
                let local = Self.port(of: socket, getsockname)
            else { continue }
            interests[index].route = Self.route(remote, local)
            routes[interests[index].route] = socket
        }
        return routes[route]
    }

    /// Notes that a connection uses HTTP/1.
    func setSerial(_ socket: Int32) { interests[Int(socket)].isSerial = true }

    func isSerial(_ socket: Int32) -> Bool { interests[Int(socket)].isSerial }

    private static func route(_ port: UInt16, _ localPort: UInt16) -> UInt32 {
        UInt32(port) << 16 | UInt32(localPort)
    }

    private static func port(
        of socket: Int32,
        _ ask: (Int32, UnsafeMutablePointer<sockaddr>?, UnsafeMutablePointer<socklen_t>?) -> Int32
    ) -> UInt16? {
        var address = sockaddr_in6()
        var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let failed = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { ask(socket, $0, &length) }
        }
        // The port has the same offset for IPv4 and IPv6.
        let family = Int32(address.sin6_family)
        guard failed == 0, family == AF_INET || family == AF_INET6 else { return nil }
        return UInt16(bigEndian: address.sin6_port)
    }

    /// Applies the changes and waits. Returns the number of ready sockets.
    ///
    /// - Parameter timeout: Milliseconds; -1 waits forever.
    func wait(timeout: Int32) -> Int {
        for socket in changed {
            interests[Int(socket)].isListed = false
            let interest = interests[Int(socket)]
            guard interest.want != 0, interest.want != interest.have else { continue }
            let known: Int32 = interest.have != 0 ? 1 : 0
            if clinux_epoll_set(epoll, socket, UInt32(interest.want), known) == 0
                || clinux_epoll_set(epoll, socket, UInt32(interest.want), 1 - known) == 0
            {
                interests[Int(socket)].have = interest.want
            }
        }
        changed.removeAll(keepingCapacity: true)
        return max(0, Int(clinux_epoll_wait(epoll, ready, 64, timeout)))
    }

    /// Returns whether data arrived on an idle connection; `nil` if only a read can show it.
    ///
    /// One system call checks all sockets on the first use during a libcurl call.
    func isSoiled(_ socket: Int32, duringCall call: Int) -> Bool? {
        if inspectedCall != call {
            inspectedCall = call
            inspect()
        }
        let interest = interests[Int(socket)]
        if interest.isSoiled { return true }
        let wasSeen =
            hasSeenAll && interest.have & UInt8(CLINUX_READ) != 0
            && interest.idleSince < inspections
        return wasSeen ? false : nil
    }

    private func inspect() {
        let count = Int(clinux_epoll_wait(epoll, inspected, Int32(Self.inspectedLimit), 0))
        inspections &+= 1
        hasSeenAll = count >= 0 && count < Self.inspectedLimit
        for index in 0..<max(0, count) {
            let socket = inspected[index].descriptor
            guard isUnwanted(socket) else { continue }
            let soils = UInt32(CLINUX_READ) | UInt32(CLINUX_HANGUP)
            if inspected[index].events & soils != 0 { interests[Int(socket)].isSoiled = true }
        }
    }

    /// Removes a ready socket without interest from epoll.
    private func isUnwanted(_ socket: Int32) -> Bool {
        guard socket >= 0, Int(socket) < interests.count else { return false }
        let interest = interests[Int(socket)]
        guard interest.want == 0, interest.isConnection || interest.have != 0 else { return false }
        if interest.have != 0 {
            _ = clinux_epoll_set(epoll, socket, 0, 1)
            interests[Int(socket)].have = 0
        }
        return true
    }

    /// Calls `body` with each socket that the last `wait` found ready.
    func forEachReady(_ count: Int, _ body: (Int32, UInt32) -> Void) {
        for index in 0..<count {
            let socket = ready[index].descriptor
            if isUnwanted(socket) { continue }
            body(socket, ready[index].events)
        }
    }
}
