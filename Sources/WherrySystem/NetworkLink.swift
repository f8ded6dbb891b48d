// Wherry: the links of this machine, and what kind each is of.
// SPDX-License-Identifier: Apache-2.0

internal import CLinux
import Glibc

/// A network interface as it stands now.
package struct NetworkLink: Hashable, Sendable {
    package var index: Int32
    package var name: String
    /// It is switched on.
    package var isUp: Bool
    /// Something is at its other end.
    package var hasCarrier: Bool
    package var isLoopback: Bool
    /// The number of its kind of hardware, ARPHRD_*.
    package var hardware: UInt32
    /// What the kernel calls its driver, such as "tun"; "" where it does not.
    package var driver: String
    /// DEVTYPE of sysfs, such as "wwan" and "wlan"; "" where there is none.
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

    /// The link with that index; `nil` if there is none (any more).
    package static func at(_ index: Int32) -> NetworkLink? {
        var link = clinux_link()
        guard clinux_link_at(index, &link) == 0 else { return nil }
        var result = NetworkLink(link)
        result.readSysfs()
        return result
    }

    /// Every link; none where the system does not tell.
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

    /// What only sysfs knows. Where that shows another network than ours, as in a container that
    /// did not mount it anew, its names lead nowhere as a rule, and names decide.
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

/// What a link is made of. The raw values are the words of the interface.
package enum LinkKind: String, CaseIterable, Sendable {
    case wired, wifi, wwan, vpn, loopback
}

/// Tells the kinds of links: by what the program says of their names, by what the system says, and
/// by how they are usually called.
package struct LinkRules: Sendable {
    private var rules: [(pattern: String, kind: LinkKind)] = []

    package init() {}

    /// Those of this process.
    package static let shared = Lock(LinkRules())

    /// Says what links of a name are; a name that ends in `*` stands for all that begin so. What
    /// was said last counts; `nil` takes back what was said of exactly this pattern.
    package mutating func set(_ pattern: String, _ kind: LinkKind?) {
        rules.removeAll { $0.pattern == pattern }
        if let kind { rules.append((pattern, kind)) }
    }

    /// What a link is.
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
        // Point-to-point over a line is the modem's; over Ethernet it has to be said by a rule.
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
