// Wherry: opening sockets and blocking addresses.
// SPDX-License-Identifier: Apache-2.0

internal import CCurl
import Glibc
import WherrySystem

extension CurlEasy {
    /// Makes libcurl call `openSocket(_:)` for each connection, including connections to a proxy.
    ///
    /// Before version 8.13, the sockets that libcurl opens itself are inherited by every program
    /// that the process starts. Such a program keeps connections open that were closed here.
    func watchSockets() {
        ccurl_set_open_socket(
            handle,
            { context, _, address in
                guard let context, let address else { return -1 }
                return Unmanaged<CurlEasy>.fromOpaque(context)._withUnsafeGuaranteedRef {
                    $0.openSocket(address)
                }
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Whether every address was blocked because it requires a cellular network.
    var isKeptFromMetered: Bool {
        guard let exchange else { return false }
        return exchange.state.meteredAddresses > 0 && exchange.state.openedAddresses == 0
    }

    /// Prevents connections over a cellular network.
    func denyMetered() {
        isPlain = false
        // A connection made for another request may use any network.
        if NetworkLink.all.contains(where: { $0.isUp && Self.isMetered($0) }) {
            ccurl_set_long(handle, CURLOPT_FRESH_CONNECT, 1)
        }
    }

    /// Returns whether the route to an address uses a cellular network.
    private static func isMetered(_ address: NetworkAddress) -> Bool {
        guard let route = NetworkRoute.to(address), let link = NetworkLink.at(route.link) else {
            return false
        }
        return isMetered(link)
    }

    private static func isMetered(_ link: NetworkLink) -> Bool {
        LinkRules.shared.withLock { $0 }.kind(of: link) == .wwan
    }

    /// Returns a socket for an address that libcurl has chosen; -1 if the address is blocked.
    func openSocket(_ address: UnsafePointer<curl_sockaddr>) -> Int32 {
        let told = address.pointee
        // The field is declared with the size of an IPv4 address, but libcurl allocates space for
        // longer addresses behind it.
        let start = UnsafeRawPointer(address).advanced(
            by: MemoryLayout<curl_sockaddr>.offset(of: \.addr) ?? 16
        ).assumingMemoryBound(to: sockaddr.self)
        let unwanted = loop.configuration.trust.denied
        if !unwanted.isEmpty {
            let denied = AddressClasses(start, length: Int(told.addrlen)).intersection(unwanted)
            guard denied.isEmpty else {
                exchange?.state.deniedAddress = denied.text
                return -1
            }
        }
        if exchange?.request.options.denyMetered == true, let target = NetworkAddress(start),
            Self.isMetered(target)
        {
            exchange?.state.meteredAddresses += 1
            return -1
        }
        exchange?.state.openedAddresses += 1
        let descriptor = socket(
            told.family, told.socktype | Int32(SOCK_CLOEXEC.rawValue), told.protocol)
        let isLimit = descriptor < 0 && (errno == EMFILE || errno == ENFILE)
        exchange?.state.lacksDescriptor = isLimit
        return descriptor
    }
}
