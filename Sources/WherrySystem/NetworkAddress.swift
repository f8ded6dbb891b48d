// Wherry: IP addresses and name resolution.
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// An IPv4 or IPv6 address without a port.
package struct NetworkAddress: Hashable, Sendable {
    /// The 4 or 16 bytes in network order.
    package let bytes: [UInt8]
    /// The interface index of a link-local address; 0 for any.
    package let scope: Int32

    package init(bytes: [UInt8], scope: Int32 = 0) {
        self.bytes = bytes
        self.scope = scope
    }

    /// Parses "192.0.2.1", "2001:db8::1" or "fe80::1%eth0"; `nil` for other text, including names.
    package init?(_ text: String) {
        guard let found = Self.look(up: text, numeric: true)?.first else { return nil }
        self = found
    }

    /// Resolves a host, in the system's order of preference. Blocks until its name servers respond
    /// or time out.
    ///
    /// - Returns: `nil` if the host has no address or no name server responds.
    package static func all(of host: String) -> [NetworkAddress]? {
        look(up: host, numeric: false)
    }

    private static func look(up host: String, numeric: Bool) -> [NetworkAddress]? {
        guard !host.isEmpty, !host.utf8.contains(0) else { return nil }
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        if numeric { hints.ai_flags = AI_NUMERICHOST }
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, nil, &hints, &list) == 0 else { return nil }
        defer { freeaddrinfo(list) }
        var found: [NetworkAddress] = []
        var next = list
        while let entry = next {
            if let address = NetworkAddress(entry.pointee.ai_addr), !found.contains(address) {
                found.append(address)
            }
            next = entry.pointee.ai_next
        }
        return found.isEmpty ? nil : found
    }

    /// Converts a socket address; `nil` for other protocols.
    package init?(_ address: UnsafePointer<sockaddr>?) {
        guard let address else { return nil }
        switch Int32(address.pointee.sa_family) {
        case AF_INET:
            self = UnsafeRawPointer(address).withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                var value = $0.pointee.sin_addr
                return NetworkAddress(bytes: withUnsafeBytes(of: &value) { Array($0) })
            }
        case AF_INET6:
            self = UnsafeRawPointer(address).withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
                var value = $0.pointee.sin6_addr
                return NetworkAddress(
                    bytes: withUnsafeBytes(of: &value) { Array($0) },
                    scope: Int32(bitPattern: $0.pointee.sin6_scope_id))
            }
        default: return nil
        }
    }
}

/// A test for whether a port accepts connections.
package enum ConnectionProbe {
    /// Connects to the addresses of a host one after another and closes each connection. Blocks.
    ///
    /// - Parameter timeout: The timeout for each address, in nanoseconds of real time.
    /// - Returns: Whether a connection succeeded.
    package static func connects(to host: String, port: UInt16, timeout: Int64) -> Bool {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard !host.utf8.contains(0), getaddrinfo(host, String(port), &hints, &list) == 0 else {
            return false
        }
        defer { freeaddrinfo(list) }
        var next = list
        while let entry = next {
            if connects(entry.pointee, timeout: timeout) { return true }
            next = entry.pointee.ai_next
        }
        return false
    }

    private static func connects(_ address: addrinfo, timeout: Int64) -> Bool {
        let kind =
            address.ai_socktype | Int32(SOCK_CLOEXEC.rawValue)
            | Int32(SOCK_NONBLOCK.rawValue)
        let descriptor = socket(address.ai_family, kind, address.ai_protocol)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        if connect(descriptor, address.ai_addr, address.ai_addrlen) == 0 { return true }
        guard errno == EINPROGRESS || errno == EINTR else { return false }
        let end = SystemClock.shared.now().advanced(by: max(0, timeout))
        while true {
            let left = end.since(SystemClock.shared.now())
            guard left > 0 else { return false }
            var interest = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            let count = poll(&interest, 1, Int32(min(left / 1_000_000 + 1, 3_600_000)))
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { return false }
            var failure: Int32 = 0
            var size = socklen_t(MemoryLayout<Int32>.size)
            return getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &failure, &size) == 0
                && failure == 0
        }
    }
}
