// Wherry: classes of addresses that can be blocked.
// SPDX-License-Identifier: Apache-2.0

internal import CCurl
import Glibc

/// Classes of IPv4 and IPv6 addresses. An IPv4 address embedded in an IPv6 one counts as itself.
@usableFromInline package struct AddressClasses: OptionSet, Hashable, Sendable {
    @usableFromInline package let rawValue: Int64
    @inlinable package init(rawValue: Int64) { self.rawValue = rawValue }

    /// This host: 127.0.0.0/8, ::1, and the unspecified addresses, which also reach this host.
    package static let loopback = AddressClasses(rawValue: 1)
    /// Private networks: RFC 1918, shared (100.64.0.0/10), fc00::/7, and reserved ranges.
    package static let privateUse = AddressClasses(rawValue: 2)
    /// 169.254.0.0/16 and fe80::/10.
    package static let linkLocal = AddressClasses(rawValue: 4)
    /// Cloud metadata services: 169.254.169.254 and similar.
    package static let metadata = AddressClasses(rawValue: 8)
    /// Multicast and broadcast: 224.0.0.0/4, broadcast, ff00::/8.
    package static let multicast = AddressClasses(rawValue: 16)
    package static let all = AddressClasses(rawValue: 31)

    /// Returns the classes of an address; empty for an ordinary public one.
    init(_ address: UnsafePointer<sockaddr>, length: Int) {
        switch Int32(address.pointee.sa_family) {
        case AF_INET where length >= MemoryLayout<sockaddr_in>.size:
            let value = address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                UInt32(bigEndian: $0.pointee.sin_addr.s_addr)
            }
            self.init(v4: value)
        case AF_INET6 where length >= MemoryLayout<sockaddr_in6>.size:
            let bytes = address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { pointer in
                withUnsafeBytes(of: pointer.pointee.sin6_addr) { Array($0) }
            }
            self.init(v6: bytes)
        case AF_UNIX:
            // A Unix socket, named by path.
            self = []
        default:
            // HTTP never uses another family.
            self = .all
        }
    }

    package init(v4 address: UInt32) {
        func isIn(_ network: UInt32, _ bits: UInt32) -> Bool {
            address >> (32 - bits) == network >> (32 - bits)
        }
        self = []
        if isIn(0x7F00_0000, 8) || isIn(0, 8) { insert(.loopback) }
        if isIn(0xA9FE_0000, 16) { insert(.linkLocal) }
        // Amazon and most others, Amazon's containers, Alibaba, Oracle.
        if [0xA9FE_A9FE, 0xA9FE_AA02, 0x6464_64C8, 0xC000_00C0].contains(address) {
            insert(.metadata)
        }
        let reserved: [(UInt32, UInt32)] = [
            (0x0A00_0000, 8), (0xAC10_0000, 12), (0xC0A8_0000, 16), (0x6440_0000, 10),
            (0xC000_0000, 24), (0xC612_0000, 15), (0xC000_0200, 24), (0xC633_6400, 24),
            (0xCB00_7100, 24),
        ]
        if reserved.contains(where: { isIn($0.0, $0.1) }) { insert(.privateUse) }
        if isIn(0xE000_0000, 4) || address == 0xFFFF_FFFF {
            insert(.multicast)
        } else if isIn(0xF000_0000, 4) {
            insert(.privateUse)
        }
    }

    /// - Parameter address: 16 bytes.
    package init(v6 address: [UInt8]) {
        self = []
        guard address.count == 16 else {
            self = .all
            return
        }
        func v4(at index: Int) -> UInt32 {
            address[index..<index + 4].reduce(0) { $0 << 8 | UInt32($1) }
        }
        let head = address.prefix(12)
        let isZero = head.allSatisfy { $0 == 0 }
        if isZero && v4(at: 12) <= 1 {
            insert(.loopback)
        } else if isZero
            || (head.prefix(10).allSatisfy { $0 == 0 } && address[10] == 0xFF
                && address[11] == 0xFF)
        {
            self.init(v4: v4(at: 12))
        } else if Array(head) == [0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0] {
            self.init(v4: v4(at: 12))
        } else if Array(head) == [0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0, 0] {
            // IPv4-translated addresses, as used behind a NAT64 (RFC 7915).
            self.init(v4: v4(at: 12))
        } else if address[0] == 0x20 && address[1] == 0x02 {
            self.init(v4: v4(at: 2))
        } else if Array(address.prefix(4)) == [0x20, 0x01, 0, 0] {
            // Teredo: the address of the server, and the inverted one of the host (RFC 4380).
            self.init(v4: v4(at: 4))
            formUnion(AddressClasses(v4: ~v4(at: 12)))
        } else if [[0, 0], [2, 0]].contains(Array(address[8..<10])),
            Array(address[10..<12]) == [0x5E, 0xFE]
        {
            // ISATAP: its router tunnels to that IPv4 host, whatever the prefix (RFC 5214).
            self.init(v4: v4(at: 12))
        }
        if address[0] & 0xFE == 0xFC { insert(.privateUse) }
        if address[0] == 0xFE && address[1] & 0xC0 == 0x80 { insert(.linkLocal) }
        if address[0] == 0xFE && address[1] & 0xC0 == 0xC0 { insert(.privateUse) }
        if address[0] == 0xFF { insert(.multicast) }
        // Documentation addresses, and local-use NAT64.
        if Array(address.prefix(4)) == [0x20, 0x01, 0x0D, 0xB8] { insert(.privateUse) }
        if address[0] == 0x3F && address[1] == 0xFF && address[2] & 0xF0 == 0 {
            insert(.privateUse)
        }
        if Array(address.prefix(6)) == [0, 0x64, 0xFF, 0x9B, 0, 1] { insert(.privateUse) }
        let amazon: [UInt8] = [0xFD, 0, 0x0E, 0xC2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0x54]
        if address == amazon { insert(.metadata) }
    }

    /// The names of the classes for a message.
    package var text: String {
        let names: [(AddressClasses, String)] = [
            (.metadata, "metadata"), (.loopback, "loopback"), (.linkLocal, "link-local"),
            (.privateUse, "private"), (.multicast, "multicast"),
        ]
        return names.filter { contains($0.0) }.map(\.1).joined(separator: " and ")
    }
}
