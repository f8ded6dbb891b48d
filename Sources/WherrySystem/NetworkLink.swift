// Wherry: network interfaces and their kinds.
// SPDX-License-Identifier: Apache-2.0

internal import CLinux
import Glibc

/// A snapshot of a network interface.
package struct NetworkLink: Hashable, Sendable {
    package var index: Int32
    package var name: String
    /// Whether the interface is enabled.
    package var isUp: Bool
    /// Whether the other end is connected.
    package var hasCarrier: Bool
    package var isLoopback: Bool
    /// The hardware type, ARPHRD_*.
    package var hardware: UInt32
    /// The kernel's name of the driver, such as "tun"; empty if unknown.
    package var driver: String
    /// DEVTYPE from sysfs, such as "wwan" and "wlan"; empty if unknown.
    package var deviceType: String
    package var isWireless: Bool

    package init(
        index: Int32, name: String, isUp: Bool = true, hasCarrier: Bool = true,
        isLoopback: Bool = false, hardware: UInt32 = 1, driver: String = "",
        deviceType: String = "", isWireless: Bool = false
    ) {
        self.index = index
        self.name = name
        self.isUp = isUp
        self.hasCarrier = hasCarrier
        self.isLoopback = isLoopback
        self.hardware = hardware
        self.driver = driver
        self.deviceType = deviceType
        self.isWireless = isWireless
    }

    private init(_ link: clinux_link) {
        var link = link
        func text<Chars>(_ chars: inout Chars) -> String {
            withUnsafeBytes(of: &chars) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        }
        self.init(
            index: link.index, name: text(&link.name),
            isUp: link.flags & UInt32(CLINUX_LINK_UP) != 0,
            hasCarrier: link.flags & UInt32(CLINUX_LINK_CARRIER) != 0,
            isLoopback: link.flags & UInt32(CLINUX_LINK_LOOPBACK) != 0,
            hardware: link.hardware, driver: text(&link.driver))
    }

    /// Returns the interface with an index; `nil` if it does not exist.
    package static func at(_ index: Int32) -> NetworkLink? {
        var link = clinux_link()
        guard clinux_link_at(index, &link) == 0 else { return nil }
        var result = NetworkLink(link)
        result.readSysfs()
        return result
    }

    /// All interfaces; empty if the system does not list them.
    package static var all: [NetworkLink] {
        var capacity = 32
        while true {
            var links = [clinux_link](repeating: clinux_link(), count: capacity)
            let count = Int(clinux_links(&links, Int32(capacity)))
            guard count > 0 else { return [] }
            if count <= capacity {
                return links.prefix(count).map { link in
                    var result = NetworkLink(link)
                    result.readSysfs()
                    return result
                }
            }
            capacity = count + 8
        }
    }

    /// Reads the properties that only sysfs has. In a container that did not mount sysfs again,
    /// sysfs shows another network namespace. Its entries then usually do not match, and interface
    /// names decide.
    private mutating func readSysfs() {
        let folder = "/sys/class/net/\(name)/"
        isWireless =
            access(folder + "wireless", F_OK) == 0 || access(folder + "phy80211", F_OK) == 0
        guard let file = try? File.open(folder + "uevent", [.read, .following]),
            let bytes = try? file.read(4096, at: 0)
        else { return }
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        where line.hasPrefix("DEVTYPE=") { deviceType = String(line.dropFirst(8)) }
    }
}

/// The kind of a network interface. The raw values are the words of the C interface.
package enum LinkKind: String, CaseIterable, Sendable {
    case wired, wifi, wwan, vpn, loopback
}

/// Determines the kind of an interface: from the program's rules for names, from the properties
/// that the system reports, and from naming conventions.
package struct LinkRules: Sendable {
    private var rules: [(pattern: String, kind: LinkKind)] = []

    package init() {}

    /// The rules of this process.
    package static let shared = Lock(LinkRules())

    /// Sets the kind of the interfaces with a name; a pattern that ends in `*` matches a prefix.
    /// Later rules override earlier ones; `nil` removes the rule for exactly this pattern.
    package mutating func set(_ pattern: String, _ kind: LinkKind?) {
        rules.removeAll { $0.pattern == pattern }
        if let kind { rules.append((pattern, kind)) }
    }

    /// Returns the kind of an interface.
    package func kind(of link: NetworkLink) -> LinkKind {
        for rule in rules.reversed() where Self.matches(rule.pattern, link.name) {
            return rule.kind
        }
        if link.isLoopback { return .loopback }
        if link.deviceType == "wwan" || link.driver == "wwan" { return .wwan }
        if link.isWireless || link.deviceType == "wlan" { return .wifi }
        if Self.tunnels.contains(link.driver) { return .vpn }
        if Self.begins(link.name, ["wwan", "wwp", "wwx", "rmnet", "ppp", "ccmni"]) {
            return .wwan
        }
        if Self.begins(link.name, ["tun", "tap", "wg", "utun", "ipsec", "tailscale", "nordlynx"])
            || Self.tunnelHardware.contains(link.hardware)
        {
            return .vpn
        }
        if Self.begins(link.name, ["wlan", "wlp", "wlx", "wlo", "wls", "ath", "wifi"]) {
            return .wifi
        }
        // A point-to-point serial link is a modem; PPP over Ethernet needs a rule.
        return link.hardware == 512 ? .wwan : .wired
    }

    private static let tunnels: Set = [
        "tun", "wireguard", "ipip", "ip6tnl", "gre", "gretap", "ip6gre", "sit", "vti", "vti6",
        "xfrm", "ovpn",
    ]
    /// TUNNEL, TUNNEL6, SIT, IPGRE, IP6GRE.
    private static let tunnelHardware: Set<UInt32> = [768, 769, 776, 778, 823]

    private static func matches(_ pattern: String, _ name: String) -> Bool {
        pattern.last == "*" ? name.hasPrefix(pattern.dropLast()) : name == pattern
    }

    private static func begins(_ name: String, _ prefixes: [String]) -> Bool {
        prefixes.contains { name.hasPrefix($0) }
    }
}
