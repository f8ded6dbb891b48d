// Wherry: which addresses are connected to.
// SPDX-License-Identifier: Apache-2.0

internal import CCurl
import Glibc
import WherrySystem

extension CurlEasy {
    /// Has libcurl ask for the socket to an address, that of a proxy too.
    ///
    /// Its own, before version 8.13, are inherited by every program that the process starts, which
    /// then keeps connections open that were closed here.
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

    /// Every address was kept from it.
    var isKeptFromMetered: Bool {
        guard let exchange else { return false }
        return exchange.state.meteredAddresses > 0 && exchange.state.openedAddresses == 0
    }

    /// Keeps libcurl from connecting over a mobile network.
    func denyMetered() {
        isPlain = false
        // A connection that another request has made may lead anywhere.
        if NetworkLink.all.contains(where: { $0.isUp && Self.isMetered($0) }) {
            ccurl_set_long(handle, CURLOPT_FRESH_CONNECT, 1)
        }
    }

    /// Whether the way to an address is over a mobile network.
    private static func isMetered(_ address: NetworkAddress) -> Bool {
        guard let route = NetworkRoute.to(address), let link = NetworkLink.at(route.link) else {
            return false
        }
        return isMetered(link)
    }

    private static func isMetered(_ link: NetworkLink) -> Bool {
        LinkRules.shared.withLock { $0 }.kind(of: link) == .wwan
    }

    /// A socket to an address that libcurl has chosen; -1 where it is not to be used.
    func openSocket(_ address: UnsafePointer<curl_sockaddr>) -> Int32 {
        let told = address.pointee
        // The field is declared as long as an address of IPv4: libcurl has room for all behind it.
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
        if exchange?.request.deniesMetered == true, let target = NetworkAddress(start),
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
