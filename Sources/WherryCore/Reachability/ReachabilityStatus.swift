// Wherry: whether a network can be reached, and over what.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

extension Reachability {
    /// Whether and how a network is reached. The raw values are those of `wherry_reach`.
    public enum Status: Int32, CaseIterable, Sendable {
        /// Not looked yet.
        case unknown = -1
        /// There is no way.
        case notReachable = 0
        /// Over a mobile network.
        case reachableViaWWAN = 1
        /// Over anything else: Wi-Fi, a cable, a tunnel, or within this machine.
        case reachableViaWiFi = 2

        /// Whether there is a way. `unknown` is none.
        public var isReachable: Bool { rawValue > 0 }
    }

    /// What a way begins with. The raw values are the words that every language uses.
    public enum Interface: String, CaseIterable, Sendable {
        /// There is no way, or nobody has looked yet.
        case none
        case wired
        case wifi
        /// A mobile network.
        case wwan
        /// A tunnel; what it runs over is not looked at.
        case vpn
        /// The target is this machine.
        case loopback

        package init(_ kind: LinkKind) {
            switch kind {
            case .wired: self = .wired
            case .wifi: self = .wifi
            case .wwan: self = .wwan
            case .vpn: self = .vpn
            case .loopback: self = .loopback
            }
        }
    }

    /// One piece of news.
    public struct Change: Hashable, Sendable {
        /// What was monitored: a host or an address; `nil` for any network.
        public var target: String?
        /// The status before; the same as ``status`` for the first one after a start that changes
        /// nothing, and with ``Options/isRaw``.
        public var old: Status
        /// The status from now on.
        public var status: Status
        /// What the way begins with.
        public var interface: Interface
        /// The name of that, such as "eth0"; "" where there is no way.
        public var interfaceName: String
    }
}

/// A way to a target, or none.
package struct NetworkPath: Hashable, Sendable {
    package var status: Reachability.Status
    package var interface: Reachability.Interface
    package var name: String

    package static let none = NetworkPath(status: .notReachable, interface: .none, name: "")
    package static let unknown = NetworkPath(status: .unknown, interface: .none, name: "")

    package init(status: Reachability.Status, interface: Reachability.Interface, name: String) {
        self.status = status
        self.interface = interface
        self.name = name
    }

    /// Judges what the kernel says of the way to one address (N2).
    ///
    /// The kernel gives a route over a link that has lost its carrier, and one with nothing to send
    /// from: both lead nowhere.
    package init(route: NetworkRoute?, link: NetworkLink?, rules: LinkRules) {
        self = .none
        guard let route, let link, link.isUp else { return }
        let kind = rules.kind(of: link)
        if route.isLocal {
            self = NetworkPath(status: .reachableViaWiFi, interface: .loopback, name: link.name)
            return
        }
        // What is not here does not lie behind the loopback either.
        guard !link.isLoopback, link.hasCarrier, !route.isDown, route.hasSource else { return }
        self = NetworkPath(
            status: kind == .wwan ? .reachableViaWWAN : .reachableViaWiFi,
            interface: Reachability.Interface(kind), name: link.name)
    }

    /// The way to a target of several addresses: to the first of them that there is one to.
    package init(to addresses: [NetworkAddress], in source: any NetworkSource, rules: LinkRules) {
        self = .none
        for address in addresses {
            let route = source.route(to: address)
            let path = NetworkPath(
                route: route, link: route.flatMap { source.link($0.link) }, rules: rules)
            guard path.status.isReachable else { continue }
            self = path
            return
        }
    }

    /// Addresses that stand for any network, IPv4 and IPv6: those of a root name server, since only
    /// a route to everywhere leads there. Nothing is ever sent to them.
    package static let anywhere = [
        NetworkAddress(bytes: [198, 41, 0, 4]),
        NetworkAddress(bytes: [
            0x20, 0x01, 0x05, 0x03, 0xBA, 0x3E, 0, 0, 0, 0, 0, 0, 0, 0x02, 0, 0x30,
        ]),
    ]
}
