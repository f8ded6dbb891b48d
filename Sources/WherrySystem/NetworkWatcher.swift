// Wherry: routes, and notifications of network changes.
// SPDX-License-Identifier: Apache-2.0

internal import CLinux
import Glibc

/// The route that packets to an address would take.
package struct NetworkRoute: Hashable, Sendable {
    /// The index of the interface.
    package var link: Int32
    /// Whether the address belongs to this machine.
    package var isLocal = false
    /// Whether the kernel would use the interface although it has no carrier.
    package var isDown = false
    /// Whether the machine has a source address for this route.
    package var hasSource = true

    package init(link: Int32, isLocal: Bool = false, isDown: Bool = false, hasSource: Bool = true) {
        self.link = link
        self.isLocal = isLocal
        self.isDown = isDown
        self.hasSource = hasSource
    }

    /// Returns the kernel's route to an address, without sending anything; `nil` if no route
    /// exists.
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

/// A source of network state and change notifications.
package protocol NetworkSource: AnyObject, Sendable {
    /// Becomes readable after a change.
    var descriptor: Int32 { get }
    /// Discards pending notifications. Returns `nil` if the source failed and will deliver none.
    func takeNews() -> Bool?
    /// Returns the route to an address.
    func route(to address: NetworkAddress) -> NetworkRoute?
    /// Returns a snapshot of the interface with an index.
    func link(_ index: Int32) -> NetworkLink?
}

/// The kernel's network state, for the network namespace of the creating thread.
///
/// A netlink socket reports changes of links, addresses, routes and rules for IPv4 and IPv6;
/// nothing is polled.
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
    /// Waits in real time until the eventfd or `other` is readable.
    ///
    /// - Parameter milliseconds: The timeout; -1 waits forever.
    /// - Returns: Which descriptors are readable; neither on timeout. An `other` that cannot be
    ///   polled counts as readable.
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
