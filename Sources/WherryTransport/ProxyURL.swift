// Wherry: proxy URLs, parsed like libcurl.
// SPDX-License-Identifier: Apache-2.0

internal import CCurl
import WherrySystem

/// The address and protocol of a proxy.
package struct ProxyURL: Hashable, Sendable {
    /// "http", "https", "socks4", "socks4a", "socks5" or "socks5h".
    package let scheme: String
    /// The host; IPv6 in brackets.
    package let host: String
    package let port: Int

    /// "http://host:port", without user name and password.
    package var text: String { "\(scheme)://\(host):\(port)" }

    private static let schemes: Set<String> = [
        "http", "https", "socks4", "socks4a", "socks5", "socks5h",
    ]

    /// - Parameter text: A URL; the scheme (default: http) and the port are optional. `nil` if it
    ///   is not a valid proxy.
    package init?(_ text: String) {
        guard let handle = curl_url() else { return nil }
        defer { curl_url_cleanup(handle) }
        func part(_ part: CURLUPart) -> String? {
            var value: UnsafeMutablePointer<CChar>?
            guard curl_url_get(handle, part, &value, 0) == CURLUE_OK, let value else { return nil }
            defer { curl_free(value) }
            return String(cString: value)
        }
        let flags = UInt32(CURLU_NON_SUPPORT_SCHEME | CURLU_GUESS_SCHEME)
        guard !text.utf8.contains(0), curl_url_set(handle, CURLUPART_URL, text, flags) == CURLUE_OK,
            let scheme = part(CURLUPART_SCHEME)?.asciiLowercased, let host = part(CURLUPART_HOST),
            !host.isEmpty
        else { return nil }
        // In libcurl "socks" means the oldest version.
        self.scheme = scheme == "socks" ? "socks4" : scheme
        guard Self.schemes.contains(self.scheme) else { return nil }
        self.host = host
        port = part(CURLUPART_PORT).flatMap { Int($0) } ?? (scheme == "https" ? 443 : 1080)
    }

    /// Returns the environment's setting for URLs of a scheme, like libcurl: HTTP_PROXY in upper
    /// case is ignored, because it is a header of a CGI request.
    package static func setting(
        for scheme: String, in environment: (String) -> String? = { Environment[$0] }
    ) -> String? {
        environment("\(scheme)_proxy")
            ?? (scheme == "https" ? environment("HTTPS_PROXY") : nil)
            ?? environment("all_proxy") ?? environment("ALL_PROXY")
    }
}
