// Wherry: the reachability status.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

extension Reachability {
    /// A reachability status. The raw values are those of `wherry_reach`.
    public enum Status: Int32, CaseIterable, Sendable {
        /// Not determined yet.
        case unknown = -1
        /// No route.
        case notReachable = 0
        /// Over a cellular network.
        case reachableViaWWAN = 1
        /// Over anything else: Wi-Fi, a cable, a tunnel, or within this machine.
        case reachableViaWiFi = 2

        /// Whether a route exists. False if `unknown`.
        public var isReachable: Bool { rawValue > 0 }
    }

    /// The kind of a route's first interface. The raw values are the same in every language.
    public enum Interface: String, CaseIterable, Sendable {
        /// No route, or not determined yet.
        case none
        case wired
        case wifi
        /// A cellular network.
        case wwan
        /// A tunnel; the network below it is not determined.
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

    /// A reported change.
    public struct Change: Hashable, Sendable {
        /// The monitored host or address; `nil` for any network.
        public var target: String?
        /// The previous status. Equal to ``status`` for the first change after a start if nothing
        /// changed, and with ``Options/isRaw``.
        public var old: Status
        /// The new status.
        public var status: Status
        /// The kind of the route's first interface.
        public var interface: Interface
        /// The name of that interface, such as "eth0"; "" without a route.
        public var interfaceName: String
    }
}

/// The path to a target, or none.
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

    /// Evaluates the kernel's route to one address (N2).
    ///
    /// The kernel also returns routes over an interface without a carrier, and routes without a
    /// source address. Neither works.
    package init(route: NetworkRoute?, link: NetworkLink?, rules: LinkRules) {
        self = .none
        guard let route, let link, link.isUp else { return }
        let kind = rules.kind(of: link)
        if route.isLocal {
            self = NetworkPath(status: .reachableViaWiFi, interface: .loopback, name: link.name)
            return
        }
        // The loopback interface leads to no other machine.
        guard !link.isLoopback, link.hasCarrier, !route.isDown, route.hasSource else { return }
        self = NetworkPath(
            status: kind == .wwan ? .reachableViaWWAN : .reachableViaWiFi,
            interface: Reachability.Interface(kind), name: link.name)
    }

    /// Finds the path to a target with several addresses: the first address with a route counts.
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

    /// Addresses that represent any network, IPv4 and IPv6: those of a root name server, which only
    /// a default route reaches. Nothing is ever sent to them.
    package static let anywhere = [
        NetworkAddress(bytes: [198, 41, 0, 4]),
        NetworkAddress(bytes: [
            0x20, 0x01, 0x05, 0x03, 0xBA, 0x3E, 0, 0, 0, 0, 0, 0, 0, 0x02, 0, 0x30,
        ]),
    ]
}
