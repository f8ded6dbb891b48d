// Wherry: the values of trust: hosts, addresses, certificates
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import WherrySystem

@testable import WherryTransport

@Suite struct TrustValueTests {
    private func pins(_ key: String) -> HostPins {
        var pins = HostPins()
        pins.keys = [key]
        return pins
    }

    @Test("S9 the most specific name applies, in any case and with a trailing dot")
    func table() {
        var table = PinTable()
        for (name, key) in [
            ("example.org", "a"), ("*.example.org", "b"), ("*.x.example.org", "c"),
            ("Y.x.example.org.", "d"),
            ("[::1]", "e"), ("127.0.0.1", "f"), ("b\u{FC}cher.example", "g"),
            ("*.xn--mller-kva.example", "h"),
        ] {
            let isTaken = table.set(name, pins(key))
            #expect(isTaken)
        }
        func key(_ host: String) -> String? { table.pins(of: host)?.keys.first }
        for (host, expected) in [
            ("example.org", "a"), ("EXAMPLE.org.", "a"), ("www.example.org", "b"),
            ("a.b.example.org", "b"),
            ("x.example.org", "b"), ("z.x.example.org", "c"), ("y.x.example.org", "d"),
            ("y.x.example.org.", "d"),
            ("[::1]", "e"), ("127.0.0.1", "f"), ("notexample.org", nil), ("org", nil),
            ("example.com", nil), ("xn--bcher-kva.example", "g"), ("B\u{DC}CHER.example.", "g"),
            ("www.m\u{FC}ller.example", "h"),
        ] {
            #expect(key(host) == expected, "\(host)")
        }
        let isTaken = table.set("*", pins("all"))
        #expect(isTaken)
        #expect(key("example.com") == "all" && key("www.example.org") == "b")
        for wrong in [
            "", "*.", "*.*", "a*", ".a", "a..b", "a b", "a/b", "a:1", "a@b", "https://a", "a?",
            "*.[::1]", "[", "a\0",
        ] {
            let isTaken = table.set(wrong, pins("x"))
            #expect(!isTaken, "\(wrong)")
        }
    }

    @Test(
        "SEC-U7 addresses have the kind of their target, also inside of IPv6",
        arguments: [
            ("127.0.0.1", AddressClasses.loopback), ("127.255.1.2", .loopback),
            ("0.0.0.0", .loopback), ("0.1.2.3", .loopback),
            ("10.0.0.1", .privateUse), ("172.16.0.1", .privateUse), ("172.31.255.255", .privateUse),
            ("172.32.0.1", []),
            ("192.168.1.1", .privateUse), ("100.64.0.1", .privateUse), ("100.128.0.1", []),
            ("198.18.0.1", .privateUse),
            ("169.254.1.1", .linkLocal), ("169.254.169.254", [.linkLocal, .metadata]),
            ("100.100.100.200", [.privateUse, .metadata]),
            ("224.0.0.1", .multicast), ("255.255.255.255", .multicast), ("240.0.0.1", .privateUse),
            ("8.8.8.8", []), ("1.1.1.1", []),
            ("::1", .loopback), ("::", .loopback), ("::ffff:127.0.0.1", .loopback),
            ("::ffff:10.1.1.1", .privateUse), ("::127.0.0.1", .loopback),
            ("64:ff9b::a9fe:a9fe", [.linkLocal, .metadata]), ("64:ff9b:1::1", .privateUse),
            ("64:ff9b::10.0.0.1", .privateUse), ("64:ff9b::8.8.8.8", []),
            ("::ffff:0:192.168.0.1", .privateUse), ("::ffff:0:8.8.8.8", []),
            ("2002:7f00:1::", .loopback), ("2002:a00:1::1", .privateUse), ("2002:808:808::1", []),
            // Teredo: the server in plain form, and the host after it inverted.
            ("2001:0:4136:e378:8000:63bf:f7f7:f7f7", []),
            ("2001:0:4136:e378:8000:63bf:f5ff:fffe", .privateUse),
            ("2001:0:4136:e378:8000:63bf:80ff:fffe", .loopback),
            ("2001:0:4136:e378::5601:5601", [.linkLocal, .metadata]),
            ("2001:0:a00:1:8000:63bf:f7f7:f7f7", .privateUse),
            ("2001:0:e000:1:8000:63bf:80ff:fffe", [.loopback, .multicast]),
            ("2001:1::f5ff:fffe", []),
            // ISATAP, under any prefix.
            ("2606:4700::5efe:10.0.0.1", .privateUse), ("2606:4700::200:5efe:7f00:1", .loopback),
            ("2606:4700::5efe:8.8.8.8", []), ("2606:4700::100:5efe:a00:1", []),
            ("fe80::5efe:10.0.0.1", [.linkLocal, .privateUse]),
            ("3fff::1", .privateUse), ("3fff:1000::1", []),
            ("fe80::1", .linkLocal), ("febf::1", .linkLocal), ("fec0::1", .privateUse),
            ("fc00::1", .privateUse), ("fd12::1", .privateUse),
            ("fd00:ec2::254", [.privateUse, .metadata]), ("ff02::1", .multicast),
            ("2001:db8::1", .privateUse), ("2606:4700::1111", []),
            ("::ffff:8.8.8.8", []),
        ] as [(String, AddressClasses)])
    func addresses(text: String, expected: AddressClasses) throws {
        var v4 = in_addr()
        if inet_pton(AF_INET, text, &v4) == 1 {
            #expect(AddressClasses(v4: UInt32(bigEndian: v4.s_addr)) == expected)
        } else {
            var v6 = in6_addr()
            try #require(inet_pton(AF_INET6, text, &v6) == 1)
            #expect(AddressClasses(v6: withUnsafeBytes(of: v6) { Array($0) }) == expected)
        }
    }

    @Test("S4 keys are parsed as openssl parses them, from DER, PEM, and alone")
    func keys() throws {
        let authority = try Authority.shared
        func read(_ name: String) throws -> [UInt8] {
            [UInt8](try Data(contentsOf: URL(fileURLWithPath: authority.path(name))))
        }
        for (kind, pin) in authority.pins {
            let found = try #require(Certificate.all(in: try read(kind + ".pem")))
            #expect(found.map { "sha256/" + $0.keyDigest } == [pin], "\(kind)")
        }
        let der = try read("good.der")
        let pin = try #require(authority.pins["good"]).dropFirst(7)
        #expect(Certificate(der: der)?.keyDigest == String(pin))
        #expect(Certificate.all(in: try read("good.pub"))?.first?.keyDigest == String(pin))
        #expect(Certificate.all(in: try read("chained.chain"))?.count == 2)
        #expect(Certificate.all(in: try read("good.key")) == nil)
    }

    @Test("S4 a file cut or changed at any byte is at worst refused")
    func damage() throws {
        let authority = try Authority.shared
        let der = [UInt8](try Data(contentsOf: URL(fileURLWithPath: authority.path("good.der"))))
        let pem = [UInt8](try Data(contentsOf: URL(fileURLWithPath: authority.path("good.pem"))))
        for count in 0..<der.count { #expect(Certificate(der: Array(der.prefix(count))) == nil) }
        for count in 0..<pem.count - 2 {
            #expect(Certificate.all(in: Array(pem.prefix(count))) == nil)
        }
        #expect(Certificate(der: der + [0]) == nil)
        var dice = SystemRandomNumberGenerator()
        for _ in 0..<5000 {
            var bytes = Bool.random() ? der : pem
            for _ in 0..<Int.random(in: 1...4, using: &dice) {
                bytes[Int.random(in: 0..<bytes.count, using: &dice)] = .random(
                    in: 0...255, using: &dice)
            }
            _ = Certificate.all(in: bytes)
        }
    }

    @Test("S8 a pin violation is reported once for each host, with the key that was sent")
    func reports() throws {
        let authority = try Authority.shared
        var configuration = TransportConfiguration()
        configuration.proxies.all = ""
        configuration.caFile = authority.ca
        configuration.trust.onlyReportsPins = true
        _ = configuration.trust.pins.set("*", pins("AAAA"))
        let told = Lock<[String]>([])
        let transport = try CurlTransport(configuration) { text in told.withLock { $0.append(text) }
        }
        defer { transport.close() }
        for host in ["good", "good", "rotated"] {
            let url = authority.url(host, "/echo", key: authority.key())
            let result = try Call("GET", url).start(on: transport).result()
            #expect(result.error == nil)
        }
        let texts = told.withLock { $0 }
        #expect(texts.count == 2)
        for (text, host) in zip(texts, ["good", "rotated"]) {
            #expect(
                text.contains("https://\(host).localhost")
                    && text.contains(authority.pins[host] ?? "-"))
        }
    }
}
