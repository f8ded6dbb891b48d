// Wherry: proxy URLs, parsed like libcurl does.
// SPDX-License-Identifier: Apache-2.0

internal import CCurl
import WherrySystem

/// The address and protocol of a proxy.
package struct ProxyURL: Hashable, Sendable {
    /// "http", "https", "socks4", "socks4a", "socks5" or "socks5h".
    package let scheme: String
    /// In ASCII; IPv6 in brackets.
    package let host: String
    package let port: Int

    /// "http://host:port", without user name and password.
    package var text: String { "\(scheme)://\(host):\(port)" }

    private static let schemes: Set<String> = [
        "http", "https", "socks4", "socks4a", "socks5", "socks5h",
    ]

    /// - Parameter text: A URL. The port and the scheme "http" may be omitted. `nil` if it names no
    ///   valid proxy.
    package init?(_ text: String) {
        guard let handle = Self.parsed(text) else { return nil }
        defer { curl_url_cleanup(handle) }
        guard let scheme = Self.part(CURLUPART_SCHEME, of: handle)?.asciiLowercased,
            let host = Self.part(CURLUPART_HOST, of: handle), !host.isEmpty,
            let name = HTTPURL.asciiHost(host)
        else { return nil }
        // libcurl treats "socks" as "socks4".
        self.scheme = scheme == "socks" ? "socks4" : scheme
        guard Self.schemes.contains(self.scheme) else { return nil }
        self.host = name
        port =
            Self.part(CURLUPART_PORT, of: handle).flatMap { Int($0) }
            ?? (scheme == "https" ? 443 : 1080)
    }

    /// Returns a proxy URL with its host in ASCII, as used for name lookup. Returns other text
    /// unchanged.
    ///
    /// libcurl would convert the host in the charset of the locale, which fails in the locale C.
    static func asciiText(_ text: String) -> String {
        guard !text.utf8.allSatisfy({ $0 < 0x80 }), let handle = parsed(text) else { return text }
        defer { curl_url_cleanup(handle) }
        guard let host = part(CURLUPART_HOST, of: handle), let name = HTTPURL.asciiHost(host),
            curl_url_set(handle, CURLUPART_HOST, name, 0) == CURLUE_OK,
            let ascii = part(CURLUPART_URL, of: handle)
        else { return text }
        return ascii
    }

    private static func parsed(_ text: String) -> OpaquePointer? {
        guard let handle = curl_url() else { return nil }
        let flags = UInt32(CURLU_NON_SUPPORT_SCHEME | CURLU_GUESS_SCHEME)
        guard !text.utf8.contains(0), curl_url_set(handle, CURLUPART_URL, text, flags) == CURLUE_OK
        else {
            curl_url_cleanup(handle)
            return nil
        }
        return handle
    }

    private static func part(_ part: CURLUPart, of handle: OpaquePointer) -> String? {
        var value: UnsafeMutablePointer<CChar>?
        guard curl_url_get(handle, part, &value, 0) == CURLUE_OK, let value else { return nil }
        defer { curl_free(value) }
        return String(cString: value)
    }

    /// Returns the proxy set in the environment for a scheme, in libcurl's order. `HTTP_PROXY` in
    /// capitals is ignored, because in a CGI program it contains a header sent by the client.
    package static func setting(
        for scheme: String, in environment: (String) -> String? = { Environment[$0] }
    ) -> String? {
        environment("\(scheme)_proxy")
            ?? (scheme == "https" ? environment("HTTPS_PROXY") : nil)
            ?? environment("all_proxy") ?? environment("ALL_PROXY")
    }
}
