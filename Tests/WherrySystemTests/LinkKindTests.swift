// Wherry: detecting kinds of network links
// SPDX-License-Identifier: Apache-2.0

import Testing
import WherrySystem

@Suite struct LinkKindTests {
    @Test(
        "N2 the kind of an interface follows from its type, its driver, and its name",
        arguments: [
            (NetworkLink(index: 1, name: "lo", isLoopback: true, hardware: 772), LinkKind.loopback),
            (NetworkLink(index: 2, name: "eth0"), .wired),
            (NetworkLink(index: 2, name: "enp3s0"), .wired),
            (NetworkLink(index: 2, name: "br0", driver: "bridge"), .wired),
            (NetworkLink(index: 3, name: "wlan0"), .wifi),
            (NetworkLink(index: 3, name: "wlp2s0"), .wifi),
            (NetworkLink(index: 3, name: "home", isWireless: true), .wifi),
            (NetworkLink(index: 3, name: "home", deviceType: "wlan"), .wifi),
            (NetworkLink(index: 4, name: "wwan0"), .wwan),
            (NetworkLink(index: 4, name: "wwp0s20u4"), .wwan),
            (NetworkLink(index: 4, name: "ppp0", hardware: 512), .wwan),
            (NetworkLink(index: 4, name: "modem", hardware: 512), .wwan),
            (NetworkLink(index: 4, name: "eth1", deviceType: "wwan"), .wwan),
            (NetworkLink(index: 5, name: "tun0", hardware: 65534, driver: "tun"), .vpn),
            (NetworkLink(index: 5, name: "office", driver: "wireguard"), .vpn),
            (NetworkLink(index: 5, name: "sit1", hardware: 776), .vpn),
        ])
    func kinds(_ link: NetworkLink, _ kind: LinkKind) {
        #expect(LinkRules().kind(of: link) == kind)
    }

    @Test("N2 a rule of the program overrides the system")
    func rules() {
        var rules = LinkRules()
        let phone = NetworkLink(index: 2, name: "usb0")
        rules.set("usb*", .wwan)
        #expect(rules.kind(of: phone) == .wwan)
        rules.set("usb0", .wired)
        #expect(rules.kind(of: phone) == .wired)
        #expect(rules.kind(of: NetworkLink(index: 3, name: "usb1")) == .wwan)
        rules.set("usb0", nil)
        #expect(rules.kind(of: phone) == .wwan)
        rules.set("usb*", nil)
        #expect(rules.kind(of: phone) == .wired)
    }

    @Test(
        "N3 addresses are parsed from text",
        arguments: [
            ("192.0.2.1", [192, 0, 2, 1] as [UInt8]?), ("127.0.0.1", [127, 0, 0, 1]),
            ("2001:db8::1", [0x20, 0x01, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [1]),
            ("example.org", nil), ("", nil), ("1.2.3.4.5", nil), ("300.1.1.1", nil),
            ("1\u{0}", nil),
        ])
    func addresses(_ text: String, _ bytes: [UInt8]?) {
        #expect(NetworkAddress(text)?.bytes == bytes)
    }

    @Test("N2 the kernel lists its links, and the route to this machine")
    func kernel() throws {
        let loopback = try #require(NetworkLink.all.first { $0.isLoopback })
        #expect(NetworkLink.at(loopback.index)?.name == loopback.name)
        #expect(NetworkLink.at(99_999) == nil)
        let route = try #require(NetworkRoute.to(NetworkAddress(bytes: [127, 0, 0, 1])))
        #expect(route.isLocal && route.hasSource && route.link == loopback.index)
        #expect(NetworkRoute.to(NetworkAddress(bytes: [1, 2, 3])) == nil)
    }
}
