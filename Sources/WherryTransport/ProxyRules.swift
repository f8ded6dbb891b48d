// Wherry: the choice of the proxy for a connection.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// The proxies set by the caller. `nil` uses the environment; "" uses no proxy.
package struct ProxySettings: Hashable, Sendable {
    /// The proxy for schemes without a specific proxy.
    package var all: String?
    package var http: String?
    package var https: String?
    /// Hosts that bypass the proxy, separated by commas.
    package var exceptions: String?

    package init() {}

    /// All proxies that are set.
    package var given: [String] { [all, http, https].compactMap { $0 }.filter { !$0.isEmpty } }
}

/// Chooses the proxy for a connection by the scheme, host and port of the URL.
///
/// libcurl 7.88 supports most of this. However, it cannot exclude a port, does not convert
/// international names, and does not report which proxy it chose, which error messages must name.
package struct ProxyRules: Sendable {
    /// A proxy, for error messages and for libcurl.
    package struct Proxy: Sendable {
        /// The URL in libcurl's format, with an ASCII host.
        package let text: String
        /// `nil` if the setting is not a valid proxy URL; libcurl reports the error.
        package let url: ProxyURL?

        fileprivate init?(_ setting: String?) {
            guard let setting, !setting.isEmpty else { return nil }
            text = ProxyURL.asciiText(setting)
            url = ProxyURL(setting)
        }
    }

    private let http: Proxy?
    private let https: Proxy?
    private let exceptions: ProxyExceptions

    /// - Parameter environment: Returns the value of an environment variable. Called only for
    ///   settings that the caller has not set.
    package init(
        _ settings: ProxySettings, environment: (String) -> String? = { Environment[$0] }
    ) {
        func proxy(_ own: String?, _ scheme: String) -> Proxy? {
            Proxy(own ?? settings.all ?? ProxyURL.setting(for: scheme, in: environment))
        }
        http = proxy(settings.http, "http")
        https = proxy(settings.https, "https")
        exceptions = ProxyExceptions(
            http == nil && https == nil
                ? ""
                : settings.exceptions ?? environment("no_proxy") ?? environment("NO_PROXY") ?? "")
    }

    /// Whether no connection uses a proxy.
    package var isEmpty: Bool { http == nil && https == nil }

    /// Whether there may be TLS connections to a proxy.
    package var hasSecureProxy: Bool {
        [http, https].contains { proxy in
            guard let proxy else { return false }
            return proxy.url?.scheme ?? "https" == "https"
        }
    }

    /// Returns the proxy for an origin; `nil` for a direct connection.
    package func proxy(for origin: Origin) -> Proxy? {
        guard let proxy = origin.isSecure ? https : http, !exceptions.contains(origin) else {
            return nil
        }
        return proxy
    }
}

/// Hosts that bypass the proxy, in the format of the variable `no_proxy`.
///
/// Entries are separated by commas or spaces:
/// - `*`: every host.
/// - `example.org`, `.example.org`, `*.example.org`: that host and all its subdomains.
/// - `192.0.2.1`, `2001:db8::1`, `[2001:db8::1]`: a literal address in the URL.
/// - `10.0.0.0/8`, `fe80::/10`: a network of literal addresses.
/// - `host:port`, `[address]:port`: that port only.
package struct ProxyExceptions: Sendable {
    private enum Host: Sendable {
        case every
        case name(String)
        case network(NetworkAddress, bits: Int)
    }
    private struct Entry: Sendable {
        var host: Host
        var port: Int?
    }

    private var entries: [Entry] = []
    /// Entries that cannot be parsed. They match no host.
    package private(set) var invalid: [String] = []

    package init(_ text: String) {
        let words = text.split { $0 == "," || $0 == " " || $0 == "\t" || $0 == "\n" || $0 == "\r" }
        for word in words {
            if let entry = Self.entry(word) {
                entries.append(entry)
            } else {
                invalid.append(String(word))
            }
        }
    }

    package func contains(_ origin: Origin) -> Bool {
        guard !entries.isEmpty else { return false }
        let address = Self.address(origin.host)
        // A literal address never matches a name, even if it ends like one.
        let name = address == nil ? HTTPURL.hostName(origin.host) ?? origin.host : ""
        for entry in entries where entry.port == nil || entry.port == origin.port {
            switch entry.host {
            case .every: return true
            case .name(let suffix):
                if name == suffix || name.hasSuffix("." + suffix) { return true }
            case .network(let network, let bits):
                if let address, Self.isSame(address, network, bits) { return true }
            }
        }
        return false
    }

    private static func entry(_ word: Substring) -> Entry? {
        if word == "*" { return Entry(host: .every) }
        if word.first == "[" {
            guard let end = word.firstIndex(of: "]"),
                let address = NetworkAddress(
                    String(word[word.index(after: word.startIndex)..<end])),
                address.bytes.count == 16
            else { return nil }
            let rest = word[word.index(after: end)...]
            if let bits = rest.first == "/" ? number(rest.dropFirst(), upTo: 128) : nil {
                return Entry(host: .network(address, bits: bits))
            }
            guard rest.isEmpty || rest.first == ":" else { return nil }
            let port = number(rest.dropFirst(), upTo: 65_535)
            guard rest.isEmpty || port ?? 0 > 0 else { return nil }
            return Entry(host: .network(address, bits: 128), port: port)
        }
        if let slash = word.firstIndex(of: "/") {
            guard let address = address(String(word[..<slash])),
                let bits = number(word[word.index(after: slash)...], upTo: address.bytes.count * 8)
            else { return nil }
            return Entry(host: .network(address, bits: bits))
        }
        if let address = address(String(word)) {
            return Entry(host: .network(address, bits: address.bytes.count * 8))
        }
        guard let colon = word.firstIndex(of: ":") else {
            return host(word).map { Entry(host: $0) }
        }
        guard let port = number(word[word.index(after: colon)...], upTo: 65_535), port > 0 else {
            return nil
        }
        let text = word[..<colon]
        let host = address(String(text)).map { Host.network($0, bits: 32) } ?? host(text)
        return host.map { Entry(host: $0, port: port) }
    }

    private static func host(_ text: Substring) -> Host? {
        if text == "*" { return .every }
        let name =
            text.hasPrefix("*.") ? text.dropFirst(2) : text.hasPrefix(".") ? text.dropFirst() : text
        return HTTPURL.hostName(String(name)).map { .name($0) }
    }

    /// Returns the literal address of a host; `nil` for a name. "10" and "127.1" are names here: a
    /// short form of an address in a list is more likely a mistake.
    private static func address(_ host: String) -> NetworkAddress? {
        if host.utf8.contains(UInt8(ascii: ":")) {
            let bare = host.first == "[" ? host.dropFirst().dropLast() : host[...]
            // Ignore the zone of a link-local address.
            return NetworkAddress(String(bare.prefix { $0 != "%" }))
        }
        guard host.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x2E }),
            host.utf8.count(where: { $0 == 0x2E }) == 3
        else { return nil }
        return NetworkAddress(host)
    }

    private static func number(_ text: Substring, upTo most: Int) -> Int? {
        guard !text.isEmpty, text.utf8.count <= 5,
            text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(text),
            number <= most
        else { return nil }
        return number
    }

    private static func isSame(_ a: NetworkAddress, _ b: NetworkAddress, _ bits: Int) -> Bool {
        guard a.bytes.count == b.bytes.count else { return false }
        let whole = bits / 8
        guard a.bytes.prefix(whole) == b.bytes.prefix(whole) else { return false }
        let rest = bits % 8
        guard rest > 0 else { return true }
        let mask = UInt8(truncatingIfNeeded: 0xFF << (8 - rest))
        return a.bytes[whole] & mask == b.bytes[whole] & mask
    }
}
