// Wherry: the ways out of this machine, and news of them.
// SPDX-License-Identifier: Apache-2.0

internal import CLinux
import Glibc

/// Which way packets to an address would go.
package struct NetworkRoute: Hashable, Sendable {
    /// The index of the link.
    package var link: Int32
    /// The address is one of this machine.
    package var isLocal = false
    /// Nothing is at the other end of the link, and the kernel would use it all the same.
    package var isDown = false
    /// There is an address to send from.
    package var hasSource = true

    package init(link: Int32, isLocal: Bool = false, isDown: Bool = false, hasSource: Bool = true) {
        self.link = link
        self.isLocal = isLocal
        self.isDown = isDown
        self.hasSource = hasSource
    }

    /// Asks the kernel; nothing is sent. `nil` if there is no way.
    package static func to(_ address: NetworkAddress) -> NetworkRoute? {
        var route = clinux_route()
        let failure = clinux_route_to(
            address.bytes, Int32(address.bytes.count), address.scope, &route)
        guard failure == 0 else { return nil }
        return NetworkRoute(
            link: route.link, isLocal: route.flags & UInt32(CLINUX_ROUTE_LOCAL) != 0,
            isDown: route.flags & UInt32(CLINUX_ROUTE_DOWN) != 0,
            hasSource: route.flags & UInt32(CLINUX_ROUTE_SOURCE) != 0)
    }
}

/// Knows the networks of this machine, and when they change.
package protocol NetworkSource: AnyObject, Sendable {
    /// Readable once something has changed.
    var descriptor: Int32 { get }
    /// Reads away the news. `nil` if there will be no more of it: the source is broken.
    func takeNews() -> Bool?
    /// Which way an address is reached.
    func route(to address: NetworkAddress) -> NetworkRoute?
    /// The link with that index, as it stands now.
    func link(_ index: Int32) -> NetworkLink?
}

/// The kernel's networks: of the network namespace that it is made in.
///
/// A netlink socket hears of links, addresses, routes and rules, IPv4 and IPv6; nothing is polled.
package final class NetworkWatcher: NetworkSource {
    package let descriptor: Int32

    package init() throws(SystemError) {
        descriptor = clinux_network_watch()
        if descriptor < 0 { throw .last("watch the networks") }
    }

    deinit { close(descriptor) }

    package func takeNews() -> Bool? {
        let result = clinux_network_drain(descriptor)
        return result < 0 ? nil : result > 0
    }

    package func route(to address: NetworkAddress) -> NetworkRoute? { .to(address) }
    package func link(_ index: Int32) -> NetworkLink? { .at(index) }
}

extension EventFD {
    /// Waits in real time until it or `other` is readable.
    ///
    /// - Parameter milliseconds: -1 waits for ever.
    /// - Returns: which of them are; neither when the time ran out. An `other` that cannot be
    ///   waited for counts as readable.
    package func wait(with other: Int32, milliseconds: Int32) -> (own: Bool, other: Bool) {
        let interest = Int16(POLLIN)
        var both = [
            pollfd(fd: descriptor, events: interest, revents: 0),
            pollfd(fd: other, events: interest, revents: 0),
        ]
        guard poll(&both, nfds_t(both.count), milliseconds) > 0 else { return (false, false) }
        return (both[0].revents != 0, both[1].revents != 0)
    }
}
